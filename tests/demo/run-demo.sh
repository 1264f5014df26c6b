#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boot the UEFI demo under QEMU (TCG) and OVMF.
#
# usage: run-demo.sh show ARCH APP.EFI            run demo.cmd, show what it printed and stored
#        run-demo.sh script ARCH APP.EFI SCRIPT   the same with another script, output kept only
#        run-demo.sh run ARCH APP.EFI             interactive, on this terminal (Ctrl-A X ends QEMU)
#        run-demo.sh check ARCH                   is all there that a run needs?
#
# ARCH is x64 or ia32.  Works in the application's folder: esp.img (a raw FAT image;
# QEMU's fat:rw loses what a guest writes), serial.txt, out/ (files read back).
# Ends with 0 if the script ran to its end and every line did as expected.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mode=$1
arch=$2
limit=${DEMO_TIMEOUT:-120}

first() {
    for file in "$@"; do
        [ -r "$file" ] && { printf '%s\n' "$file"; return 0; }
    done
    return 0
}

case $arch in
x64)
    boot=BOOTX64.EFI
    code=${OVMF_CODE_X64:-$(first /usr/share/OVMF/OVMF_CODE_4M.fd /usr/share/OVMF/OVMF_CODE.fd)}
    vars=${OVMF_VARS_X64:-$(first /usr/share/OVMF/OVMF_VARS_4M.fd /usr/share/OVMF/OVMF_VARS.fd)}
    machine=q35
    cpu=qemu64,vendor=GenuineIntel,family=6,model=94,stepping=3
    ;;
ia32)
    boot=BOOTIA32.EFI
    code=${OVMF_CODE_IA32:-$(first /usr/share/OVMF/OVMF32_CODE_4M.secboot.fd)}
    vars=${OVMF_VARS_IA32:-$(first /usr/share/OVMF/OVMF32_VARS_4M.fd)}
    machine=q35,smm=on
    cpu=max
    ;;
*)
    echo "run-demo.sh: no architecture '$arch'" >&2
    exit 2
    ;;
esac

missing=
for tool in qemu-system-x86_64 mformat mcopy timeout; do
    command -v "$tool" > /dev/null || missing="$missing $tool"
done
[ -n "$code" ] && [ -n "$vars" ] || missing="$missing OVMF-for-$arch"
if [ -n "$missing" ]; then
    echo "run-demo.sh: not installed:$missing (make deps)" >&2
    exit 3
fi
[ "$mode" = check ] && exit 0

# Everything by plain names in one folder: QEMU takes commas in paths for options.
app=$3
work=$(dirname -- "$app")
case $mode in
show) script=$here/demo.cmd ;;
script) script=$4 ;;
run) script= ;;
*) echo "run-demo.sh: no mode '$mode'" >&2; exit 2 ;;
esac
[ -z "$script" ] || cp -- "$script" "$work/upmu.cmd"
cp -- "$vars" "$work/vars.fd"
ln -sf -- "$code" "$work/code.fd"
cd -- "$work"
rm -rf out serial.txt esp.img
mkdir out
truncate -s 48M esp.img
mformat -i esp.img -F ::
mmd -i esp.img ::/EFI ::/EFI/BOOT
mcopy -i esp.img "$(basename -- "$app")" "::/EFI/BOOT/$boot"
[ -z "$script" ] || mcopy -i esp.img upmu.cmd ::/upmu.cmd

boot_machine() {
    secure=
    [ "$arch" = ia32 ] && secure=-global\ driver=cfi.pflash01,property=secure,value=on
    # shellcheck disable=SC2086 # $secure is two words or none
    "$@" qemu-system-x86_64 -machine "$machine" $secure -accel tcg -cpu "$cpu" -m 256 -nodefaults -display none \
        -no-reboot -drive if=pflash,format=raw,unit=0,readonly=on,file=code.fd \
        -drive if=pflash,format=raw,unit=1,file=vars.fd -drive format=raw,file=esp.img $serial
}

if [ "$mode" = run ]; then
    serial='-serial mon:stdio'
    boot_machine env
    exit
fi

serial='-serial stdio -monitor none'
status=0
boot_machine timeout "$limit" < /dev/null > serial.raw 2> qemu.txt || status=$?
# The firmware's terminal control is no text.
sed 's/\x1b\[[0-9;=?]*[A-Za-z]//g; s/\r//g' serial.raw > serial.txt
mcopy -n -i esp.img '::/*.txt' '::/*.log' out/ 2> /dev/null || true

if [ "$mode" = show ]; then
    sed -n '/^upmu demo/,$p' serial.txt
    for file in out/*; do
        [ -f "$file" ] || continue
        echo
        echo "--- read back from the disk image: $(basename -- "$file"), $(wc -c < "$file") bytes, begins:"
        head -n 5 -- "$file"
    done
fi
if [ "$status" -ne 0 ]; then
    cat qemu.txt >&2
    echo "run-demo.sh: QEMU ended with $status$([ "$status" = 124 ] && echo " (no end within $limit s)")" >&2
    exit 1
fi
if ! grep -q '^script: [0-9]* commands, 0 not as expected' serial.txt; then
    echo "run-demo.sh: the script did not run to its end as expected" >&2
    exit 1
fi

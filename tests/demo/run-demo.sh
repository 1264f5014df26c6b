#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boot the UEFI demo under QEMU (TCG) and OVMF.
#
# usage: run-demo.sh show ARCH APP.EFI            run demo.cmd, show what it printed and stored
#        run-demo.sh script ARCH APP.EFI SCRIPT   the same with another script, output kept only
#        run-demo.sh stick ARCH IMAGE LINES       boot from a USB stick with this disk image on it, which is larger
#                                                 than the image; type the lines of a file at the prompt; the line
#                                                 "(space bar)" stands for this key alone
#        run-demo.sh append ARCH APP.EFI TEXT     start it with TEXT as its load options
#        run-demo.sh run ARCH APP.EFI             interactive, on this terminal (Ctrl-A X ends QEMU)
#        run-demo.sh watch ARCH APP.EFI           with a screen that no window shows; the serial line is stdin and stdout,
#                                                 QEMU's monitor the socket monitor.sock
#        run-demo.sh check ARCH                   is all there that a run needs?
#
# ARCH is x64, ia32 or arm64.  Works in the application's folder: esp.img (a raw FAT image;
# QEMU's fat:rw loses what a guest writes), serial.txt, out/ (files read back).
# Ends with 0 if the script ran to its end and every line did as expected; for `stick`
# and `append`, if the machine was switched off in time.  3: something is missing.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mode=$1
arch=$2
qemu=qemu-system-x86_64
disk=ide
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
arm64)
    boot=BOOTAA64.EFI
    code=${AAVMF_CODE:-$(first /usr/share/AAVMF/AAVMF_CODE.fd)}
    vars=${AAVMF_VARS:-$(first /usr/share/AAVMF/AAVMF_VARS.fd)}
    machine=virt${DEMO_MACHINE-}
    # (Branches of a Cortex-A57 are an event that QEMU neither counts nor says it has not.)
    cpu=${DEMO_CPU:-cortex-a53}
    qemu=qemu-system-aarch64
    disk=virtio
    ;;
*)
    echo "run-demo.sh: no architecture '$arch'" >&2
    exit 2
    ;;
esac

missing=
for tool in $qemu mformat mcopy timeout; do
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
name=$(basename -- "$app")
work=$(dirname -- "$app")
case $mode in
show)
    script=$here/demo.cmd
    [ "$arch" != arm64 ] || script=$here/demo-arm64.cmd
    ;;
script) script=$4 ;;
run | watch) script= ;;
append) script= && text=$4 ;;
stick) script= && lines=$(cat -- "$4") ;;
*) echo "run-demo.sh: no mode '$mode'" >&2; exit 2 ;;
esac
[ -z "$script" ] || cp -- "$script" "$work/upmu.cmd"
cp -- "$vars" "$work/vars.fd"
ln -sf -- "$code" "$work/code.fd"
cd -- "$work"
rm -rf out serial.txt esp.img monitor.sock
mkdir out
if [ "$mode" = stick ]; then
    fat=esp.img@@1M
    cp --sparse=always -- "$name" esp.img
    truncate -s 100M esp.img
else
    fat=esp.img
    truncate -s 48M esp.img
    mformat -i esp.img -F ::
    mmd -i esp.img ::/EFI ::/EFI/BOOT
    mcopy -i esp.img "$name" "::/EFI/BOOT/$boot"
    [ -z "$script" ] || mcopy -i esp.img upmu.cmd ::/upmu.cmd
fi

# Arguments: words to put before QEMU's.
boot_machine() {
    set -- "$@" "$qemu" -machine "$machine" -accel tcg -cpu "$cpu" -m 256 -nodefaults -display none \
        -no-reboot -drive if=pflash,format=raw,unit=0,readonly=on,file=code.fd \
        -drive if=pflash,format=raw,unit=1,file=vars.fd
    if [ "$mode" = stick ]; then
        set -- "$@" -drive if=none,id=stick,format=raw,file=esp.img -device qemu-xhci -device usb-storage,drive=stick
    else
        set -- "$@" -drive if=$disk,format=raw,file=esp.img
    fi
    # (QEMU counts instructions only so.)
    [ "$arch" != arm64 ] || set -- "$@" -icount shift=0,sleep=off
    if [ "$arch" = ia32 ]; then
        set -- "$@" -global driver=cfi.pflash01,property=secure,value=on
    fi
    case $mode in
    run) set -- "$@" -serial mon:stdio ;;
    watch) set -- "$@" -device VGA,xres=800,yres=600 -serial stdio -monitor unix:monitor.sock,server=on,wait=off ;;
    append) set -- "$@" -serial stdio -monitor none -kernel "$name" -append "$text" ;;
    *) set -- "$@" -serial stdio -monitor none ;;
    esac
    "$@"
}

# Input that comes before a prompt is lost: wait for each.
type_lines() {
    seen=0
    printf '%s\n' "$lines" | while read -r line; do
        seen=$((seen + 1))
        waited=0
        while [ "$(grep -a -o 'upmu> ' serial.raw 2> /dev/null | wc -l)" -lt "$seen" ]; do
            sleep 0.1
            waited=$((waited + 1))
            [ "$waited" -lt $((limit * 10)) ] || return 0
        done
        case $line in
        '(space bar)') printf ' ' ;;
        *) printf '%s\r' "$line" ;;
        esac
    done
}

case $mode in
run | watch)
    boot_machine env
    exit
    ;;
esac

# On a terminal: what is going on, after two seconds.
show_progress() {
    all=$(grep -c '^[^#]' upmu.cmd)
    sleep 2
    while kill -0 $$ 2> /dev/null; do
        begun=$(grep -a -c 'upmu> ' serial.raw 2> /dev/null || :)
        state="command $begun of $all"
        [ "$begun" -gt 0 ] || state="the machine boots"
        printf '\r%s\033[K' "$state" >&2
        sleep 0.5
    done
}

status=0
: > serial.raw
shower=
if [ "$mode" = show ] && [ -t 2 ]; then
    show_progress &
    shower=$!
fi
case $mode in
stick)
    { type_lines; sleep 1; } | boot_machine timeout "$limit" > serial.raw 2> qemu.txt || status=$?
    ;;
*) boot_machine timeout "$limit" < /dev/null > serial.raw 2> qemu.txt || status=$? ;;
esac
if [ -n "$shower" ]; then
    kill "$shower" 2> /dev/null
    printf '\r\033[K' >&2
fi
# The firmware's terminal control is no text.
sed 's/\x1b\[[0-9;=?]*[A-Za-z]//g; s/\r//g' serial.raw > serial.txt
mcopy -n -i "$fat" '::/*.txt' '::/*.log' out/ 2> /dev/null || true

# On a terminal with its colours, which are all that is kept of terminal control.
show_serial() {
    if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then
        sed 's/\x1b\[[0-9;=?]*[A-Za-ln-z]//g; s/\r//g; s/ *$//' serial.raw | sed -n '/^[^ ]*upmu demo, /,$p'
    else
        sed -n 's/ *$//; /^upmu demo/,$p' serial.txt
    fi
}

if [ "$mode" = show ]; then
    show_serial
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
case $mode in
stick | append) exit 0 ;;
esac
if ! grep -q '^script: [0-9]* commands, 0 not as expected' serial.txt; then
    echo "run-demo.sh: the script did not run to its end as expected" >&2
    exit 1
fi

# SPDX-License-Identifier: MIT
#
# The disk image for a USB stick: is it what firmware looks for, does a machine boot from it, and is the page on it
# afterwards?  Part of test-demo.sh.
spaced="build/demo/a path, with blanks"

# Its figures are what the loops make, whatever CPU counts them; what was typed before is not in it.
page_is_whole() {
    tail -n 1 "$1" | grep -q '^end of the page$' &&
        grep -q '^upmu demo, ' "$1" &&
        grep -q '^Firmware: EDK II, revision 0x[0-9a-f]*, UEFI 0x200' "$1" &&
        grep -q '^This machine [A-Za-z]*, QEMU' "$1" &&
        grep -q '^PMU          skl (Intel Skylake)' "$1" &&
        grep -q 'SIMULATED CPU.*: no figure below is this machine' "$1" &&
        [ "$(grep -c '^\*\*\* SIMULATED CPU' "$1")" -eq 3 ] &&
        grep -q '^ok    probe: interrupts$' "$1" &&
        grep -q '^ok    instructions on PMC3: 1,000,000, ' "$1" &&
        grep -q '^ok    branches: 500,000, ' "$1" &&
        grep -q '^16 passed, 0 failed$' "$1" &&
        ! grep -q '^upmu> encode' "$1"
}

# What the screen showed behind the key that made the second page.
second_page() {
    awk '/^upmu> page/ { keep = ""; on = 1; next }
         on { sub(/ *$/, ""); keep = keep $0 "\n" }
         /^end of the page/ { on = 0 }
         END { printf "%s", keep }' "$1/serial.txt"
}

pages_are_apart() {
    second_page "$1" > "$1/a.txt"
    sed -n 's/ *$//; /^Firmware:/,$p' "$1/out/upmu-02.txt" > "$1/b.txt"
    cmp "$1/a.txt" "$1/b.txt" && page_is_whole "$1/out/upmu-02.txt"
}

# The image of the Makefile, and one that is made at another time and place.
check_image() {
    mkdir -p "$spaced"
    "$make" --no-print-directory usb > build/demo/usb.txt 2>&1
    result demo_stick_image_is_made $?
    cp -f build/demo/x64/upmu.efi "$spaced/X64 .EFI"
    efi-demo/make-usb.sh "$spaced/upmu-usb.img" efi-demo/usb-readme.txt X64 "$spaced/X64 .EFI" IA32 build/demo/ia32/upmu.efi &&
        cmp build/upmu-usb.img "$spaced/upmu-usb.img"
    result demo_stick_image_is_the_same_each_time $?
    text=efi-demo/usb-readme.txt
    SOURCE_DATE_EPOCH=1700000000 efi-demo/make-usb.sh "$spaced/dated.img" "$text" X64 "$text" IA32 "$text" &&
        [ "$(mdir -a -/ -i "$spaced/dated.img@@1M" :: | grep -c '2023-11-14 *22:13')" -eq 9 ]
    result demo_stick_image_takes_its_dates_from_source_date_epoch $?
    check demo_stick_image_is_a_gpt_with_an_efi_system_partition "${PYTHON:-python3}" tests/demo/check_gpt.py build/upmu-usb.img
}

# check_stick ARCH TYPED FOLDER
check_stick() {
    "$run" stick "$1" "$3/upmu-usb.img" "$2" > "$3/run.txt" 2>&1
    result "demo_${1}_boots_from_a_usb_stick" $?
    check "demo_${1}_stores_its_page_on_the_stick_by_one_key" page_is_whole "$3/out/upmu-01.txt"
    check "demo_${1}_says_which_key" has "$3/serial.txt" '^Space bar: the page to send in'
    check "demo_${1}_says_which_file" has "$3/serial.txt" '^Stored on this volume, please send it: upmu-01.txt'
}

check_x64_stick() {
    check_stick x64 tests/demo/typed.txt "$spaced"
    check demo_x64_stores_each_page_in_a_file_of_its_own pages_are_apart "$spaced"
    check demo_x64_takes_commands_from_a_keyboard \
        sh -c 'grep -q 0x43003c "$1" && grep -q "mean of 5 runs" "$1"' sh "$spaced/serial.txt"
}

check_ia32_stick() {
    cp -f build/upmu-usb.img build/demo/ia32/upmu-usb.img
    check_stick ia32 tests/demo/typed_page.txt build/demo/ia32
}

# skip NAME WHY
skip() {
    skipped=$((skipped + 1))
    echo "SKIPPED: $2"
    echo "[  SKIPPED ] $1"
}

missing=$(efi-demo/make-usb.sh check 2>&1)
if [ -n "$missing" ] || [ ! -r /usr/include/efi/efi.h ]; then
    skip demo_stick "the image for a USB stick is not made. ${missing:-gnu-efi is not installed (make deps)}"
else
    check_image
    for arch in x64 ia32; do
        missing=$("$run" check "$arch" 2>&1)
        if [ -n "$missing" ]; then
            skip "demo_${arch}_stick" "no $arch machine boots from the stick. $missing"
        else
            "check_${arch}_stick"
        fi
    done
fi

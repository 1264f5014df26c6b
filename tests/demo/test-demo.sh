#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Boot the demo, x64 and ia32, in every way it can be started (from a USB stick: test-stick.sh),
# and check what it prints and stores.  usage: test-demo.sh MAKE
set -u
make=$1
cd -- "$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)" || exit 1
run=tests/demo/run-demo.sh
passed=0
failed=0
skipped=0

# result NAME STATUS
result() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "[       OK ] $1"
    else
        failed=$((failed + 1))
        echo "[  FAILED  ] $1"
    fi
}

# check NAME COMMAND...: does the command succeed?
check() {
    name=$1
    shift
    "$@" > /dev/null 2>&1
    result "$name" $?
}

has() {
    grep -q -e "$2" "$1"
}

has_not() {
    ! grep -q -e "$2" "$1"
}

# Every command that works on a CPU prints the label, or says so in its JSON.
every_screen_is_labelled() {
    awk '/^upmu> /{ if (want) bad = 1; want = $2 ~ /^(info|stat|record|top|rdpmc|selftest)$/ }
         /SIMULATED|"simulated":true/ { want = 0 }
         END { exit bad || want }' "$1"
}

# The size that `record` told is the size on the disk image, and each sample is a line.
file_is_whole() {
    told=$(sed -n 's/^ wrote samples.txt, \([0-9]*\) bytes$/\1/p' "$1/serial.txt")
    samples=$(sed -n '/^upmu> record/,/^upmu> /s/^ \([0-9,]*\) samples of .*/\1/p' "$1/serial.txt" | tr -d ,)
    [ -n "$told" ] && [ "$(wc -c < "$1/out/samples.txt")" -eq "$told" ] &&
        [ "$(grep -c -v '^#' "$1/out/samples.txt")" -eq "$samples" ]
}

# The log on the disk says what the serial line said.
log_is_whole() {
    sed -n '/^upmu demo/,$p' "$1/serial.txt" | sed 's/ *$//' > "$1/a.txt"
    sed -n '/^upmu demo/,$p' "$1/out/upmu.log" | sed 's/ *$//' > "$1/b.txt"
    cmp "$1/a.txt" "$1/b.txt"
}

# The screen is cleared in the mode that was chosen; a firmware's own modes are 80 x 25, 80 x 50, 100 x 31 and what its
# screen has, and the tables want 100 columns: the title's blanks end there.
screen_is_chosen() {
    tr -d '\r' < "$1" | grep -a -B1 'upmu demo, ' | head -n 1 | grep -q "$(printf '\033\\[2J\033\\[01;01H$')" &&
        tr -d '\r' < "$1" | grep -a -q "$(printf '\033\\[44mupmu demo, [a-z0-9]* *\033\\[0m')" &&
        [ "$(grep -a -o 'upmu demo, [a-z0-9]* *' "$1" | head -n 1 | tr -d '\n' | wc -c)" -eq 99 ]
}

# A bar is of one colour, letters and ground; in text its marks remain.
bars_are_solid() {
    grep -a -q "$(printf '\033\\[32m\033\\[42m##*\033\\[0m')" "$1"
}

# Without terminal control there are letters alone, as a log of a serial line has them.
serial_is_text() {
    sed -n '/^upmu demo/,$p' "$1" > "$1.part"
    [ -s "$1.part" ] && ! LC_ALL=C grep -q '[^ -~]' "$1.part"
}

# One bar for each event, the label once, in each of two rounds as many instructions as the loop has.
top_has_bars() {
    sed -n '/^upmu> top/,/^upmu> [^t]/p' "$1" > "$1.top"
    [ "$(grep -c SIMULATED "$1.top")" -eq 1 ] && [ "$(grep -c '^ round' "$1.top")" -eq 2 ] &&
        [ "$(grep -c '^ instructions  *1,000,000  .* #' "$1.top")" -eq 2 ] &&
        [ "$(grep -c '^ [a-z-]*  *[0-9,]*  *[0-9,]*  #* *$' "$1.top")" -eq 12 ]
}

check_script() {
    arch=$1
    out=build/demo/$arch
    "$run" script "$arch" "$out/upmu.efi" tests/demo/test.cmd > "$out/run.txt" 2>&1
    result "demo_${arch}_runs_a_script_and_switches_off" $?
    [ -f "$out/serial.txt" ] || return
    check "demo_${arch}_says_at_once_that_there_is_no_pmu" \
        sh -c 'sed -n "/^upmu demo/,\$p" "$1" | head -n 4 | grep -q "no PMU that can be used (no usable PMU.*: [a-z]"' sh "$out/serial.txt"
    check "demo_${arch}_labels_every_simulated_screen" every_screen_is_labelled "$out/serial.txt"
    check "demo_${arch}_clears_the_screen_in_a_mode_for_its_tables" screen_is_chosen "$out/serial.raw"
    check "demo_${arch}_stays_text_on_a_serial_line" serial_is_text "$out/serial.txt"
    check "demo_${arch}_has_bars_of_one_colour" bars_are_solid "$out/serial.raw"
    check "demo_${arch}_shows_a_bar_for_each_event" top_has_bars "$out/serial.txt"
    check "demo_${arch}_takes_nmis_and_survives_faults" has "$out/serial.txt" '^Port: .*NMI arrives, faults are survived.*, TSC [1-9]'
    check "demo_${arch}_counts_a_known_loop_exactly" has "$out/serial.txt" '"counts":\[2000000,2000000,2000000\]'
    check "demo_${arch}_encodes" has "$out/serial.txt" '^IA32_PERFEVTSEL0 0x186 0x4300c5$'
    check "demo_${arch}_names_a_collision" has "$out/serial.txt" 'both need counter'
    check "demo_${arch}_samples_fall_into_functions" has "$out/serial.txt" '%  *[0-9,]*  chase'
    check "demo_${arch}_reads_fixed_counters_by_rdpmc" has "$out/serial.txt" '^0x0 0$'
    check "demo_${arch}_passes_its_selftest" has "$out/serial.txt" '^1[0-9] passed, 0 failed'
    check "demo_${arch}_sample_file_is_whole_on_the_disk" file_is_whole "$out"
    check "demo_${arch}_log_is_whole_on_the_disk" log_is_whole "$out"
}

# On a terminal `make demo` has the demo's colours and, while it waits, what is going on; nothing of that remains.
check_terminal() {
    out=build/demo/x64
    "${PYTHON:-python3}" -c 'import os, pty, sys; os.environ.pop("NO_COLOR", None); sys.exit(pty.spawn(sys.argv[1:]) != 0)' \
        "$run" show x64 "$out/upmu.efi" > "$out/terminal.txt" 2>&1 < /dev/null
    result demo_x64_runs_on_a_terminal $?
    check demo_x64_has_colours_on_a_terminal grep -a -q "$(printf '\033\\[33m.*SIMULATED')" "$out/terminal.txt"
    check demo_x64_says_what_is_going_on_on_a_terminal \
        grep -a -q "$(printf '\r\\(the machine boots\\|command [0-9]* of 9\\)\033\\[K')" "$out/terminal.txt"
}

check_starts() {
    out=build/demo/x64
    check demo_x64_switches_user_rdpmc_on_and_off has "$out/serial.txt" '^Port: .*, user RDPMC switches'
    "$run" append x64 "$out/upmu.efi" "stat -n 1000 -e instructions spin; page; off" > "$out/run.txt" 2>&1
    status=$?
    has "$out/serial.txt" ' 2,000  instructions' || status=1
    result "demo_x64_takes_commands_from_its_load_options" $status
    check demo_x64_from_no_disk_stores_on_the_first_that_takes_a_file has "$out/out/upmu-01.txt" '^end of the page$'
}

for arch in x64 ia32; do
    missing=$("$run" check "$arch" 2>&1)
    if [ -n "$missing" ] || [ ! -r /usr/include/efi/efi.h ]; then
        skipped=$((skipped + 1))
        echo "SKIPPED: the $arch demo is not booted. ${missing:-gnu-efi is not installed (make deps)}"
        echo "[  SKIPPED ] demo_$arch"
        continue
    fi
    if ! "$make" --no-print-directory "build/demo/$arch/upmu.efi"; then
        result "demo_${arch}_builds" 1
        continue
    fi
    check_script "$arch"
    [ "$arch" = x64 ] && check_starts && check_terminal
done
. tests/demo/test-stick.sh

if [ "$skipped" -ne 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]

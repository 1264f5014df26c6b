#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Make a disk image for a USB stick: a GPT with one partition, an EFI system partition (FAT32), which has the demo
# for each kind of firmware that is named: X64, IA32, AA64.
#
# usage: make-usb.sh IMAGE README.TXT KIND UPMU.EFI [KIND UPMU.EFI]...
#        make-usb.sh check                       is all there that it needs?
#
# The same files and the same SOURCE_DATE_EPOCH (none: 1980-01-01, the first day of FAT) make the same image.
# 3: something is missing.
set -eu
PATH=$PATH:/usr/sbin:/sbin # sfdisk is there, and a user's PATH may be without it

for tool in sfdisk mformat mmd mcopy truncate; do
    if ! command -v "$tool" > /dev/null; then
        echo "make-usb.sh: not installed: $tool (make deps-demo)" >&2
        exit 3
    fi
done
[ "$1" = check ] && exit 0
image=$1
readme=$2
shift 2

# FAT dates are local times, and a person's own settings of mtools must not matter.
export TZ=UTC0 MTOOLSRC=/dev/null SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-315532800}"

# Sectors of 512 bytes: FAT32 has 65,525 clusters at least, here of one sector each.
disk=98304
first=2048
sectors=94208
fat=$image.new@@$((first * 512))

rm -f -- "$image.new"
truncate -s $((disk * 512)) -- "$image.new"
sfdisk --quiet -- "$image.new" << TABLE
label: gpt
label-id: 75706D75-0001-4000-8000-000000000000
start=$first, size=$sectors, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, uuid=75706D75-0002-4000-8000-000000000000, name="upmu"
TABLE
mformat -i "$fat" -F -c 1 -T $sectors -H $first -h 255 -s 63 -N 75706D75 -v UPMU ::
mmd -i "$fat" ::/EFI ::/EFI/BOOT
while [ $# -ge 2 ]; do
    mcopy -i "$fat" -- "$2" "::/EFI/BOOT/BOOT$1.EFI"
    shift 2
done
mcopy -t -i "$fat" -- "$readme" ::/README.TXT # (with the line ends of DOS)
mv -- "$image.new" "$image"

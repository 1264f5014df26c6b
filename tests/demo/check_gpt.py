#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is this disk image what firmware looks for?  usage: check_gpt.py IMAGE

UEFI Specification 2.10: 5.2.3 the protective MBR, 5.3.2 both headers and their sums, 5.3.3 an EFI system partition.
"""
import struct
import sys
import uuid
import zlib

SYSTEM_PARTITION = uuid.UUID("C12A7328-F81F-11D2-BA4B-00A0C93EC93B")


def header(image, sector):
    """(fields of the header in this sector, its array of partitions)"""
    raw = image[sector * 512:sector * 512 + 92]
    fields = struct.unpack("<8s4sIIIQQQQ16sQIII", raw)
    assert fields[0] == b"EFI PART" and fields[2] == 92, f"no header in sector {sector}"
    assert fields[3] == zlib.crc32(raw[:16] + bytes(4) + raw[20:]), f"the sum of the header in sector {sector}"
    assert fields[5] == sector, "its own place"
    at, count, size, total = fields[10:14]
    array = image[at * 512:at * 512 + count * size]
    assert zlib.crc32(array) == total, f"the sum of the partitions of the header in sector {sector}"
    return fields, array


def main():
    image = open(sys.argv[1], "rb").read()
    last = len(image) // 512 - 1
    assert image[510:512] == b"\x55\xaa"
    kind, start, sectors = image[446 + 4], *struct.unpack_from("<II", image, 446 + 8)
    assert (kind, start, sectors) == (0xEE, 1, last), "the protective MBR"
    assert image[462:510] == bytes(48), "no other partition in the MBR"
    (first, array), (backup, copy) = header(image, 1), header(image, last)
    assert (first[6], backup[6]) == (last, 1) and array == copy, "the headers name each other"
    used = [array[i:i + 128] for i in range(0, len(array), 128) if any(array[i:i + 16])]
    assert len(used) == 1, "one partition"
    start, end = struct.unpack_from("<QQ", used[0], 32)
    assert uuid.UUID(bytes_le=used[0][:16]) == SYSTEM_PARTITION
    assert first[7] <= start and end <= first[8]
    boot = image[start * 512:start * 512 + 512]
    assert boot[82:90] == b"FAT32   " and boot[510:512] == b"\x55\xaa"
    assert struct.unpack_from("<II", boot, 28) == (start, end - start + 1), "sectors before it, and its own"


main()

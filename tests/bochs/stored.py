# SPDX-License-Identifier: MIT
"""
Register files for Bochs (its msrs= option; format in Bochs' msrs.def): performance
registers that are memory.  Addresses below 1000h only; what is not there faults.
Columns: address, type 0, reset value, reserved bits, ignored bits, high half first.
"""


def line(address, exists, reset=0):
    reserved = ~exists & (1 << 64) - 1
    words = [reset >> 32, reset, reserved >> 32, reserved, 0, 0]
    return " ".join([f"0x{address:x} 0"] + [f"{word & 0xffffffff:08x}" for word in words]) + "\n"


def bits(count):
    return (1 << count) - 1


def architectural(row):
    """Intel SDM vol 3 (325384-059) 18.2: versions 1 to 5; no full-width aliases, which would be other memory."""
    leaf, fixed = int(row["leaf0a"], 16), int(row["fixed"])
    version, general, width = leaf & 255, int(row["general"]), leaf >> 16 & 255
    out = ""
    for i in range(general):
        out += line(0xc1 + i, bits(width)) + line(0x186 + i, 0xffffffff)
    if version >= 2:
        enables = bits(general) | bits(fixed) << 32
        out += "".join(line(0x309 + i, bits(width)) for i in range(fixed))
        out += line(0x38d, bits(4 * fixed)) + line(0x38f, enables) + line(0x38e, bits(64)) + line(0x390, bits(64))
    if version >= 4:
        out += line(0x391, bits(64)) + line(0x392, bits(64))
    return out + line(0x1d9, 0xffff) + line(0x1a0, bits(64), 0x80) + line(0x345, 0) + \
        line(0x1a6, bits(38)) + line(0x1a7, bits(38)) + line(0x3f6, 0xffff) + line(0x3f7, bits(23)) + \
        line(0x3f1, bits(64))


def p6(_row):
    """Intel SDM vol 3 (325384-059) 18.6.8: two counters of 40 bits."""
    return "".join(line(0xc1 + i, bits(40)) + line(0x186 + i, 0xffffffff) for i in range(2))


def netburst(_row):
    """Intel SDM vol 3 (325384-059) 18.6.3: 18 counters, CCCRs, the ESCRs; MISC_ENABLE[7] set."""
    out = "".join(line(0x300 + i, bits(40)) + line(0x360 + i, 0xfffff000) for i in range(18))
    out += "".join(line(0x3a0 + i, 0x7fffffff) for i in range(0x42))
    return out + line(0x3f1, bits(64)) + line(0x3f2, bits(64)) + line(0x1a0, bits(64), 0x80) + line(0x1d9, 0xffff)


def registers(row):
    kinds = {"architectural": architectural, "p6": p6, "netburst": netburst}
    return kinds[row["registers"]](row) if row["registers"] != "-" else line(0x1d9, 0)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a .config of prj.conf files by the Kconfig of the stand-in, which includes that of upmu's module.

Usage: stand_in_config.py UPMU OUT FILE...    a line without effect is an error, as is a warning
"""
import os
import sys

import kconfiglib

HERE = os.path.dirname(os.path.abspath(__file__))


def main(upmu, out, *paths):
    os.environ["UPMU"] = upmu
    options = kconfiglib.Kconfig(os.path.join(HERE, "Kconfig"), warn_to_stderr=False)
    options.warn_assign_override = False
    for path in paths:
        options.load_config(path, replace=False)
    wanted = {}
    for path in paths:
        with open(path, encoding="ascii") as file:
            wanted.update(line.split("=", 1) for line in file.read().split("\n") if line.startswith("CONFIG_"))
    complaints = list(options.warnings)
    for name, value in wanted.items():
        symbol = options.syms.get(name.removeprefix("CONFIG_"))
        if not symbol or symbol.str_value != value.strip('"'):
            complaints.append(f"{name}={value}: it is {symbol.str_value if symbol else 'no option'}")
    options.write_config(out)
    sys.exit("\n".join(complaints) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

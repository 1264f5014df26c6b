#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layers of abi, as an embedder compiles them: both widths, both compilers, no library."""
import os
import re

from checklib import FREESTANDING, SOAK, check, files, main, parallel, run

WARNINGS = ("-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual "
            "-Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror").split()


@check
def layers_compile_freestanding_and_need_only_upmu():
    """gcc in 64 bits makes optimised objects; in a soak all do, else the others read the sources."""
    jobs = [(compiler, width, source) for compiler in ("gcc", "clang") for width in ("-m64", "-m32")
            for source in files("abi/*/*.c")]
    if not SOAK:
        print("objects of gcc in 64 bits alone; of both compilers and widths in make soak (FUZZ_RUNS=soak)")

    def compile_one(job):
        compiler, width, source = job
        built = f"build/tests/abi-{compiler}{width}-{os.path.basename(source)[:-2]}.o"
        made = ["-O1", "-c", "-o", built] if SOAK or (compiler, width) == ("gcc", "-m64") else ["-fsyntax-only"]
        code, output = run([compiler] + FREESTANDING + WARNINGS + [width, *made, source])
        if code or made == ["-fsyntax-only"]:
            return [output] if code else []
        names = re.findall(r"^\s+U (\S+)$", run(["nm", built])[1], re.M)
        return [f"{source} {compiler} {width}: needs {name}" for name in names
                if not re.match(r"upmu_|pmc_syscall$|mem(cpy|set|move|cmp)$", name)]
    os.makedirs("build/tests", exist_ok=True)
    return parallel(compile_one, jobs)


if __name__ == "__main__":
    main()

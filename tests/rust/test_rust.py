#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The crates of bindings/rust (docs/RUST.md), offline, by Debian's cargo: on the silicon model, with other options, for
32 bits, from their packages alone, and in a kernel under QEMU; and sizes and offsets as bindgen sees them.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))
from checklib import ROOT, Skip, check, main, read, run  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "tools"))
import sources  # noqa: E402

CRATES = "bindings/rust"
ROOM = os.path.join(ROOT, "build/tests/rust")
# Debian's toolchain where it is, otherwise the one of the path.
DEBIAN = os.path.exists("/usr/bin/cargo") and os.path.exists("/usr/bin/rustc")
FOLDER = "/usr/bin" if DEBIAN else os.path.dirname(shutil.which("cargo") or "")
# Quickly compiled: events of one model, nothing optimised.
QUICK = "UPMU_EVENTS_ALL=0 UPMU_EVENTS_skl=1"
SMALL = QUICK + " UPMU_THREADS=0 UPMU_WORLDS=0 UPMU_SET_EVENTS=4"
COUNTS = "12000\n9000\n31\n"
GUEST = "inject Nmi\nc1h is 7001\n3f1h: #GP\n"
I686 = "i686-unknown-linux-gnu"
I686_LIBRARY = f"{ROOT}/build/foreign/i386/usr/lib/rustlib/{I686}/lib"
PAGE = "docs/RUST.md"
BARE = "x86_64-unknown-none"
# Three runs of 12,000 instructions: one is measured, two are the thread's, and each 5,000th of one is a sample.
BOOTED = """region: 12000 9000 31
thread: 24000
sample: 0x5e20
sample: 0xac40
refused: "instrutions": no such event on skl; nearest: instructions
this CPU: no usable PMU
"""


def cargo(words, room, options=QUICK, folder=FOLDER, at=CRATES, flags="-O0", **more):
    """Run cargo offline with a target folder of this room."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("CARGO", "RUST", "UPMU_")) and name not in ("MAKEFLAGS", "MFLAGS", "CC", "AR")}
    environment = dict(kept, PATH=f"{folder}:{os.environ['PATH']}", CARGO_TARGET_DIR=f"{ROOM}/{room}", UPMU_OPTIONS=options,
                       UPMU_CFLAGS=flags, CARGO_BUILD_JOBS=os.environ.get("RUST_JOBS", "1"), RUST_BACKTRACE="0", **more)
    code, output = run([f"{folder}/cargo", *words], cwd=at, env=environment)
    return code, re.sub(r"^\s+(Compiling|Checking|Finished|Running|Dirty) .*\n", "", output, flags=re.M)


def counts(room, *words, **more):
    """Complaints about the example, which counts on the model."""
    code, output = cargo(["run", "--offline", "-q", "-p", "upmu", "--features", "sim,guest", "--example", "count", *words], room, **more)
    return [] if (code, output) == (0, COUNTS) else [f"{room}: exit {code}: {output[-3000:]}"]


@check
def versions_are_those_of_the_library():
    version = sources.version()
    found = {name: set(re.findall(r'^version = "(.*)"|version = "=([\d.]+)"', read(f"{CRATES}/{name}/Cargo.toml"), re.M))
             for name in ("upmu-sys", "upmu", "kernel")}
    for path in "Cargo.lock", "kernel/Cargo.lock":
        found[path] = set(re.findall(r'^version = "(.*)"()', read(f"{CRATES}/{path}"), re.M))
    return [f"{name}: {text}, and the library is {version}" for name, texts in found.items() for pair in texts for text in pair
            if text and text != version]


@check
def every_unsafe_block_says_why_it_is_sound():
    """(clippy sees blocks; functions that are unsafe, and implementations, are looked for here.)"""
    complaints, blocks = [], 0
    for path in glob.glob(f"{CRATES}/**/*.rs", recursive=True):
        lines = read(path).split("\n")
        for number, line in enumerate(lines):
            if not re.search(r"\bunsafe (impl|\{)|pub(\(crate\))? unsafe fn|^unsafe fn", line) or line.lstrip().startswith("//"):
                continue
            blocks += 1
            above = "\n".join(lines[max(0, number - 12):number])
            if "SAFETY:" not in above and "# Safety" not in above:
                complaints.append(f"{path}:{number + 1}: {line.strip()}")
    print(f"{blocks} unsafe blocks, functions and implementations")
    return complaints if blocks > 60 else [f"only {blocks} were found"]


@check
def the_crates_pass_their_tests():
    code, output = cargo(["test", "--offline", "--features", "upmu/sim,upmu/guest"], "default")
    tests = re.findall(r"^test (.*?)(?: - .*)? \.\.\. (\w+)", output, re.M)
    passed = [name for name, result in tests if result == "ok"]
    print(f"{len(passed)} tests of Rust passed, by {run([FOLDER + '/rustc', '--version'])[1].strip()}")
    return [] if code == 0 and len(passed) >= 25 else [f"exit {code}: {line}" for line in output.split("\n")[-60:]]


@check
def clippy_has_nothing_to_say():
    if not os.path.exists(f"{FOLDER}/clippy-driver"):
        raise Skip("rust-clippy is not installed (make deps-rust)")
    code, output = cargo(["clippy", "--offline", "--all-targets", "--features", "upmu/sim,upmu/guest", "--", "-D", "warnings"], "default")
    return [] if (code, output) == (0, "") else output.split("\n")


@check
def the_first_program_of_the_page_counts():
    program = read(f"{CRATES}/upmu/examples/count.rs").split("\n", 3)[3]
    complaints = [] if program in read(PAGE) else [f"{PAGE} does not show examples/count.rs"]
    return complaints + ([] if COUNTS in read(PAGE) else [f"{PAGE} does not show what it prints"]) + counts("default")


@check
def the_hypervisor_of_the_page_runs_its_guest():
    """Finds a page that shows another program than the one that runs."""
    program = read(f"{CRATES}/upmu/examples/hypervisor.rs").split("\n", 3)[3]
    complaints = [] if program in read(PAGE) else [f"{PAGE} does not show examples/hypervisor.rs"]
    complaints += [] if GUEST in read(PAGE) else [f"{PAGE} does not show what it prints"]
    code, output = cargo(["run", "--offline", "-q", "-p", "upmu", "--features", "sim,guest", "--example", "hypervisor"], "default")
    return complaints + ([] if (code, output) == (0, GUEST) else [f"exit {code}: {output[-3000:]}"])


@check
def a_small_set_of_options_counts():
    """Finds a layout that is fixed in Rust: without threads and worlds, and with four events, structures are others."""
    return counts("small", options=SMALL)


@check
def a_32_bit_program_counts():
    folder = I686_LIBRARY if DEBIAN and os.path.isdir(I686_LIBRARY) else f"/usr/lib/rustlib/{I686}/lib"
    if not os.path.isdir(folder):
        raise Skip("there is no libstd-rust-dev:i386 (make deps-rust)")
    if subprocess.run("/lib/ld-linux.so.2 --version", shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise Skip("this machine's kernel executes no 32-bit programs")
    return counts("default", "--target", I686, CARGO_ENCODED_RUSTFLAGS=f"-L{folder}")


@check
def the_packages_alone_count():
    """Finds a C source that the package lacks: it is unpacked outside of the tree."""
    code, output = run([sys.executable, "tools/crates.py", f"{ROOM}/crates"], env=dict(os.environ, CARGO=f"{FOLDER}/cargo"))
    if code:
        return [output]
    version = sources.version()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("upmu-sys", "upmu"):
            code, output = run(["tar", "xzf", f"{ROOM}/crates/{name}-{version}.crate", "-C", folder])
            if code:
                return [output]
        crate = f"{folder}/upmu-sys-{version}"
        guest = glob.glob("abi/guest/**/*.[ch]", recursive=True)
        complaints = [f"the package lacks {path}" for path in sources.sources() + sources.sources("sim") + guest
                      if not os.path.exists(f"{crate}/upmu/{path}")]
        os.makedirs(f"{folder}/.cargo")
        with open(f"{folder}/.cargo/config.toml", "w", encoding="ascii") as file:
            file.write(f'[patch.crates-io]\nupmu-sys = {{ path = "{crate}" }}\n')
        return complaints or counts("packages", at=f"{folder}/upmu-{version}")


def sysroot(target):
    """A core for a target for which Debian has none: it is compiled from rust-src, once for each compiler."""
    version = run([f"{FOLDER}/rustc", "--version"])[1].split()[1]
    source = f"/usr/src/rustc-{version}/library/core/src/lib.rs"
    if not os.path.exists(source):
        raise Skip("rust-src is not installed (make deps-rust)")
    folder = f"{ROOM}/sysroot-{version}"
    library = f"{folder}/lib/rustlib/{target}/lib"
    os.makedirs(library, exist_ok=True)
    # (core asks for this crate; the kernel has what it would have)
    empty = f"{ROOM}/compiler_builtins.rs"
    with open(empty, "w", encoding="ascii") as file:
        file.write("#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![no_std]\n")
    flags = ["--crate-type", "rlib", "--edition", "2021", "--target", target, "-Cpanic=abort", "-Copt-level=1",
             "-Cdebug-assertions=off", "--cap-lints", "allow", "--out-dir", library]
    for name, path, more in (("core", source, []), ("compiler_builtins", empty, ["--sysroot", folder])):
        if not os.path.exists(f"{library}/lib{name}.rlib"):
            code, output = run([f"{FOLDER}/rustc", "--crate-name", name, *flags, *more, path], env=dict(os.environ, RUSTC_BOOTSTRAP="1"))
            assert code == 0, output
    return folder


@check
def a_kernel_in_rust_boots_and_counts():
    """Finds a crate that needs a system below it: a symbol, a stack protector, vector registers."""
    if not shutil.which("qemu-system-x86_64"):
        raise Skip("qemu-system-x86_64 is not installed (make deps)")
    core = f"target.{BARE}.rustflags=['--sysroot={sysroot(BARE)}']"
    code, output = cargo(["--config", core, "build", "--offline", "-q"], "kernel", at=f"{CRATES}/kernel",
                         flags="-O0 -fno-pic -fno-pie")
    if code or output:
        return output.split("\n")
    code, output = run(["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64", "-nodefaults", "-m", "32", "-display", "none",
                        "-no-reboot", "-device", "isa-debug-exit,iobase=0x501,iosize=4", "-serial", "stdio", "-monitor", "none",
                        "-kernel", f"{ROOM}/kernel/{BARE}/debug/upmu-kernel"], timeout=300, stdin=subprocess.DEVNULL)
    return [] if (code, output) == (33, BOOTED) else [f"exit {code}: {output}"]


@check
def the_crates_build_for_32_bits():
    """They need no std, so that this runs without libstd-rust-dev:i386: finds a layout of one width."""
    code, output = cargo(["build", "--offline", "-q", "-p", "upmu", "--features", "sim,guest", "--target", I686], "default",
                         CARGO_ENCODED_RUSTFLAGS=f"--sysroot={sysroot(I686)}\x1f-Cpanic=abort")
    return output.split("\n") if code or output else []


@check
def another_toolchain_builds_them():
    found = [folder for folder in os.environ["PATH"].split(":") if os.path.exists(f"{folder}/cargo")]
    other = next((folder for folder in found if not os.path.samefile(f"{folder}/cargo", f"{FOLDER}/cargo")), None)
    if not other:
        raise Skip("there is one toolchain here")
    print(run([f"{other}/rustc", "--version"])[1].strip())
    return counts("other", folder=other)


def layout(room, target=None):
    """The file in which build.rs has stored what the C compiler said."""
    pattern = f"{ROOM}/{room}/{target + '/' if target else ''}debug/build/upmu-sys-*/out/layout.rs"
    found = max(glob.glob(pattern), key=os.path.getmtime, default=None)
    if not found:
        raise Skip(f"{room} {target or ''} was not built: the checks above build it")
    return found


# (changed declaration, what the compiler says of it)
WRONG = [
    ("        value: u64 = upmu_count_value_AT, upmu_count_value_BYTES;\n        /// Events really counted.\n"
     "        raw: u64 = upmu_count_raw_AT, upmu_count_raw_BYTES;\n",
     "        raw: u64 = upmu_count_raw_AT, upmu_count_raw_BYTES;\n        value: u64 = upmu_count_value_AT, upmu_count_value_BYTES;\n",
     "upmu_count.raw is elsewhere in C"),
    ("        /// Of a sampled event: periods that ended without a sample.\n"
     "        lost: u32 = upmu_count_lost_AT, upmu_count_lost_BYTES;\n", "", "upmu_count lacks a field"),
    ("user: bool =", "user: u32 =", "user has another size in C"),
    ("pub type upmu_status = u32;", "pub type upmu_status = u8;", "-fshort-enums is not supported"),
]


@check
def a_wrong_layout_does_not_compile():
    source, complaints = read(f"{CRATES}/upmu-sys/src/lib.rs"), []
    for was, now, wanted in [("", "", None), *WRONG]:  # (first as it is)
        changed = source.replace(was, now, 1) if was else source
        if was and changed == source:
            return [f"upmu-sys/src/lib.rs has no {was}"]
        with open(f"{ROOM}/wrong.rs", "w", encoding="utf-8") as file:
            file.write(changed)
        code, output = run([f"{FOLDER}/rustc", "--edition", "2021", "--crate-type", "rlib", "--emit", "metadata", "--cap-lints", "allow",
                            "-o", f"{ROOM}/wrong.rmeta", f"{ROOM}/wrong.rs"], env=dict(os.environ, OUT_DIR=os.path.dirname(layout("default"))))
        if (code == 0) != (wanted is None) or wanted and wanted not in output:
            complaints.append(f"{now or was}: exit {code}: {output[-1500:]}")
    return complaints


def said_by_the_compiler(room, target=None):
    """What build.rs has asked the C compiler: {structure: (size, align)}, {(structure, field): offset}."""
    text = read(layout(room, target))
    sizes = {name: (int(size), int(align)) for align, name, size in
             re.findall(r"align\((\d+)\)\)\]\npub struct (\w+)\(core::mem::MaybeUninit<\[u8; (\d+)\]>\)", text)}
    records = {name: (int(size), int(align)) for name, size, align in
               re.findall(r"pub mod of_(\w+) \{ pub const SIZE: usize = (\d+); pub const ALIGN: usize = (\d+)", text)}
    return {**sizes, **records}, set(records), {name: int(at) for name, at in re.findall(r"const (upmu_\w+)_AT: usize = (\d+)", text)}


def said_by_bindgen(flags):
    with open(f"{ROOM}/bindgen.h", "w", encoding="ascii") as file:
        headers = [path.removeprefix("include/") for path in sorted(glob.glob("include/upmu/*.h"))] + ["abi/guest/guest.h"]
        file.write("".join(f"#include <{path}>\n" for path in headers))
    code, text = run(["bindgen", f"{ROOM}/bindgen.h", "--allowlist-type", "upmu_.*", "--", "-Iinclude", "-I.", "-ffreestanding", *flags])
    assert code == 0, text
    sizes = dict(re.findall(r"size_of::<(\w+)>\(\),\s*(\d+)usize", text))
    aligns = dict(re.findall(r"align_of::<(\w+)>\(\),\s*(\d+)usize", text))
    fields = re.findall(r"as usize - ptr as usize\s*\},\s*(\d+)usize,\s*concat!\(\s*\"Offset of field: \",\s*stringify!\((\w+)\),"
                        r"\s*\"::\",\s*stringify!\((\w+)\)", text)
    return ({name: (int(size), int(aligns[name])) for name, size in sizes.items()},
            {(owner, field): int(at) for at, owner, field in fields})


@check
def bindgen_sees_the_same_sizes_offsets_and_fields():
    """An oracle: bindgen asks clang, build.rs asks the compiler of the build.  A record lacks no field of C."""
    if not shutil.which("bindgen"):
        raise Skip("bindgen is not installed (make deps-rust)")
    complaints, compared = [], 0
    builds = [("default", None, QUICK, "-m64"), ("small", None, SMALL, "-m64")]
    if os.path.isdir(f"{ROOM}/default/{I686}"):
        builds.append(("default", I686, QUICK, "-m32"))
    for room, target, options, width in builds:
        sizes, records, offsets = said_by_the_compiler(room, target)
        theirs, fields = said_by_bindgen([width, *(f"-D{option}" for option in options.split())])
        for name, size in sizes.items():
            if name != "upmu_sim" and theirs.get(name) != size:
                complaints.append(f"{room} {width} {name}: {size}, bindgen: {theirs.get(name)}")
        by_name = {f"{owner}_{field}": at for (owner, field), at in fields.items()}
        # bindgen does not say where an unnamed union is; that its members are there is all that can be compared.
        unnamed = {f"{owner.split('__bindgen_ty_')[0]}_{field}" for owner, field in fields if "__bindgen_ty_" in owner}
        complaints += [f"{room} {width} {name}: at {at}, bindgen: {by_name.get(name)}"
                       for name, at in offsets.items() if by_name.get(name) != at and name not in unnamed]
        complaints += [f"{room} {width}: {owner} has a field {field} in C" for owner, field in fields
                       if owner in records and f"{owner}_{field}" not in offsets]
        compared += len(sizes) + len(offsets)
    print(f"{compared} sizes and offsets of {len(builds)} builds compared")
    return complaints if compared > 150 else [*complaints, f"only {compared} were compared"]


if __name__ == "__main__":
    os.makedirs(ROOM, exist_ok=True)
    main()

// SPDX-License-Identifier: MIT
//! Compiles the C library, and asks the C compiler for the layout of what Rust sees.
//!
//! Environment, all optional:
//! CC and AR       the target's compiler and archiver (cc, ar)
//! UPMU_OPTIONS    options of include/upmu/config.h: "UPMU_NAMES=0 UPMU_SET_EVENTS=4"
//! UPMU_CFLAGS     flags of your kernel, after all others: "-mcmodel=kernel -fno-pie"
//! UPMU_DIR        the tree of upmu, if it is neither in this crate (upmu/) nor around it
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fmt::Write, fs, thread};

fn variable(name: &str, default: &str) -> String {
    println!("cargo:rerun-if-env-changed={name}");
    env::var(name).unwrap_or_else(|_| default.to_string())
}

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}

/// The tree of the C library.
fn tree(here: &Path) -> PathBuf {
    let places = match variable("UPMU_DIR", "") {
        given if !given.is_empty() => vec![PathBuf::from(given)],
        _ => vec![here.join("upmu"), here.join("../../..")],
    };
    let found = places.iter().find(|place| place.join("upmu.mk").exists());
    found.unwrap_or_else(|| panic!("no upmu.mk in {places:?}: UPMU_DIR names the tree of upmu")).clone()
}

fn makefile(tree: &Path, path: &str) -> String {
    fs::read_to_string(tree.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rest of the line of a makefile that assigns `name`.
fn assigned(makefile: &str, name: &str) -> String {
    let found = makefile.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" := "));
    found.unwrap_or_else(|| panic!("no makefile assigns {name}")).to_string()
}

/// Files that the patterns of a makefile's variable mean.
fn listed(tree: &Path, makefile: &str, name: &str, out: &mut Vec<PathBuf>) {
    for pattern in assigned(makefile, name).split("$(UPMU_DIR)/").skip(1) {
        matching(tree, pattern.split([' ', ')']).next().unwrap_or_default(), out);
    }
}

/// Files that a pattern such as core/*/*.c means; each part but the last is a name or a star.
fn matching(folder: &Path, pattern: &str, out: &mut Vec<PathBuf>) {
    let entries = || {
        let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        found.map(|entry| entry.expect("an entry of a folder").path())
    };
    match pattern.split_once('/') {
        Some(("*", rest)) => entries().filter(|path| path.is_dir()).for_each(|path| matching(&path, rest, out)),
        Some((name, rest)) => matching(&folder.join(name), rest, out),
        None => out.extend(entries().filter(|path| path.extension().map_or(false, |end| end == "c"))),
    }
}

/// Flags by the target; those of the environment come last.
fn flags(tree: &Path, makefile: &str) -> Vec<String> {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let (arch, os) = (target("ARCH"), target("OS"));
    let level = env::var("OPT_LEVEL").unwrap_or_default();
    // The stack of each call (docs/PORTING.md) holds for -O2 and -Os.
    let mut flags = vec![if level == "s" || level == "z" { "-Os" } else { "-O2" }.to_string()];
    let mut add = |words: &str| flags.extend(words.split_whitespace().map(String::from));
    add("-ffunction-sections -fdata-sections -fPIC");
    let of_makefile = assigned(makefile, "UPMU_CFLAGS");
    for word in of_makefile.split_whitespace().filter(|word| word.starts_with('-')) {
        // RISC-V's compilers have no such flag.
        if word != "-mgeneral-regs-only" || !arch.starts_with("riscv") {
            add(word);
        }
    }
    match arch.as_str() {
        "x86" => add("-m32"),
        "x86_64" => add("-m64"),
        "aarch64" => add("-mno-outline-atomics"),
        _ => (),
    }
    if os == "none" {
        add("-fno-stack-protector");
        if arch == "x86_64" {
            add("-mno-red-zone");
        }
    }
    flags.push(format!("-I{}", tree.join("include").display()));
    flags.push(format!("-I{}", tree.display()));
    flags.extend(variable("UPMU_OPTIONS", "").split_whitespace().map(|option| format!("-D{option}")));
    flags.extend(variable("UPMU_CFLAGS", "").split_whitespace().map(String::from));
    for feature in ["SIM", "GUEST"] {
        if has(feature) {
            flags.push(format!("-DUPMU_RUST_{feature}=1"));
        }
    }
    flags
}

/// Compile all sources, as many at a time as cargo allows.
fn compile(cc: &str, flags: &[String], sources: &[PathBuf], out: &Path) -> Vec<PathBuf> {
    let objects: Vec<_> = (0..sources.len()).map(|i| out.join(format!("upmu{i}.o"))).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let i = next.fetch_add(1, Ordering::Relaxed);
        sources.get(i).map(|source| (i, source))
    };
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((i, source)) = take() {
                    run(Command::new(cc).args(flags).arg("-c").arg("-o").arg(&objects[i]).arg(source));
                }
            });
        }
    });
    objects
}

/// Rust's text of what rust_layout.c says: "->" and words, in lines of assembly text.
fn layout(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.split("\"->").nth(1));
    let said: Vec<Vec<&str>> = lines.map(|line| line.trim_end_matches('"').split_whitespace().collect()).collect();
    let mut rust = String::new();
    for words in &said {
        match words[..] {
            ["number", name, value] => writeln!(rust, "pub const {name}: u32 = {value};"),
            ["memory", name, size, align] => writeln!(
                rust,
                "/// Memory of C's size: its contents are the library's.\n#[repr(C, align({align}))]\n\
                 pub struct {name}(core::mem::MaybeUninit<[u8; {size}]>);\n\
                 impl {name} {{\n    pub const SIZE: usize = {size};\n    pub const fn zeroed() -> Self {{ \
                 Self(core::mem::MaybeUninit::new([0; {size}])) }}\n}}"
            ),
            ["record", name, size, align] => writeln!(
                rust,
                "pub mod of_{name} {{ pub const SIZE: usize = {size}; pub const ALIGN: usize = {align}; \
                 pub const FIELDS: usize = {}; }}",
                said.iter().filter(|words| words.len() == 5 && words[1] == name).count()
            ),
            ["field", owner, field, at, bytes] => {
                writeln!(
                    rust,
                    "pub const {owner}_{field}_AT: usize = {at};\npub const {owner}_{field}_BYTES: usize = {bytes};"
                )
            }
            _ => panic!("rust_layout.c said {words:?}"),
        }
        .expect("text");
    }
    assert!(said.len() > 100, "the compiler wrote no layout: {} lines", said.len());
    rust
}

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs this"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo runs this"));
    let tree = tree(&here);
    let upmu_mk = makefile(&tree, "upmu.mk");
    let (cc, ar, flags) = (variable("CC", "cc"), variable("AR", "ar"), flags(&tree, &upmu_mk));

    let mut sources = Vec::new();
    listed(&tree, &upmu_mk, "UPMU_SOURCES", &mut sources);
    assert!(sources.len() > 50, "the sources of upmu.mk were not understood: {} were found", sources.len());
    if has("GUEST") {
        let arm = env::var("CARGO_CFG_TARGET_ARCH").map_or(false, |arch| arch == "aarch64");
        let guest = makefile(&tree, "abi/guest/guest.mk").replace("$(UPMU_GUEST_DOOR)", if arm { "arm" } else { "x86" });
        listed(&tree, &guest, "UPMU_GUEST_SOURCES", &mut sources);
    }
    if has("SIM") {
        matching(&tree, "models/sim/*.c", &mut sources);
        sources.push(here.join("src/rust_model.c"));
    }
    sources.sort();

    let objects = compile(&cc, &flags, &sources, &out);
    let library = out.join("libupmu.a");
    // An archive keeps members that have left the list.
    let _ = fs::remove_file(&library);
    run(Command::new(&ar).arg("crs").arg(&library).args(&objects));

    let text = out.join("layout.s");
    run(Command::new(&cc).args(&flags).args(["-fno-lto", "-S", "-o"]).arg(&text).arg(here.join("src/rust_layout.c")));
    let text = fs::read_to_string(&text).expect("the compiler wrote it");
    fs::write(out.join("layout.rs"), layout(&text)).expect("OUT_DIR can be written");

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=upmu");
    for part in ["upmu.mk", "include", "core", "backends", "events", "abi/guest", "models/sim"] {
        println!("cargo:rerun-if-changed={}", tree.join(part).display());
    }
    for source in ["rust_model.c", "rust_layout.c", "rust_layout.inc"] {
        println!("cargo:rerun-if-changed={}", here.join("src").join(source).display());
    }
}

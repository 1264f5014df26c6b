// SPDX-License-Identifier: MIT
//! Where the kernel lies.
fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs this");
    println!("cargo:rustc-link-arg=-T{here}/kernel.ld");
    println!("cargo:rerun-if-changed=kernel.ld");
}

//! Compiles the tiny program, which this crate carries along, by the compiler and the linker of the rest.

#![allow(clippy::disallowed_methods, reason = "what is built starts the compiler; what was built does not")]

use std::path::Path;
use std::process::Command;
use std::{env, io};

const SOURCE: &str = "tiny/program.rs";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let of_cargo = |name: &str| env::var_os(name).unwrap_or_default();
    if of_cargo("CARGO_CFG_TARGET_OS") != "linux" {
        return Ok(());
    }
    let mut compile = Command::new(of_cargo("RUSTC"));
    compile.args([SOURCE, "--edition=2024", "--crate-name=tiny", "--target"]).arg(of_cargo("TARGET"));
    for option in ["panic=abort", "opt-level=s", "relocation-model=static", "strip=symbols"] {
        compile.args(["-C", option]);
    }
    // In few pages, with nothing of a C library.
    compile
        .arg("-C")
        .arg("link-args=-static -nostdlib -nostartfiles -Wl,--build-id=none -Wl,-z,noseparate-code");
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compile.arg("-C").arg(format!("linker={linker}"));
    }
    compile.arg("-o").arg(Path::new(&of_cargo("OUT_DIR")).join("tiny"));
    match compile.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("the tiny program was not compiled")),
    }
}

//! Leaves out of a released program what only unwinding reads: a panic there ends the process at once.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=no-unwinding.ld");
    let of = |name| env::var(name).unwrap_or_default();
    if of("PROFILE") == "release" && of("CARGO_CFG_TARGET_OS") == "linux" {
        let script = format!("{}/no-unwinding.ld", of("CARGO_MANIFEST_DIR"));
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{script}");
    }
}

//! Leaves out of a released program what only unwinding reads: a panic there ends the process at once.

use std::path::Path;
use std::{env, fs};

fn main() {
    const SCRIPT: &str = "no-unwinding.ld";
    println!("cargo::rerun-if-changed={SCRIPT}");
    let of = |name| env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    // Cargo remembers the path, and where a folder has moved it knows that of this one alone.
    let script = Path::new(&of("OUT_DIR")).join(SCRIPT);
    fs::copy(SCRIPT, &script).expect("the folder that cargo made can be written");
    // Without its own tables the unwinder ends the process of whoever asks for a backtrace, as RUST_BACKTRACE=1 does at
    // every error. A call without effect stands in for it: then there are no frames.
    let argument = format!(
        "-Wl,-T,{},--wrap=_Unwind_Backtrace,--defsym=__wrap__Unwind_Backtrace=getpid",
        script.display()
    );
    println!("cargo::rustc-env=TARE_NO_UNWINDING={argument}");
    if of("PROFILE") == "release" {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

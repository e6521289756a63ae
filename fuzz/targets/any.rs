//! One target of `tare-fuzz`, named by `TARE_FUZZ`, fed by libFuzzer with what reaches new code.

#![no_main]

use std::sync::LazyLock;

use tare_fuzz::target::Target;
use tare_fuzz::{TARGETS, check_input};

static CHOSEN: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("TARE_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("TARE_FUZZ names no target: '{name}'"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Err(broken) = check_input(&CHOSEN, input) {
        panic!("{broken}");
    }
});

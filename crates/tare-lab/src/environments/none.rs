//! Environments where none can be entered: presets and ladders are known by their names.

use std::ffi::OsString;

use crate::provider::Provider;

pub mod ladders;
pub mod presets;

/// None.
pub const PROVIDERS: &[&Provider] = &[];

/// Does what the arguments of a program ask for as a way into an environment: none are.
pub fn answer(_: &[OsString]) -> Option<i32> {
    None
}

//! Environments on Windows: Windows itself, and WSL distributions. All others are known by name, and need
//! Linux.

use std::ffi::OsString;
use std::sync::{Arc, LazyLock};

use tare_data::session::specification::Specification;

use crate::error::{ErrorKind, LabError};
use crate::provider::Provider;
use crate::provider::naming::{self, Known};

pub use crate::provider::naming::Named;

pub mod everyday;
pub mod found;
pub mod ladders;
#[path = "native_on_windows.rs"]
pub(crate) mod native;
mod on_linux;
pub mod presets;
pub(crate) mod wsl;

/// All that can be entered from here, in the order in which they are listed.
pub static PROVIDERS: LazyLock<Vec<Arc<Provider>>> =
    LazyLock::new(|| [(native::PROVIDER)(), (wsl::PROVIDER)()].map(Arc::new).into());

/// Lists every provider.
pub fn list_providers() -> impl Iterator<Item = &'static Provider> {
    PROVIDERS.iter().map(|provider| &**provider)
}

/// Lists the launchers that come along, and whether tare's tests enter each: none, from here.
pub fn list_launchers() -> impl Iterator<Item = (&'static Provider, bool)> {
    std::iter::empty()
}

/// Parses a specification, or a preset's name for one.
pub fn parse_environment(text: &str) -> Result<Named, LabError> {
    find_environment(text.parse()?)
}

/// Finds the environment that a specification names, or that a preset's name stands for.
pub fn find_environment(specification: Specification) -> Result<Named, LabError> {
    let specification = presets::resolve_preset(specification)?;
    let name = specification.provider.as_str();
    let is_here = PROVIDERS.iter().any(|provider| provider.name == name);
    match !is_here && elsewhere(name) {
        true => {
            Err(LabError::new(ErrorKind::Environment, format!("cannot enter '{specification}' from Windows"))
                .with_cause(
                    "tare for Windows enters Windows itself (native) and distributions of WSL (wsl:NAME)",
                )
                .with_hint(
                    "run tare for Linux inside a distribution of WSL, which enters all others from there",
                ))
        }
        // Its providers themselves reject roots.
        false => {
            let (presets, root_ready) = (presets::list_preset_names, |_: &_| Ok(()));
            naming::find_environment(specification, &Known { providers: &PROVIDERS, presets, root_ready })
        }
    }
}

/// Tells whether tare for Linux can enter it.
fn elsewhere(name: &str) -> bool {
    on_linux::NAMES.contains(&name)
}

/// Does what the arguments of a program ask for as a way into an environment: none are.
pub fn run_subcommand(_: &[OsString]) -> Option<i32> {
    None
}

//! Launchers: any words that start a command somewhere else, with a template or without.

#[cfg(unix)]
mod differences;
#[cfg(unix)]
pub(crate) mod entering;
#[cfg(unix)]
mod inside_path;
#[cfg(unix)]
mod looking;
#[cfg(unix)]
pub(crate) mod relay;
pub mod schema;
pub mod shipped;
#[cfg(unix)]
pub(crate) mod template;
pub mod words;

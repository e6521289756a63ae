//! Where files are: places by name, and the file systems that a session makes for them.

pub(crate) mod file_systems;
#[cfg(unix)]
mod making;
#[cfg(unix)]
mod nodes;
#[cfg(unix)]
pub(crate) mod passthrough;
pub mod places;

#[cfg(unix)]
pub(crate) use self::making::Site;

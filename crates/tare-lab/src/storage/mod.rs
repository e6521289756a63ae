//! Places of files by name, and the file systems that a session makes for them.

pub(crate) mod file_systems;
#[cfg_attr(not(unix), path = "not_making.rs")]
mod making;
pub mod places;
mod site;
#[cfg(unix)]
pub(crate) mod turn_file;

pub(crate) use self::site::Site;

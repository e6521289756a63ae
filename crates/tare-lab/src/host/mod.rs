//! The host: programs, processes, control groups, mounts and devices of the machine that tare runs on.

#[cfg_attr(not(unix), path = "control_groups/not_here.rs")]
pub(crate) mod control_groups;
#[cfg(unix)]
pub mod descriptors;
#[cfg(unix)]
pub(crate) mod heard;
#[cfg(unix)]
pub(crate) mod loop_device;
pub mod machine;
pub(crate) mod namespace_names;
#[cfg(unix)]
pub(crate) mod network_device;
#[cfg(unix)]
pub mod network_namespace;
pub mod private_folder;
pub mod programs;
pub(crate) mod running;
pub(crate) mod waiting;
pub(crate) mod windows_text;
pub(crate) mod wsl_distributions;

pub use self::wsl_distributions::find_default_distribution;

#[cfg(windows)]
pub use crate::platform::console;
pub use crate::platform::{mounts, processes};

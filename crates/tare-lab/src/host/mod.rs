//! The host: programs, processes, mounts and devices of the machine that tare runs on.

pub mod descriptors;
pub(crate) mod loop_device;
pub(crate) mod loopback;
pub mod machine;
pub mod mounts;
pub(crate) mod network_device;
pub mod network_namespace;
pub(crate) mod private_folder;
pub mod processes;
pub mod programs;
pub(crate) mod running;
pub(crate) mod waiting;
pub(crate) mod windows_text;
pub(crate) mod wsl_distributions;

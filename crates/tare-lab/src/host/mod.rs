//! The host: programs, processes, mounts and devices of the machine that tare runs on.

pub mod loop_device;
pub mod loopback;
pub mod machine;
pub mod mounts;
pub mod network_device;
pub mod network_namespace;
pub mod processes;
pub mod programs;
pub mod waiting;
pub mod windows_text;
pub mod wsl_distributions;

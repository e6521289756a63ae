//! Doing it: studies, the plan, environments and the links into them.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

pub mod amount;
pub mod arena;
pub mod bring_up;
mod budget;
mod bundle;
pub mod clean;
pub mod command;
mod container_network;
mod control_groups;
mod counter;
mod disk;
mod distributions;
mod engine;
pub mod entered;
pub mod environments;
pub mod error;
pub mod extended_state;
pub mod file_systems;
pub mod ground;
pub mod guest;
pub mod guest_network;
mod initrd;
pub mod kernel;
pub mod kvm;
pub mod lab_network;
pub mod lanes;
pub mod link;
pub mod live;
mod loop_device;
mod loopback;
pub mod machine;
pub mod mounts;
pub mod nearest;
pub mod netem;
mod network_device;
pub mod network_namespace;
pub mod ownership;
pub mod peers;
pub mod places;
pub mod prepare;
pub mod presets;
mod private_mounts;
pub mod processes;
pub mod programs;
pub mod progress;
pub mod published;
mod root;
pub mod run;
mod share_server;
pub mod specification;
pub mod startup;
pub mod study;
pub mod study_schema;
mod windows_text;

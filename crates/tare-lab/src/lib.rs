//! Doing it: studies, the plan, environments and the links into them.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

pub mod amount;
pub mod arena;
mod bundle;
pub mod clean;
mod control_groups;
mod counter;
mod disk;
mod engine;
pub mod entered;
pub mod environments;
pub mod error;
mod extended_state;
pub mod file_systems;
pub mod ground;
pub mod guest;
mod initrd;
pub mod kernel;
pub mod kvm;
pub mod lanes;
pub mod link;
pub mod live;
mod loop_device;
mod loopback;
pub mod machine;
pub mod mounts;
pub mod nearest;
pub mod ownership;
pub mod places;
pub mod prepare;
mod private_mounts;
pub mod processes;
pub mod programs;
pub mod progress;
mod root;
pub mod published;
pub mod run;
pub mod specification;
pub mod study;

//! Shared parts of container providers: the root folder, the OCI bundle, engines, private mounts.

pub mod bundle;
pub mod call_filter;
mod daemon;
pub mod devices;
pub mod engine;
pub mod private_mounts;
pub mod root;
pub mod seccomp;
pub(crate) mod silent_mounts;
pub mod speculation;
pub mod steps;
pub(crate) mod tracing;
pub mod user_namespaces;
pub mod view;

//! Programs and files that probes bring along, since an environment may have none.

pub mod applets;
pub mod user_files;
pub mod variables;
pub mod workloads;

//! Programs and files that probes bring along, since an environment may have none.

pub(crate) mod applets;
pub(crate) mod program;
pub(crate) mod user_files;
pub mod variables;
pub(crate) mod workloads;

//! Programs and files that probes bring along, since an environment may have none.

#[cfg(unix)]
pub(crate) mod applets;
#[cfg(unix)]
pub(crate) mod company;
#[cfg(unix)]
pub(crate) mod computing;
#[cfg(windows)]
pub(crate) mod nothing;
#[cfg(unix)]
pub(crate) mod program;
#[cfg(unix)]
pub(crate) mod step;
#[cfg(unix)]
pub(crate) mod user_files;
#[cfg(unix)]
pub(crate) mod workloads;
#[cfg(unix)]
pub(crate) mod written;

#[cfg(windows)]
pub(crate) use nothing as user_files;

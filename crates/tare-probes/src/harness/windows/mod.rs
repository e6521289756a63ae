//! Parts of the harness on Windows: timed calls, files, affinity, and the other process of a handover.

pub mod affinity;
pub(crate) mod calls;
pub(crate) mod files;
pub(crate) mod partner;

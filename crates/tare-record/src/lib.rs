//! Records: the journal of a session, written as it happens and read back whole.
//!
//! A record holds raw figures and facts, never a conclusion.

// On Windows a lock is a call of the system's.
#![cfg_attr(unix, forbid(unsafe_code))]
#![cfg_attr(not(unix), deny(unsafe_code))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod assembly;
pub mod entry;
pub mod error;
pub mod input;
mod lines;
pub mod locks;
mod moments;
mod packed;
mod platform;
pub mod reader;
mod room;
mod shelf;
pub mod writer;

pub use entry::Entry;
pub use error::RecordError;
pub use reader::{
    Contents, ImportedRecord, Recording, is_record, parse_header, read_header, read_record, read_session,
    read_session_in,
};
pub use room::MOST_BATCHES;
pub use writer::Writer;

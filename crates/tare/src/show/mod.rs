//! Showing a session or imported results, in every format that commands offer.

pub mod again;
pub mod dry_run;
pub mod full_size;
pub mod imported;
pub mod pasting;
pub mod published;
pub mod running;
pub mod session;

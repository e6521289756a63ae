//! Reports: pure functions from findings to bytes.
//!
//! Nothing here computes a statistic, reads a file or asks the terminal: the content comes from
//! [`tare_analysis::findings::Findings`], the form from the options that the caller passes.
//! A record is untrusted: every text from it goes through `text::clean_text` before it is shown.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]
// Tests may read files and clocks.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

mod answers;
mod calls;
pub mod carried;
pub mod exports;
pub mod facts;
pub mod fleet;
pub mod gate;
pub mod here;
pub mod html;
pub mod imported;
pub mod json;
pub mod language;
pub mod markdown;
mod notes;
pub mod number;
pub mod paste;
pub mod progress;
pub mod published;
pub mod several;
pub(crate) mod sparkline;
#[cfg(test)]
mod specimen;
mod summary;
pub mod terminal;
pub mod text;
pub mod view;
pub mod warnings;
mod words;

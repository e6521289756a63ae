//! The documents: generated pages are up to date, examples work, and links lead somewhere.
//!
//! `UPDATE_DOCS=1 cargo test -p tare --test documents` rewrites pages that differ.

#![allow(clippy::disallowed_methods, reason = "tests start what they look for by name")]

mod book;
mod cli;
mod commands;
mod console;
mod constants;
mod costs;
mod environments;
mod examples;
#[path = "../../src/exit.rs"]
#[allow(dead_code)]
mod exit;
mod front_page;
mod licences;
mod links;
mod probes;
mod recipes;
mod studies;

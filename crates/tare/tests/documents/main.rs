//! The documents: generated pages stand as the code would write them, examples do what they say, links lead
//! somewhere.
//!
//! `UPDATE_DOCS=1 cargo test -p tare --test documents` writes anew what differs.

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

//! Commands: tare understands every command that a document shows.

use std::fs;

use clap::Parser;

use crate::book;
use crate::console::split_words;

#[path = "../../src/args.rs"]
#[allow(dead_code)]
pub mod args;

/// Extracts the commands from a document's shell fences, without comments and pipes.
fn commands(text: &str) -> Vec<Vec<String>> {
    let fences = book::find_fences(text).into_iter().filter(|fence| fence.split_info().0 == "sh");
    let bodies = fences.map(|fence| text[fence.body].replace("\\\n", " "));
    let lines: Vec<String> =
        bodies.flat_map(|body| body.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let typed = lines.iter().map(|line| line.split(['#', '|']).next().unwrap_or_default());
    typed.filter(|line| line.starts_with("tare ")).map(split_words).collect()
}

#[test]
fn every_command_for_a_shell_is_understood() {
    let mut understood = 0;
    for path in book::list_documents() {
        for command in commands(&fs::read_to_string(&path).unwrap()) {
            if let Err(error) = args::Args::try_parse_from(&command) {
                panic!("{}: {command:?}: {error}", path.display());
            }
            understood += 1;
        }
    }
    assert!(understood > 10, "only {understood} commands were found");
}

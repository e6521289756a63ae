//! Words of the command line: options, a study or commands, and for those that can be none of these the line to type.
//!
//! Words are read before options are parsed, and reading measures nothing. Words after `--` are a command's, as they stand.

mod leads;
mod line;
mod names;
mod options;
mod reading;
mod run;
mod subcommands;
#[cfg(test)]
mod tests;
mod values;

use tare_lab::error::LabError;

use self::line::{IN, Line};
pub use self::options::parse_arguments;
pub use self::reading::{Machine, Reading};
use crate::args::help::command_line;

/// Reads the words after the program's name.
pub fn read_words(words: &[String], machine: &Machine<'_>) -> Result<Reading, LabError> {
    let as_typed = || Ok(Reading::as_typed(words));
    let Some(first) = words.first() else { return as_typed() };
    match first.as_str() {
        "version" | "-v" if words.len() == 1 => return Ok(Reading::as_typed(&["--version".to_owned()])),
        "help" | "-h" | "--help"
            if words[1..].iter().any(|word| matches!(word.as_str(), "--all" | "all")) =>
        {
            return Ok(Reading::as_typed(&["--all".to_owned()]));
        }
        "--all" | "-h" | "--help" | "-V" | "--version" | "help" => return as_typed(),
        _ => {}
    }
    let commands = command_line();
    let name = if first == "ls" { "list" } else { first.as_str() };
    let Some(command) = commands.find_subcommand(name) else {
        return Err(subcommands::refuse_command(first, &words[1..], machine));
    };
    let line = Line::read(command, &words[1..]);
    // Options behind a program may be that one's.
    let own = leads::list_own_words(&line, machine);
    if own.iter().any(|word| matches!(word.as_str(), "-h" | "--help")) {
        return as_typed();
    }
    options::check_dashes(command, own, &words[1..])?;
    leads::check_missing(&line)?;
    let names = |option: &str| own.iter().any(|word| word.split('=').next() == Some(option));
    if names(IN) {
        values::check_environments(&line, machine)?;
    }
    if names("--like") {
        values::check_article(&line)?;
    }
    if line.has_unknown_option() {
        return Ok(Reading::as_typed(&[&[name.to_owned()], &words[1..]].concat()));
    }
    let read = match name {
        "run" => run::read_run(&line, machine)?,
        _ => subcommands::read_others(&line, machine)?,
    };
    Ok(read.unwrap_or_else(|| Reading::as_typed(&[&[name.to_owned()], &words[1..]].concat())))
}

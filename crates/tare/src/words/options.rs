//! Options of other tools, and options that are written otherwise there: the line to type here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind as ClapKind};
use clap::{Command, FromArgMatches};
use tare_lab::environments::everyday::{EVERYDAY, Habit};
use tare_lab::error::LabError;
use tare_lab::find_nearest;
use tare_report::language::Language;

use super::line::{find_long, show_line};
use super::names::{find_layer, is_study};
use crate::args::Args;
use crate::args::help::{build_command_line, command_line};
use crate::command_error::CommandError;
use crate::ui;

/// Parses words, or exits with an error that has the line to type.
pub fn parse_arguments(words: Vec<OsString>) -> Result<Args, CommandError> {
    parse_words(words, ui::find_language()).map_err(|unparsed| match unparsed {
        Unparsed::Refused(refused) => refused.into(),
        Unparsed::Other(error) => error.exit(),
    })
}

/// The reason why words cannot be parsed.
#[derive(Debug)]
pub enum Unparsed {
    Refused(LabError),
    /// Help, or a refusal of the parser's own.
    Other(Box<Error>),
}

/// Parses words into arguments.
pub fn parse_words(words: Vec<OsString>, language: Language) -> Result<Args, Unparsed> {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = std::iter::once(OsString::from("tare"));
    let parsed = build_command_line(language)
        .try_get_matches_from(program.chain(words))
        .and_then(|matches| Args::from_arg_matches(&matches));
    parsed.map_err(|error| match explain_option(&error, &texts) {
        Some(refused) => Unparsed::Refused(refused),
        None => Unparsed::Other(Box::new(error)),
    })
}

/// Explains an option, or a word, that a command does not take.
fn explain_option(error: &Error, words: &[String]) -> Option<LabError> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ClapKind::UnknownArgument {
        return None;
    }
    let name = given.split('=').next().unwrap_or_default();
    let commands = command_line();
    let mut command = &commands;
    let mut path = vec!["tare"];
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        (command, path) = (below, [path, vec![below.get_name()]].concat());
    }
    let path = path.join(" ");
    if !name.starts_with('-') {
        let refused = LabError::usage_error(format!("{path} takes no word '{given}'"));
        return Some(refused.with_hint(format!("{path} -h shows what it takes")));
    }
    let refused = LabError::usage_error(format!("{path} has no option '{name}'"));
    let renamed = Habit::find_instead(&EVERYDAY.renamed, name);
    if let Some(here) = renamed.filter(|here| here.is_empty() || find_long(command, &here[2..]).is_some()) {
        return Some(refused.with_hint(show_line(&rename(words, name, here))));
    }
    if let Some(instead) = Habit::find_instead(&EVERYDAY.options, name) {
        return Some(refused.with_hint(instead));
    }
    // An environment's or a study's name is read as one.
    let bare = name.trim_start_matches('-');
    if let Some(environment) = find_layer(bare).filter(|_| find_long(command, "in").is_some()) {
        let line = show_line(&rename(words, name, &format!("--in={environment}")));
        return Some(refused.with_hint(line.replace("--in=", "--in ")));
    }
    if is_study(bare) && command.get_name() == "run" {
        return Some(refused.with_hint(show_line(&rename(words, name, bare))));
    }
    let longs: Vec<String> = command
        .get_arguments()
        .filter_map(|argument| argument.get_long())
        .map(|long| format!("--{long}"))
        .collect();
    Some(match find_nearest(name, longs.iter().map(String::as_str)) {
        Some(near) => refused.with_hint(format!("did you mean '{near}'?")),
        None => refused.with_hint(format!("{path} --help lists its options; a command's own follow --")),
    })
}

/// Puts an option of here in place of one; a bare number is a time in seconds.
fn rename(words: &[String], name: &str, here: &str) -> Vec<String> {
    let mut renamed = Vec::new();
    let mut is_value = false;
    for word in words {
        let (begin, value) =
            word.split_once('=').map_or((word.as_str(), None), |(begin, value)| (begin, Some(value)));
        let in_seconds = |value: &str| match here == "--budget" && value.parse::<u32>().is_ok() {
            true => format!("{value}s"),
            false => value.to_owned(),
        };
        if begin == name && !renamed.contains(&here.to_owned()) {
            renamed.extend(Some(here.to_owned()).filter(|here| !here.is_empty()));
            renamed.extend(value.map(in_seconds));
            is_value = value.is_none();
        } else {
            renamed.push(if std::mem::take(&mut is_value) { in_seconds(word) } else { word.clone() });
        }
    }
    renamed
}

/// Refuses a long option with a single dash, or with the dash of a word processor.
pub fn check_dashes(command: &Command, own: &[String], words: &[String]) -> Result<(), LabError> {
    for word in own.iter().filter(|word| word.starts_with(['-', '–', '—'])) {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), ""), |(name, _)| (name, &word[name.len()..]));
        let bare = name.trim_start_matches(['-', '–', '—']);
        let is_right = name.starts_with("--") || bare.chars().count() < 2;
        if is_right || find_long(command, bare).is_none() {
            continue;
        }
        let meant = format!("--{bare}{value}");
        let all = words.iter().map(|given| if given == word { meant.clone() } else { given.clone() });
        let all: Vec<String> = std::iter::once(command.get_name().to_owned()).chain(all).collect();
        return Err(LabError::usage_error(format!("'{word}' is not an option"))
            .with_cause("names of options follow two dashes")
            .with_hint(show_line(&all)));
    }
    Ok(())
}

//! Habits from other tools: names of commands and options that people type, and their equivalents here.

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind as ClapKind};
use tare_data::names::matches_pattern;
use tare_lab::environments::presets::PRESETS;
use tare_lab::environments::{PROVIDERS, list_launchers};
use tare_lab::error::LabError;
use tare_lab::find_nearest;
use tare_lab::study::{SHIPPED, list_probes};

use crate::args::Args;
use crate::args::help::{build_command_line, command_line};
use crate::ui;

/// Commands of other tools.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["bench", "benchmark", "measure", "start"], "'tare run' runs measurements"),
    (
        &["diff", "cmp"],
        "'tare compare OLD --to NEW' compares records; 'tare run --in A,B' compares environments",
    ),
    (&["pool", "join", "merge"], "'tare compare --together RECORDS' combines records"),
    (
        &["price", "cost", "costs"],
        "'tare explain --prices' shows the price of each kind of work in environments",
    ),
    (&["predict", "forecast"], "'tare explain --forecast --in NAME -- COMMAND' forecasts its time"),
    (&["sql", "query"], "'tare fleet report' writes tables below FOLDER/store, which DuckDB reads"),
    (
        &["completions", "completion", "man", "licences", "licenses", "license"],
        "'tare self' prints completions, manual pages and licences",
    ),
    (&["install", "setup", "prepare"], "'tare environment prepare NAME' sets up an environment"),
    (&["view", "open", "print", "html"], "'tare report RECORD' shows a session again"),
    (&["ls", "probes", "environments", "studies"], "'tare list' lists them"),
    (&["info", "describe"], "'tare show NAME' describes a probe, environment, study or article"),
    (&["doctor", "status", "test"], "'tare check' shows which environments are ready"),
];

/// Options of other tools.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["--env", "--envs", "--environment", "--environments", "-e"], "--in NAME,NAME chooses environments"),
    (
        &["--export-json"],
        "--export json=FILE writes a document; 'tare run --export-json FILE -- COMMAND' writes hyperfine's",
    ),
    (&["--export-csv"], "--csv prints the table; --export csv=FILE writes it"),
    (&["--export-markdown"], "--markdown prints the table; --export markdown=FILE writes it"),
    (
        &["--cleanup", "-c"],
        "--conclude COMMAND runs after each run; files that a command writes are discarded with its environment",
    ),
    (
        &["--runs", "-r", "--iterations", "--repeat"],
        "--rounds N runs exactly N rounds of a session; 'tare run -r N -- COMMAND' runs a command N times",
    ),
    (
        &["--min-runs", "-m", "--max-runs", "-M"],
        "--rounds N runs exactly N rounds; --budget TIME limits the whole session",
    ),
    (
        &["--warmup", "-w"],
        "probes warm up automatically; 'tare run -w N -- COMMAND' runs a command N times before timing it",
    ),
    (&["--time", "--duration", "-l", "-t", "--timeout"], "--budget TIME limits the whole session"),
    (&["--quiet", "-q", "--silent", "-s"], "progress goes to standard error; 2>/dev/null hides it"),
    (&["--verbose", "-v"], "'tare report --wide' shows every metric, and --facts how environments differ"),
    (
        &["--threads", "-j"],
        "the number of threads is a parameter in a study; 'tare show file.queue' lists a probe's parameters",
    ),
    (
        &["--output", "-o"],
        "--record FILE names the record, and --export FORMAT=FILE writes another format; 'tare run --output null|pipe' redirects a command's output",
    ),
    (
        &["--color", "--colour", "--no-color"],
        "set NO_COLOR=1 to turn colours off; they are off unless the output is a terminal",
    ),
    (&["--probe", "--probes", "--test", "--tests", "-p"], "--only NAME,NAME chooses probes"),
    (&["--baseline", "--reference-env"], "--against NAME chooses the baseline"),
];

/// Parses the arguments, or exits with an error that suggests the equivalent here.
pub fn parse_arguments() -> Args {
    let parsed = build_command_line(ui::find_language())
        .try_get_matches()
        .and_then(|matches| Args::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| explained(error).exit())
}

fn explained(mut error: Error) -> Error {
    let known = match error.kind() {
        ClapKind::UnknownArgument => (ContextKind::InvalidArg, OPTIONS),
        ClapKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, COMMANDS),
        _ => return error,
    };
    let Some(ContextValue::String(given)) = error.get(known.0).cloned() else { return error };
    let name = given.split('=').next().unwrap_or_default();
    let instead = known.1.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead);
    let is_similar = error.get(ContextKind::SuggestedArg).is_some();
    match (instead, error.kind()) {
        (Some(instead), _) => {
            error.remove(ContextKind::SuggestedArg);
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
        }
        (None, ClapKind::InvalidSubcommand) if !is_similar => {
            let commands = command_line();
            let names = commands.get_subcommands().map(|command| command.get_name());
            if let Some(near) = find_nearest(name, names) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(near.to_owned()));
            }
        }
        // An option that is misspelt is not a value that begins with a dash.
        (None, ClapKind::UnknownArgument) if !is_similar => {
            error.remove(ContextKind::Suggested);
        }
        _ => {}
    }
    error
}

/// Explains a name that is not a study's but an environment's or a probe's, which options choose.
pub fn not_a_study(name: &str) -> Option<LabError> {
    let first = name.split([':', '?', ',']).next().unwrap_or_default();
    let launchers = list_launchers().map(|(launcher, _)| launcher.name.as_str());
    let is_environment =
        PROVIDERS.iter().map(|provider| provider.name.as_str()).chain(PRESETS.iter().map(|p| p.name));
    let instead = if SHIPPED.iter().any(|(study, _)| *study == first) || name.ends_with(".toml") {
        return None;
    } else if is_environment.chain(launchers).any(|environment| environment == first) {
        format!("it is an environment: tare run --in {name}")
    } else if list_probes().any(|probe| name.split(',').any(|pattern| matches_pattern(pattern, probe.name))) {
        format!("it names probes: tare run --only '{name}'")
    } else {
        return None;
    };
    Some(LabError::usage_error(format!("there is no study '{name}'")).with_hint(instead))
}

//! Habits: what people type who know other tools, and what it is called here.

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind as ClapKind};
use tare_data::names::matches;
use tare_lab::environments::PROVIDERS;
use tare_lab::environments::presets::PRESETS;
use tare_lab::error::LabError;
use tare_lab::nearest;
use tare_lab::study::{SHIPPED, probes};

use crate::args::{Args, command_line};

/// Commands of other tools.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["bench", "benchmark", "measure", "start"], "'tare run' measures"),
    (
        &["diff", "cmp"],
        "'tare compare OLD --to NEW' compares two records; 'tare run --in A,B' compares environments",
    ),
    (&["pool", "join", "merge"], "'tare compare --together RECORDS' joins records"),
    (&["prices", "price"], "'tare explain --prices' shows what environments charge"),
    (&["predict", "forecast"], "'tare explain --forecast --in NAME -- COMMAND' forecasts"),
    (&["sql", "query"], "'tare fleet query' takes questions in SQL"),
    (
        &["completions", "completion", "man", "licences", "licenses", "license"],
        "'tare self' prints completions, manual pages and licences",
    ),
    (
        &["install", "setup", "prepare"],
        "'tare environment prepare NAME' makes what an environment needs once",
    ),
    (&["view", "open", "print", "html"], "'tare report RECORD' shows a session again"),
    (&["ls", "probes", "environments", "studies"], "'tare list' names everything"),
    (&["info", "describe"], "'tare show NAME' explains anything that has a name"),
    (&["doctor", "status", "test"], "'tare check' names the environments that are ready"),
];

/// Options of other tools.
const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["--env", "--envs", "--environment", "--environments", "-e"],
        "environments are named by --in NAME,NAME",
    ),
    (
        &["--export-json"],
        "--export json=FILE writes a document; 'tare run --export-json FILE -- COMMAND' writes hyperfine's",
    ),
    (&["--export-csv"], "--csv prints the table; --export csv=FILE writes it"),
    (&["--export-markdown"], "--markdown prints the table; --export markdown=FILE writes it"),
    (&["--cleanup", "-c"], "--conclude runs after each run; what a command writes ends with its environment"),
    (
        &["--runs", "-r", "--iterations", "--repeat"],
        "--rounds N runs exactly N rounds of a session; 'tare run -r N -- COMMAND' runs a command N times",
    ),
    (
        &["--min-runs", "-m", "--max-runs", "-M"],
        "--rounds N runs exactly N rounds; --budget TIME is the most that a session takes",
    ),
    (
        &["--warmup", "-w"],
        "each trial warms up by itself; 'tare run -w N -- COMMAND' runs a command N times before it is timed",
    ),
    (&["--time", "--duration", "-l", "-t", "--timeout"], "--budget TIME is the time for the whole session"),
    (&["--quiet", "-q", "--silent", "-s"], "progress goes to standard error: 2>/dev/null leaves the table"),
    (&["--verbose", "-v"], "'tare report --wide' shows every figure, and --facts every fact"),
    (
        &["--threads", "-j"],
        "threads are a parameter of a case: 'tare show file.queue' names those of a probe",
    ),
    (
        &["--output", "-o"],
        "--record FILE names the record, --export FORMAT=FILE writes another form; 'tare run --output null|pipe' is about a command's output",
    ),
    (
        &["--color", "--colour", "--no-color"],
        "colours obey NO_COLOR, and are left out where nothing shows them",
    ),
    (&["--probe", "--probes", "--test", "--tests", "-p"], "probes are chosen by --only NAME,NAME"),
    (&["--baseline", "--reference-env"], "--against NAME chooses the baseline"),
];

/// Parses the arguments, or ends the program with what they are called here.
pub fn arguments() -> Args {
    let parsed = command_line().try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
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
            if let Some(near) = nearest(name, names) {
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

/// What a name is that is not a study's: an environment or a probe, which are chosen by options.
pub fn not_a_study(name: &str) -> Option<LabError> {
    let first = name.split([':', '?', ',']).next().unwrap_or_default();
    let is_environment = PROVIDERS.iter().map(|provider| provider.name).chain(PRESETS.iter().map(|p| p.name));
    let instead = if SHIPPED.iter().any(|(study, _)| *study == first) || name.ends_with(".toml") {
        return None;
    } else if is_environment.into_iter().any(|environment| environment == first) {
        format!("it is an environment: tare run --in {name}")
    } else if probes().any(|probe| name.split(',').any(|pattern| matches(pattern, probe.name))) {
        format!("it names probes: tare run --only '{name}'")
    } else {
        return None;
    };
    Some(LabError::usage(format!("there is no study '{name}'")).hint(instead))
}

//! `tare here`: names the layers around this process from inside, its limits, and what to change.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use tare_data::facts::keys::KERNEL_NAME;

use tare_analysis::here::changes::choose_changes;
use tare_analysis::here::command::split_time;
use tare_analysis::here::costs::{Durability, compute_costs, find_durability};
use tare_analysis::here::layers::Confidence;
use tare_analysis::here::limits::{is_stolen, read_limits};
use tare_analysis::here::recognise_layers;
use tare_data::session::demand::RanTwice;
use tare_lab::error::{ErrorKind, LabError};
use tare_probes::here::{Extent, Place, Wanted, collect_surroundings, run_twice};
use tare_report::here::{Here, render_here_json, render_here_terminal};
use tare_report::text::plain_line;

use crate::args;
use crate::args::here::{Condition, Part};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::platform::list_variables;
use crate::{paths, ui};

/// Time after which no further step begins, in ms: tidying and printing have the rest of three seconds, or of ten.
const LONGEST_MS: u64 = 2_300;
const LONGEST_THOROUGH_MS: u64 = 8_500;

pub fn run_here(args: &args::Here) -> Result<Exit, CommandError> {
    let (surroundings, left) = collect_surroundings(&want_answer(args));
    let found = recognise_layers(&surroundings.facts);
    let limits = read_limits(&surroundings.facts);
    let costs = compute_costs(&surroundings.facts, &found);
    let changes = choose_changes(&surroundings.facts, &found, &limits, &costs);
    let ran = match args.words.as_slice() {
        [] => None,
        words => Some(run_command(words, args.yes)?),
    };
    let split = ran.as_ref().map(|ran| split_time(ran, &costs));
    let here = Here {
        surroundings: &surroundings,
        found: &found,
        limits: &limits,
        costs: &costs,
        changes: &changes,
        command: ran.as_ref().zip(split.as_ref()),
    };
    ui::print_text(
        &match args.json {
            true => render_here_json(&here),
            false => render_here_terminal(&here, args.wide, ui::measure_width(), ui::find_language()),
        },
        args.json,
    )?;
    for (folder, became) in left.0 {
        ui::print_note(&format!("note: {}: {}", plain_line(&folder), plain_line(&became)));
    }
    let is_told = |name: &str| {
        found.layers.iter().any(|layer| layer.name == name && layer.confidence > Confidence::Possible)
    };
    let is_met = |condition: &Condition| match condition {
        Condition::In(name) => is_told(name),
        Condition::Slower(of) => {
            costs.iter().any(|cost| of.includes(cost.operation) && cost.answer.kind().is_slower())
        }
        Condition::Steal => is_stolen(&limits),
        Condition::Quota => limits.cpu.is_some() || limits.hidden_cpu.is_some(),
        Condition::NoSync => matches!(
            find_durability(&surroundings.facts, &costs),
            Some(Durability::Nothing | Durability::NoLonger)
        ),
    };
    Ok(match () {
        () if args.fail_if.iter().any(is_met) => Exit::Gate,
        () if surroundings.facts.get(KERNEL_NAME).is_none() => Exit::Environment,
        () => Exit::Done,
    })
}

fn want_answer(args: &args::Here) -> Wanted {
    let extent = match (args.only, args.thorough) {
        (Some(Part::Where), _) => Extent::Where,
        (None, true) => Extent::Thorough,
        (None, false) => Extent::Usual,
    };
    Wanted {
        extent,
        variables: list_variables(),
        places: list_places(),
        references: list_references(),
        longest_ms: if extent == Extent::Thorough { LONGEST_THOROUGH_MS } else { LONGEST_MS },
    }
}

/// Runs a command twice. Its user is told before, and asked at a terminal.
fn run_command(words: &[String], yes: bool) -> Result<RanTwice, CommandError> {
    let [name, ..] = words else { return Err(LabError::usage_error("no command was given").into()) };
    if std::io::stdin().is_terminal() && !yes {
        return Err(LabError::usage_error("the command runs twice: whatever it does happens twice")
            .with_hint("tare here --yes -- COMMAND")
            .into());
    }
    eprintln!(
        "{}",
        ui::find_language().word("note: the command runs twice: timed, then counted without output")
    );
    let program = paths::find_programs()?.find(name);
    let program = program.ok_or_else(|| LabError::usage_error(format!("{name}: no such program")))?;
    let this_program = std::env::current_exe().map_err(|e| {
        LabError::new(ErrorKind::Environment, "this program does not find itself").with_cause(e)
    })?;
    // Not as the folders of short steps, which are removed after a minute.
    let folder = tempfile::Builder::new().prefix("tare-command-").tempdir();
    let folder =
        folder.map_err(|e| LabError::new(ErrorKind::Storage, "cannot make a folder").with_cause(e))?;
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let ran = run_twice(&this_program, &program, &words, folder.path());
    ran.map_err(|e| LabError::usage_error(format!("cannot run {name}")).with_cause(e).into())
}

/// Lists the folders in which people work. None of them is opened by this process.
fn list_places() -> Vec<Place> {
    let variable = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let all = [
        ("work", std::env::current_dir().ok()),
        ("tmp", Some(std::env::temp_dir())),
        ("home", variable("HOME")),
    ];
    all.into_iter().filter_map(|(role, path)| Some(Place { role, path: path? })).collect()
}

/// Lists folders that are on a file system of this environment where there is one, those in memory first.
pub fn list_references() -> Vec<PathBuf> {
    vec!["/dev/shm".into(), std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
}

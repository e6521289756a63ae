//! `tare here`: names the layers around this process from inside, its limits, and what to change.

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use tare_data::facts::Facts;
use tare_data::facts::keys::{COMMAND_WORDS, KERNEL_NAME, KERNEL_RELEASE, TAKEN_AT};

use tare_analysis::here::changes::choose_changes;
use tare_analysis::here::command::{RanThere, split_time};
use tare_analysis::here::costs::pair::{list_operations, pair_with};
use tare_analysis::here::costs::{Durability, Operation, compute_costs, find_durability};
use tare_analysis::here::layers::Confidence;
use tare_analysis::here::limits::{is_stolen, read_limits};
use tare_analysis::here::{list_layer_names, recognise_layers};
use tare_data::session::demand::RanTwice;
use tare_data::session::outcome::hash_bytes;
use tare_lab::error::{ErrorKind, LabError};
use tare_probes::here::{Extent, Place, Wanted, collect_surroundings, run_twice};
use tare_report::here::{Earlier, Here, parse_here_json, render_here_json, render_here_terminal};
use tare_report::language::Language;
use tare_report::text::plain_line;

use crate::args;
use crate::args::here::{Condition, Operations, Part};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::outputs::write_file;
use crate::platform::list_variables;
use crate::show::pasting;
use crate::{paths, ui};

/// Time after which no further step begins, in ms: tidying and printing have the rest of three seconds, or of ten.
const LONGEST_MS: u64 = 2_300;
const LONGEST_THOROUGH_MS: u64 = 8_500;
/// Bytes of a document of another place: a thorough one has some dozens of KiB.
const MOST_BYTES: u64 = 1 << 20;

/// Columns of a text to paste, which is not wrapped again where it is read.
const PASTED: usize = 100;

pub fn run_here(args: &args::Here) -> Result<Exit, CommandError> {
    args.fail_if.iter().try_for_each(|condition| check_condition(condition, args))?;
    let earlier = args.against.as_deref().map(read_earlier).transpose()?;
    let (mut surroundings, left) = collect_surroundings(&want_answer(args));
    let taken_at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    surroundings.facts.add_fact(TAKEN_AT, taken_at.to_string());
    let found = recognise_layers(&surroundings.facts);
    let limits = read_limits(&surroundings.facts);
    let costs = compute_costs(&surroundings.facts, &found);
    let changes = choose_changes(&surroundings.facts, &found, &limits, &costs);
    let ran = match args.words.as_slice() {
        [] => None,
        words => Some(run_command(words, args, &mut surroundings.facts)?),
    };
    let pair = earlier.as_ref().map(|earlier| pair_with(&surroundings.facts, &earlier.facts));
    let there = ran.as_ref().zip(earlier.as_ref());
    let there = there.map(|(ran, earlier)| find_there(earlier, &surroundings.facts, ran)).transpose();
    let there = there.map_err(ui::print_note).unwrap_or_default();
    let split = ran.as_ref().map(|ran| split_time(ran, &costs, pair.as_ref().zip(there.as_ref())));
    let here = Here {
        surroundings: &surroundings,
        found: &found,
        limits: &limits,
        costs: &costs,
        changes: &changes,
        pair: pair.as_ref(),
        command: ran.as_ref().zip(split.as_ref()),
    };
    if let Some(file) = &args.save {
        write_file(file, render_here_json(&here).as_bytes())?;
    }
    ui::print_text(
        &match args.json {
            true => render_here_json(&here),
            false if args.paste => {
                let kernel = surroundings.facts.get(KERNEL_RELEASE).unwrap_or("unknown");
                let text = render_here_terminal(&here, false, PASTED, Language::English);
                pasting::paste_lines(&format!("kernel   {kernel}\n{text}"))
            }
            false => render_here_terminal(&here, args.wide, ui::measure_width(), ui::find_language()),
        },
        args.json || args.paste,
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
            let costs = pair.as_ref().map_or(&costs, |pair| &pair.costs);
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

/// Refuses a condition that no answer of this call can meet.
fn check_condition(condition: &Condition, args: &args::Here) -> Result<(), LabError> {
    let (kind, name, known): (&str, &str, Vec<&str>) = match condition {
        Condition::Slower(_) if args.only.is_some() => {
            return Err(LabError::usage_error("--only where times nothing, and nothing is slower then")
                .with_hint("leave out --only, or the condition"));
        }
        Condition::In(name) => ("layer", name.as_str(), list_layer_names().into_iter().collect()),
        Condition::Slower(Operations::Named(name)) => {
            let operations = list_operations(args.against.is_some()).into_iter();
            ("operation", name.as_str(), operations.map(Operation::name).collect())
        }
        _ => return Ok(()),
    };
    match known.contains(&name) {
        true => Ok(()),
        false => {
            Err(LabError::usage_error(format!("--fail-if: no {kind} that can be told is called {name}"))
                .with_hint(format!("there are {}", known.join(", "))))
        }
    }
}

/// Reads the document of another place, which may be of anybody.
fn read_earlier(file: &Path) -> Result<Earlier, LabError> {
    let mut bytes = Vec::new();
    let read = std::fs::metadata(file).and_then(|about| match about.is_file() {
        true => File::open(file)?.take(MOST_BYTES + 1).read_to_end(&mut bytes),
        false => Err(std::io::Error::other("it is not a file")),
    });
    read.map_err(|e| LabError::storage_error("read", file)(e))?;
    let parsed = match bytes.len() as u64 > MOST_BYTES {
        true => Err("it is too long for a document of tare here".to_owned()),
        false => parse_here_json(&bytes),
    };
    parsed.map_err(|reason| {
        LabError::usage_error(format!("{}: {reason}", file.display()))
            .with_hint("tare here --save here.json, in the other place, writes one")
    })
}

/// Checks if this place is one of two that are compared.
fn is_pair(args: &args::Here) -> bool {
    args.save.is_some() || args.against.is_some()
}

fn want_answer(args: &args::Here) -> Wanted {
    let extent = match args.only {
        Some(Part::Where) => Extent::Where,
        // A pair rests on times of two processes, each of which has states that last: it takes as many as fit.
        None if args.thorough || is_pair(args) => Extent::Thorough,
        None => Extent::Usual,
    };
    Wanted {
        extent,
        variables: list_variables(),
        places: list_places(),
        references: list_references(),
        longest_ms: if args.thorough { LONGEST_THOROUGH_MS } else { LONGEST_MS },
    }
}

/// Runs a command twice, and adds times of files that it read. Its user is told before, and asked at a terminal.
fn run_command(words: &[String], args: &args::Here, facts: &mut Facts) -> Result<RanTwice, CommandError> {
    let [name, ..] = words else { return Err(LabError::usage_error("no command was given").into()) };
    if std::io::stdin().is_terminal() && !args.yes {
        return Err(LabError::usage_error("the command runs twice: whatever it does happens twice")
            .with_hint("tare here --yes -- COMMAND")
            .into());
    }
    let language = ui::find_language();
    ui::print_note(language.word("note: the command runs twice: timed, then counted without output"));
    let program = paths::find_programs()?.find(name);
    let program = program.ok_or_else(|| LabError::usage_error(format!("{name}: no such program")))?;
    let this_program = std::env::current_exe().map_err(|e| {
        LabError::new(ErrorKind::Environment, "this program does not find itself").with_cause(e)
    })?;
    // A document has standard output for itself.
    let output: Stdio = if args.json || args.paste { std::io::stderr().into() } else { Stdio::inherit() };
    let given: Vec<OsString> = words.iter().map(OsString::from).collect();
    let place = std::env::temp_dir();
    let place = place.canonicalize().unwrap_or(place);
    let ran = run_twice(&this_program, (&*program, &given[..]), output, &place, is_pair(args));
    let (ran, of_files) =
        ran.map_err(|e| LabError::usage_error(format!("cannot run {name}")).with_cause(e))?;
    facts.0.extend(of_files.0);
    // So few digits tell commands apart, and tell nobody which one it was.
    facts.add_fact(COMMAND_WORDS, format!("{:04x}", hash_bytes(words.join("\0").as_bytes()) % (1 << 16)));
    Ok(ran)
}

/// Finds the run of the same command in the other place, or gives the reason why there is none to compare with.
fn find_there(earlier: &Earlier, facts: &Facts, ran: &RanTwice) -> Result<RanThere, &'static str> {
    let language = ui::find_language();
    Err(match earlier.ran() {
        None => language.word("note: the command's time is not compared: none ran in the other place"),
        Some(_) if earlier.facts.get(COMMAND_WORDS) != facts.get(COMMAND_WORDS) => {
            language.word("note: the command's time is not compared: another one ran in the other place")
        }
        Some(there) if there.code != ran.code => {
            language.word("note: the command's time is not compared: it ended otherwise in the other place")
        }
        Some(there) => return Ok(there),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_no_answer_can_meet_is_refused() {
        let slower = |name: &str| Condition::Slower(Operations::Named(name.to_owned()));
        let check = |condition: Condition, args: &args::Here| check_condition(&condition, args).is_ok();
        let alone = args::Here::default();
        let pair = args::Here { against: Some("here.json".into()), ..args::Here::default() };
        let untimed = args::Here { only: Some(Part::Where), ..args::Here::default() };
        assert!(check(Condition::In("gvisor".to_owned()), &alone));
        assert!(!check(Condition::In("gviser".to_owned()), &alone));
        assert!(check(slower("new_code"), &alone) && !check(slower("new_code"), &pair));
        assert!(check(slower("list"), &pair) && !check(slower("list"), &alone));
        assert!(!check(slower("open-own"), &pair), "files of a command are not judged");
        assert!(!check(Condition::Slower(Operations::Calls), &untimed) && !check(slower("exec"), &untimed));
        let refused = check_condition(&slower("exce"), &alone).unwrap_err();
        assert!(refused.hint.unwrap().contains(", exec, "));
    }

    #[test]
    fn only_the_same_command_that_ended_alike_is_compared() {
        let facts = |hash: &str| Facts([(COMMAND_WORDS.to_owned(), hash.to_owned())].into());
        let ran = |code: i32| RanTwice {
            elapsed_ns: 5,
            user_ns: 0,
            system_ns: 0,
            code,
            counted: Err("refused".into()),
        };
        let document = |command: &str| {
            let facts = r#"{"price.getppid":"1 2 3","command.words":"00ff"}"#;
            let text = format!(r#"{{"schema":"tare-here","version":2,"facts":{facts},"command":{command}}}"#);
            parse_here_json(text.as_bytes()).unwrap()
        };
        let earlier = document(r#"{"elapsed_ns":7,"exit_code":3,"work":null}"#);
        let find = |hash: &str, code: i32| find_there(&earlier, &facts(hash), &ran(code));
        assert_eq!(find("00ff", 3).map(|there| there.elapsed_ns), Ok(7.0));
        assert!(find("00fe", 3).unwrap_err().contains("another one ran"));
        assert!(find("00ff", 0).unwrap_err().contains("it ended otherwise"));
        let none = find_there(&document("null"), &facts("00ff"), &ran(3));
        assert!(none.unwrap_err().contains("none ran"));
    }
}

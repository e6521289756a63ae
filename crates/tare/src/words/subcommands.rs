//! Words of the subcommands beside `run`, and words that name none.

use tare_data::session::specification::NATIVE;
use tare_lab::environments::everyday::{EVERYDAY, Habit};
use tare_lab::environments::ladders::LADDERS;
use tare_lab::error::LabError;
use tare_lab::find_nearest;
use tare_lab::study::list_probes;
use tare_report::exports::EXPORTS;

use super::leads::{lead_on, read_commands, refuse_name};
use super::line::{BETWEEN, Line, show_line};
use super::names::{
    find_environment, find_layer, find_name, is_file_of, is_study, leave_out_fillers, list_environments,
};
use super::reading::{Machine, Reading};
use crate::args::help::command_line;

/// The tools whose output is read.
const TOOLS: &str = "netperf, iperf3, sysbench, UnixBench, dd, fio, CrystalDiskMark, hyperfine";

/// Refuses a word that names no subcommand, with the line that does what was probably meant.
pub fn refuse_command(word: &str, others: &[String], machine: &Machine<'_>) -> LabError {
    let error = LabError::usage_error(format!("there is no command '{word}'"));
    let run = || {
        Line::read(
            command_line().find_subcommand("run").expect("run is a command"),
            &[&[word.to_owned()], others].concat(),
        )
    };
    let records = |from: usize| {
        others.iter().skip(from).filter(|word| !word.starts_with('-')).cloned().collect::<Vec<_>>()
    };
    if let (true, [old, new]) = (["diff", "cmp"].contains(&word), records(0).as_slice()) {
        return error.with_hint(show_line(&["compare", old, "--to", new]));
    }
    if word == "export" {
        let names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
        let format =
            others.first().filter(|word| names.contains(&word.as_str())).map_or("FORMAT", String::as_str);
        let line = format!("tare report --export {format} FILE; the formats are {}", names.join(", "));
        return error.with_hint(line);
    }
    if let Some(instead) = Habit::find_instead(&EVERYDAY.commands, word) {
        return error.with_hint(instead);
    }
    if word.starts_with('-') {
        return error
            .with_cause("options follow a command")
            .with_hint(show_line(&[&["run".to_owned(), word.to_owned()], others].concat()));
    }
    let rest: Vec<&str> = others.iter().map(String::as_str).collect();
    if let Some((cause, mut lines)) = lead_on(&run(), word, &rest, machine) {
        lines.extend(
            find_environment(word).map(|name| format!("{} describes it", show_line(&["show", &name]))),
        );
        return error.with_cause(cause).with_hint(lines.join("; "));
    }
    if is_study(word) {
        return error
            .with_cause(format!("'{word}' is a study"))
            .with_hint(show_line(&[&["run".to_owned(), word.to_owned()], others].concat()));
    }
    if is_file_of(word, "tare") {
        return error.with_cause("it is a record").with_hint(show_line(&["report", word]));
    }
    if list_probes().any(|probe| probe.name == word) {
        let lines = [show_line(&["run", "--only", word]), show_line(&["show", word])];
        return error.with_cause("it is a probe").with_hint(lines.join("; "));
    }
    let commands = command_line();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let lower = word.to_lowercase();
    let near = find_nearest(&lower, names).or_else(|| find_nearest(&lower, list_environments()));
    match near {
        Some(near) if find_environment(near).is_none() => error.with_hint(format!("did you mean '{near}'?")),
        _ if word.split_whitespace().next().is_some_and(|first| (machine.is_program)(first)) => {
            let line = show_line(&run().with_commands(&[run().words_from_loose()], false));
            error.with_cause("it is a program, and a command follows tare run --").with_hint(line)
        }
        Some(near) => error.with_hint(format!("did you mean tare run --in native,{near}?")),
        None => error.with_hint("tare --help lists the commands"),
    }
}

/// Reads the words of a subcommand other than `run`; none where they stay as they are.
pub fn read_others(line: &Line, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let loose = line.loose();
    let first = loose.first().copied();
    match (line.name(), first) {
        ("report", _) if !line.has_commands() => read_report(line, &loose, machine),
        ("compare", _) => read_compare(line, &loose, machine),
        ("list", Some("tools" | "tool" | "importers")) => {
            Err(LabError::usage_error("there is no list of tools")
                .with_cause(format!("tare reads the output of {TOOLS}"))
                .with_hint("tare import FILE reads one; tare import --help has more"))
        }
        ("show", Some(word)) => Ok(read_show(line, word)),
        ("show", None) => Err(LabError::usage_error("nothing was named").with_hint(
            "tare show gvisor; tare list has the names of probes, environments, studies and articles",
        )),
        ("check", Some(word)) => {
            let named: Vec<String> = loose.iter().filter_map(|word| find_checked(word, machine)).collect();
            if named.len() != loose.len() {
                return Err(refuse_name(line, "environment", machine).unwrap_or_else(|| unknown(word)));
            }
            let is_added = !line.environments().contains(&NATIVE) && named.iter().all(|name| name != NATIVE);
            let words = line.with_environments(&named);
            Ok(Some(Reading::as_typed(&if is_added { without_native(words) } else { words })))
        }
        ("import", None) => Err(LabError::usage_error("no file was named")
            .with_cause(format!("tare reads the output of {TOOLS}"))
            .with_hint("tare import out.txt, after e.g. fio job.fio > out.txt")),
        ("here", Some(word)) => Err(refuse_here(line, word, machine)),
        ("explain" | "advise" | "ladder", _) => read_command_of(line, first, machine),
        _ => Ok(None),
    }
}

/// Leaves the baseline out of the environments of a line that names them itself.
fn without_native(mut words: Vec<String>) -> Vec<String> {
    words[2] = words[2].strip_prefix("native,").unwrap_or(&words[2]).to_owned();
    words
}

/// Finds the environment that a word of `tare check` names, which may be a launcher of one's own.
fn find_checked(word: &str, machine: &Machine<'_>) -> Option<String> {
    let name = word.split([':', '?']).next().unwrap_or_default();
    find_environment(word).or_else(|| (machine.is_own_environment)(name).then(|| word.to_owned()))
}

fn unknown(word: &str) -> LabError {
    LabError::usage_error(format!("there is no environment '{word}'"))
        .with_hint("tare list environments names them all")
}

/// Puts the newest record of a folder in its place, or of this one where none is named.
fn read_report(line: &Line, loose: &[&str], machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let first = loose.first().copied();
    let Some(records) = (machine.list_records)(first.unwrap_or(".")) else { return Ok(None) };
    if let [folder, others @ ..] = loose
        && !others.is_empty()
    {
        return Err(LabError::usage_error(format!("'{}' follows the folder '{folder}'", others.join(" ")))
            .with_cause("tare report shows the newest record of one folder")
            .with_hint(show_line(&line.with_loose(&[folder]))));
    }
    match records.first() {
        Some(record) => Ok(Some(Reading::told(line.with_loose(&[record])))),
        None => {
            let apart = (machine.find_records_folder)(first.unwrap_or("."));
            let apart = apart.map(|apart| {
                format!(
                    "; one of a command is in {}, or with another user who ran it, such as root",
                    apart.display()
                )
            });
            let cause = format!("a session writes one where it runs, TIME.tare{}", apart.unwrap_or_default());
            Err(LabError::usage_error(format!("there is no record in {}", first.unwrap_or("this folder")))
                .with_cause(cause)
                .with_hint("tare run; after sudo tare run: sudo tare report; or tare report FILE"))
        }
    }
}

/// Reads two records as an older and a newer one, and refuses words that name environments, or no newer records.
fn read_compare(line: &Line, loose: &[&str], machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    if line.has_option("--to") || line.has_option("--together") {
        return Ok(None);
    }
    if let [old, new] = loose
        && loose.iter().all(|word| is_file_of(word, "tare"))
    {
        return Ok(Some(Reading::told(line.with_loose(&[old, "--to", new]))));
    }
    let loose = &leave_out_fillers(loose)[..];
    let environments: Vec<String> = loose.iter().filter_map(|word| find_layer(word)).collect();
    if !loose.is_empty() && environments.len() == loose.len() {
        let mut names = environments;
        names.retain(|name| name != NATIVE);
        names.insert(0, NATIVE.to_owned());
        return Err(LabError::usage_error(format!("'{}' name no record", loose.join(" ")))
            .with_cause("tare compare compares the records of two sessions: tare compare OLD --to NEW")
            .with_hint(format!("tare run --in {}", names.join(","))));
    }
    let newest = (machine.list_records)(".").unwrap_or_default();
    let line = match (loose, newest.as_slice()) {
        ([old, rest @ ..], _) if !rest.is_empty() => {
            let to = show_line(&[&["compare", old, "--to"], rest].concat());
            if rest.len() > 1 {
                format!("{to}; {}", show_line(&[&["compare", "--together"], loose].concat()))
            } else {
                to
            }
        }
        ([old], [new, ..]) if new != old => show_line(&["compare", old, "--to", new]),
        ([], [new, old, ..]) => show_line(&["compare", old, "--to", new]),
        _ => "tare compare OLD --to NEW; tare run makes a record".to_owned(),
    };
    Err(LabError::usage_error("no newer record was named").with_cause("--to NEW names it").with_hint(line))
}

/// Puts the environment that stands for a name of the table in its place.
fn read_show(line: &Line, word: &str) -> Option<Reading> {
    if find_environment(word).is_some() || is_study(word) {
        return None;
    }
    let name = find_name(word)?;
    let shown = name.environments.first().or(name.studies.first())?.as_str().split(':').next()?;
    let also: Vec<String> = name
        .environments
        .iter()
        .skip(1)
        .chain(&name.on_windows)
        .map(|name| show_line(&["show", name.split([':', '?']).next().unwrap_or_default()]))
        .collect();
    let also = if also.is_empty() { String::new() } else { format!("; also {}", also.join(", ")) };
    let words = line.with_loose(&[shown]);
    Some(Reading { note: Some(format!("'{word}' is shown as {shown}{also}")), words })
}

/// Refuses words of `tare here`, which runs a command in place, and only one that follows `--`.
fn refuse_here(line: &Line, word: &str, machine: &Machine<'_>) -> LabError {
    let error = LabError::usage_error(format!("tare here takes no word '{word}'"));
    let known = find_layer(word);
    match known {
        Some(name) => error.with_cause(format!("'{word}' is an environment")).with_hint(format!(
            "tare here --fail-if in:{name} tells whether this is one; tare run --in native,{name} measures one"
        )),
        None if (machine.is_program)(word) => error
            .with_cause("a command follows --, and runs twice, in place")
            .with_hint(show_line(&line.with_commands(&[line.words_from_loose()], false))),
        None => error.with_hint("tare here; tare here --help has its options"),
    }
}

/// Reads the words of a subcommand that takes a command as `run` does, after a record or a ladder.
fn read_command_of(
    line: &Line,
    first: Option<&str>,
    machine: &Machine<'_>,
) -> Result<Option<Reading>, LabError> {
    let is_ladder = |word: &str| LADDERS.iter().any(|ladder| ladder.name == word);
    match (line.name(), first) {
        ("explain", None) if !line.has_commands() && !line.has_option("--prices") => {
            Err(LabError::usage_error("no command was named")
                .with_cause("tare explain takes a command, or the record of an earlier session")
                .with_hint("tare explain --in NAME -- COMMAND"))
        }
        ("ladder", None) => Err(LabError::usage_error("no ladder was named").with_hint(format!(
            "tare ladder container; there are also {}",
            LADDERS.iter().map(|ladder| ladder.name).skip(1).collect::<Vec<_>>().join(", ")
        ))),
        (_, None) => Ok(None),
        (_, Some(word)) if is_file_of(word, "tare") || is_file_of(word, "toml") => Ok(None),
        ("ladder", Some(word)) if is_ladder(word) => read_behind_ladder(line, word, machine),
        ("ladder", Some(word)) => Err(refuse_ladder(word)),
        (name, Some(_)) => {
            match refuse_name(line, if name == "advise" { "record" } else { "record or study" }, machine) {
                Some(refused) => Err(refused),
                None => read_commands(line, machine),
            }
        }
    }
}

/// Reads the words behind a ladder's name as a command.
fn read_behind_ladder(line: &Line, ladder: &str, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let behind = line.behind_first();
    let words = behind.words_from_loose();
    let Some(program) = words.first() else { return Ok(None) };
    if line.has_commands() {
        return Err(LabError::usage_error(format!("'{}' stands before --", behind.loose().join(" ")))
            .with_cause("a command follows --, whole")
            .with_hint(show_line(&line.with_loose(&[ladder]))));
    }
    let as_command = behind.with_commands(&[words], false);
    if words.len() == 1 && program != BETWEEN {
        return Ok(Some(Reading::told(as_command)));
    }
    match read_commands(&behind, machine)? {
        Some(reading) => Ok(Some(reading)),
        None => Err(LabError::usage_error(format!("'{program}' follows the ladder '{ladder}'"))
            .with_cause("a command follows --")
            .with_hint(show_line(&as_command))),
    }
}

/// Refuses a word that names no ladder.
fn refuse_ladder(word: &str) -> LabError {
    let names: Vec<&str> = LADDERS.iter().map(|ladder| ladder.name).collect();
    let error = LabError::usage_error(format!("unknown ladder '{word}'"));
    let known = find_layer(word);
    match (known, find_nearest(word, names.iter().copied())) {
        (Some(_), _) => error
            .with_cause(
                "its engine or its kernel is entered as a whole; tare makes what is climbed, step by step",
            )
            .with_hint(format!(
                "tare ladder container has the mechanisms that containers share; there are {}",
                names.join(", ")
            )),
        (None, Some(near)) => error.with_hint(format!("did you mean '{near}'?")),
        (None, None) => {
            error.with_hint(format!("there are {}; a record of one ends in .tare", names.join(", ")))
        }
    }
}

//! Words of `tare run`: a study's name, a name of something else, or commands, in this order.

use tare_data::names::matches_pattern;
use tare_lab::error::LabError;
use tare_lab::find_nearest;
use tare_lab::study::{SHIPPED, list_probes};

use super::leads::{check_separator, lead_on, list_own_words, read_commands, refuse_name};
use super::line::{Line, show_line};
use super::names::{self, find_environment, find_name, is_file_of, is_study};
use super::reading::{Machine, Reading};

/// Reads the words of `tare run`; none where they stay as they are.
pub fn read_run(line: &Line, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let loose = line.loose();
    let own = list_own_words(line, machine);
    let name = own.iter().position(|word| word == "-n").and_then(|at| own.get(at + 1));
    if let Some(runs) = name.filter(|value| value.parse::<u32>().is_ok()) {
        let hint = format!("-r {runs} runs it as often; --command-name {runs} names it");
        return Err(
            LabError::usage_error(format!("-n {runs} would name the command '{runs}'")).with_hint(hint)
        );
    }
    let Some(first) = loose.first().copied() else { return Ok(None) };
    check_separator(line)?;
    if is_study(first) {
        return read_study(line, &loose);
    }
    if let Some(refused) = refuse_name(line, "study", machine) {
        return Err(refused);
    }
    let patterns = |probe: &str| first.split(',').any(|pattern| matches_pattern(pattern, probe));
    if loose.len() == 1 && list_probes().any(|probe| patterns(probe.name)) {
        return Err(LabError::usage_error(format!("there is no study '{first}'"))
            .with_cause(format!("'{first}' names probes"))
            .with_hint(format!("tare run --only '{first}'")));
    }
    if is_file_of(first, "tare") {
        return Err(LabError::usage_error(format!("there is no study '{first}'"))
            .with_cause("a file that ends in .tare is a record")
            .with_hint(format!("{} shows it", show_line(&["report", first]))));
    }
    match read_commands(line, machine)? {
        Some(reading) => Ok(Some(reading)),
        None if loose.len() == 1 && !first.contains(|c: char| c == '/' || c.is_whitespace()) => {
            Err(unknown_study(line, first, machine))
        }
        None => Err(unknown_words(line, machine)),
    }
}

/// Reads a study's name, which further words cannot follow.
fn read_study(line: &Line, loose: &[&str]) -> Result<Option<Reading>, LabError> {
    let [study, others @ ..] = loose else { return Ok(None) };
    if others.is_empty() {
        let article =
            find_name(study).and_then(|name| name.article.as_deref()).filter(|_| !line.has_option("--like"));
        let note = article.map(|article| {
            format!("{study} is a study of the tool's tests; an article with it: tare run --like {article}")
        });
        return Ok(note.map(|note| Reading { words: line.with_loose(&[study]), note: Some(note) }));
    }
    let error = LabError::usage_error(format!("'{}' follows the study '{study}'", others.join(" ")));
    let error = error.with_cause("a session has one study, or several with commas between them");
    let environments: Vec<String> = others.iter().filter_map(|word| find_environment(word)).collect();
    Err(if others.iter().all(|word| is_study(word)) {
        error.with_hint(show_line(&line.with_loose(&[&loose.join(",")])))
    } else if environments.len() == others.len() {
        let mut words = line.with_environments(&environments);
        words.insert(1, (*study).to_owned());
        error.with_hint(show_line(&words))
    } else {
        error.with_hint(format!(
            "{}; as a command: {}",
            show_line(&line.with_loose(&[study])),
            show_line(&line.with_commands(&[line.words_from_loose()], false))
        ))
    })
}

/// Refuses a word that names no study.
fn unknown_study(line: &Line, word: &str, machine: &Machine<'_>) -> LabError {
    let error = LabError::usage_error(format!("there is no study '{word}'"));
    let studies = || SHIPPED.iter().map(|(name, _)| *name);
    let lower = word.to_lowercase();
    let near = find_nearest(&lower, studies().chain(names::list_environments()).chain(names::list_names()));
    match near {
        Some(near) if studies().any(|name| name == near) => error.with_hint(format!("did you mean '{near}'?")),
        Some(near) => match lead_on(line, near, &[], machine) {
            Some((_, lines)) if find_environment(near).is_some() => {
                error.with_hint(format!("did you mean {}?", lines.join("; ")))
            }
            Some((_, lines)) => error.with_hint(format!("did you mean '{near}'? {}", lines.join("; "))),
            None => error.with_hint(format!("did you mean '{near}'?")),
        },
        None => error.with_hint(
            "tare list studies names them all; your own file must end in .toml; a command follows: tare run -- COMMAND",
        ),
    }
}

/// Refuses words that begin with no program.
fn unknown_words(line: &Line, machine: &Machine<'_>) -> LabError {
    let loose = line.loose();
    let is_none =
        |word: &&&str| word.split_whitespace().next().is_none_or(|first| !(machine.is_program)(first));
    let begin = |word: &str| word.split_whitespace().next().unwrap_or_default().to_owned();
    let unknown = loose.iter().find(is_none).map_or_else(String::new, |word| begin(word));
    let behind = line.has_commands();
    let error = match behind {
        true => LabError::usage_error(format!("'{}' stands before --", loose.join(" ")))
            .with_cause("a session has a study or commands, not both"),
        false => LabError::usage_error(format!("there is no study '{}'", loose.join(" ")))
            .with_cause(format!("'{unknown}' is not a program of this machine")),
    };
    let line = match behind {
        true => line.with_loose(&[]),
        false => line.with_commands(&[line.words_from_loose()], false),
    };
    let lists = if behind { "" } else { "; tare list studies names the studies" };
    error.with_hint(format!("{}{lists}", show_line(&line)))
}

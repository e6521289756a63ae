//! Words of the command line: options, a study or commands, and for those that can be none of these the line to type.
//!
//! Words are read before options are parsed, and reading measures nothing. Words after `--` are a command's, as they stand.

mod line;
mod names;
mod options;
mod subcommands;
#[cfg(test)]
mod tests;

use tare_data::names::matches_pattern;
use tare_lab::environments::presets::PRESETS;
use tare_lab::error::LabError;
use tare_lab::find_nearest;
use tare_lab::study::{SHIPPED, list_probes};

use self::line::{Line, show_line};
use self::names::{find_environment, find_name, is_file_of, is_study, list_articles};
pub use self::options::parse_arguments;
use crate::args::help::command_line;

/// This machine, as far as the meaning of words depends on it.
pub struct Machine<'a> {
    /// Tells whether a word names a program: in PATH, or by its path.
    pub is_program: &'a dyn Fn(&str) -> bool,
    /// Tells whether a word names an environment of the user's own.
    pub is_own_environment: &'a dyn Fn(&str) -> bool,
    /// Lists the records of a folder, the newest first; none where it is no folder.
    pub list_records: &'a dyn Fn(&str) -> Option<Vec<String>>,
}

/// Words as they are to be parsed.
#[derive(Debug, PartialEq)]
pub struct Reading {
    pub words: Vec<String>,
    /// The reading, where the words could be read otherwise.
    pub note: Option<String>,
}

impl Reading {
    fn as_typed(words: &[String]) -> Reading {
        Reading { words: words.to_vec(), note: None }
    }

    /// Has other words in place of those that were typed, and says so.
    fn told(words: Vec<String>) -> Reading {
        let note = Some(format!("read as {}", show_line(&words)));
        Reading { words, note }
    }
}

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
    let asks_for_help = |word: &String| matches!(word.as_str(), "-h" | "--help");
    if words.iter().take_while(|word| *word != "--").any(asks_for_help) {
        return as_typed();
    }
    let line = Line::read(command, &words[1..]);
    options::check_dashes(command, &line, &words[1..])?;
    check_environments(&line, machine)?;
    check_article(&line)?;
    if line.has_unknown_option() {
        return Ok(Reading::as_typed(&[&[name.to_owned()], &words[1..]].concat()));
    }
    let read = match name {
        "run" => read_run(&line, machine)?,
        _ => subcommands::read_others(&line, machine)?,
    };
    Ok(read.unwrap_or_else(|| Reading::as_typed(&[&[name.to_owned()], &words[1..]].concat())))
}

/// Reads the words of `tare run`; none where they stay as they are.
fn read_run(line: &Line, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let loose = line.loose();
    let Some(first) = loose.first().copied() else { return Ok(None) };
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
            Err(unknown_study(line, first))
        }
        None => Err(unknown_words(line, machine)),
    }
}

/// Reads a study's name, which further words cannot follow.
fn read_study(line: &Line, loose: &[&str]) -> Result<Option<Reading>, LabError> {
    let [study, others @ ..] = loose else { return Ok(None) };
    if others.is_empty() {
        let article = find_name(study).and_then(|name| name.article).filter(|_| !line.has_option("--like"));
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
            show_line(&line.with_commands(&[line.from_loose()], false))
        ))
    })
}

/// Refuses loose words of which the first is a name that people have for an environment, a tool or an article.
fn refuse_name(line: &Line, wanted: &str, machine: &Machine<'_>) -> Option<LabError> {
    let loose = line.loose();
    let whole = loose.join(" ");
    // Two words may be one name: docker desktop.
    let (word, rest) = match find_name(&whole) {
        Some(_) => (whole.as_str(), &[][..]),
        None => (*loose.first()?, &loose[1..]),
    };
    let (cause, mut lines) = lead_on(line, word, rest, machine)?;
    if (machine.is_program)(word) {
        lines.push(format!("as a command: {}", show_line(&line.with_commands(&[line.from_loose()], false))));
    }
    let error = LabError::usage_error(format!("there is no {wanted} '{word}'"));
    Some(error.with_cause(cause).with_hint(lines.join("; ")))
}

/// Finds what a word is and the lines that lead on from it, each with the options that were typed.
fn lead_on(line: &Line, word: &str, rest: &[&str], machine: &Machine<'_>) -> Option<(String, Vec<String>)> {
    let known_alone = |word: &str| {
        let of_table =
            find_name(word).and_then(|name| name.environments.first()).map(|name| (*name).to_owned());
        of_table
            .or_else(|| find_environment(word))
            .or_else(|| (machine.is_own_environment)(word).then(|| word.to_owned()))
    };
    let known = |word: &str| {
        let parts: Option<Vec<String>> =
            word.split(',').filter(|part| !part.is_empty()).map(known_alone).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join(","))
    };
    let mut lines = Vec::new();
    if let Some(environment) = known(word) {
        // Words of a command may be names by chance.
        let others: Option<Vec<String>> = rest.iter().map(|word| known(word)).collect();
        let all: Vec<String> = std::iter::once(environment).chain(others.unwrap_or_default()).collect();
        lines.push(show_line(&line.with_environments(&all)));
    }
    let articles = list_articles(word);
    let Some(name) = find_name(word) else {
        if let ([], [first, ..]) = (lines.as_slice(), articles.as_slice()) {
            let only = articles.len() == 1;
            let cause = if only { "an article" } else { "the beginning of several articles' names" };
            let lines = articles.iter().map(|article| format!("tare run --like {article}")).collect();
            return (*first == word || word.len() > 3).then(|| (format!("'{word}' is {cause}"), lines));
        }
        return (!lines.is_empty()).then(|| (format!("'{word}' is an environment, which --in names"), lines));
    };
    if let [_, others @ ..] = name.environments
        && !others.is_empty()
    {
        lines.push(format!("in its place {}", others.join(", ")));
    }
    lines.extend(name.studies.first().map(|study| show_line(&line.with_loose(&[study]))));
    lines.extend(name.article.map(|article| format!("tare run --like {article}")));
    lines.extend(name.lines.iter().map(|line| (*line).to_owned()));
    lines.extend(name.on_windows.map(|name| format!("on Windows: --in native,{name}")));
    Some((format!("'{word}' is {}", name.about), lines))
}

/// Reads loose words as commands where they can be nothing else, and refuses them where they can be several things.
fn read_commands(line: &Line, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let loose = line.loose();
    let begins_with_program =
        |word: &&str| word.split_whitespace().next().is_some_and(|program| (machine.is_program)(program));
    let owned: Vec<Vec<String>> = loose.iter().map(|word| vec![(*word).to_owned()]).collect();
    let each: Vec<&[String]> = owned.iter().map(Vec::as_slice).collect();
    let Some(first) = loose.first().copied() else { return Ok(None) };
    if line.has_commands() {
        return Ok(None);
    }
    if loose.iter().any(|word| word.contains(char::is_whitespace)) && loose.iter().all(begins_with_program) {
        return Ok(Some(Reading::told(line.with_commands(&each, true))));
    }
    if !(machine.is_program)(first) {
        return Ok(None);
    }
    let whole = line.from_loose();
    let as_one = show_line(&line.with_commands(&[whole], false));
    if let Some(option) = whole.iter().find(|word| word.starts_with('-')) {
        let moved = show_line(&line.with_commands(&[&owned.concat()], true));
        return Err(LabError::usage_error(format!(
            "'{option}' after '{first}' may be the command's or tare's"
        ))
        .with_cause("options of tare stand before --, and the command behind it")
        .with_hint(format!("{as_one}; as an option of tare: {moved}")));
    }
    if loose.iter().all(|word| (machine.is_program)(word)) {
        let error = LabError::usage_error(format!("'{}' can be read in several ways", loose.join(" ")));
        return Err(match loose.len() {
            1 => LabError::usage_error(format!("there is no study '{first}'"))
                .with_cause(format!("'{first}' is a program, and a command follows --"))
                .with_hint(as_one),
            _ => error.with_cause("each word is a program").with_hint(format!(
                "{} compares them; {as_one} is one command",
                show_line(&line.with_commands(&each, true))
            )),
        });
    }
    Ok(Some(Reading::told(line.with_commands(&[whole], false))))
}

/// Refuses a word that is no study's name.
fn unknown_study(line: &Line, word: &str) -> LabError {
    let error = LabError::usage_error(format!("there is no study '{word}'"));
    let studies = || SHIPPED.iter().map(|(name, _)| *name);
    let lower = word.to_lowercase();
    let near = find_nearest(&lower, studies().chain(names::list_environments()).chain(names::list_names()));
    match near {
        Some(near) if studies().any(|name| name == near) => error.with_hint(format!("did you mean '{near}'?")),
        Some(near) => {
            let environment = find_environment(near).unwrap_or_else(|| near.to_owned());
            error.with_hint(format!("did you mean {}?", show_line(&line.with_environments(&[environment]))))
        }
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
            .with_cause(format!("'{unknown}' is no program of this machine")),
    };
    let line = match behind {
        true => line.with_loose(&[]),
        false => line.with_commands(&[line.from_loose()], false),
    };
    let lists = if behind { "" } else { "; tare list studies names the studies" };
    error.with_hint(format!("{}{lists}", show_line(&line)))
}

/// Refuses a value of `--like` that is a tool's name, or the beginning of several articles' names.
fn check_article(line: &Line) -> Result<(), LabError> {
    let Some(article) = line.value_of("--like") else { return Ok(()) };
    let articles = list_articles(article);
    if articles.is_empty() || articles.contains(&article) {
        return Ok(());
    }
    let lines: Vec<String> = articles.iter().map(|article| format!("tare run --like {article}")).collect();
    Err(LabError::usage_error(format!("there is no article '{article}'")).with_hint(lines.join("; ")))
}

/// Refuses a value of `--in` that names no environment.
fn check_environments(line: &Line, machine: &Machine<'_>) -> Result<(), LabError> {
    let name_of = |text: &str| text.split([':', '?']).next().unwrap_or_default().to_owned();
    let is_there = |text: &&str| {
        let name = name_of(text);
        text.contains('/')
            || name.ends_with(".toml")
            || (machine.is_own_environment)(&name)
            || names::list_environments().any(|known| known == name)
    };
    let named = line.environments();
    let Some(text) = named.iter().find(|text| !is_there(text)).copied() else { return Ok(()) };
    let name = name_of(text);
    let error = LabError::usage_error(format!("there is no environment '{name}'"));
    let instead = |new: &str| show_line(&line.with_value_of_in(text, new));
    if let Some(known) = find_name(text) {
        let mut all: Vec<String> = known.environments.iter().take(1).map(|name| instead(name)).collect();
        let others = known.environments.iter().skip(1).copied().chain(known.on_windows);
        let others: Vec<&str> = others.collect();
        if !others.is_empty() {
            all.push(format!("in its place {}", others.join(", ")));
        }
        if let Some(windows) = known.on_windows {
            let last = all.len() - 1;
            all[last] = all[last].replace(windows, &format!("{windows} on Windows"));
        }
        all.extend(known.studies.iter().take(1).map(|study| format!("tare run {study}")));
        all.extend(known.lines.iter().map(|line| (*line).to_owned()));
        return Err(error.with_cause(format!("'{text}' is {}", known.about)).with_hint(all.join("; ")));
    }
    if let Some(exact) = find_environment(text) {
        return Err(error.with_cause("names are in small letters").with_hint(instead(&exact)));
    }
    let lower = name.to_lowercase();
    let near =
        find_nearest(&lower, names::list_environments().chain(PRESETS.iter().map(|preset| preset.name)));
    Err(match near {
        Some(near) => error.with_hint(format!("did you mean '{near}'?")),
        None if is_study(&name) => error.with_cause("it is a study").with_hint(format!("tare run {name}")),
        None => {
            error.with_hint("tare list environments names them all, and tare check shows which are ready")
        }
    })
}

//! Words that name something else, or a command: the lines that lead on, and the commands.

use tare_lab::error::LabError;

use super::line::{BETWEEN, Line, find_long, show_line};
use super::names::{find_environment, find_name, is_study, leave_out_fillers, list_articles};
use super::reading::{Machine, Reading};
use crate::args::help::command_line;

/// Refuses loose words of which the first is a name that people have for an environment, a tool or an article.
pub fn refuse_name(line: &Line, wanted: &str, machine: &Machine<'_>) -> Option<LabError> {
    let loose = line.loose();
    let whole = loose.join(" ");
    // Two words may be one name: docker desktop.
    let (word, rest) = match find_name(&whole) {
        Some(_) => (whole.as_str(), &[][..]),
        None => (*loose.first()?, &loose[1..]),
    };
    let (cause, mut lines) = lead_on(line, word, rest, machine)?;
    if (machine.is_program)(word) && !line.has_commands() {
        lines.push(format!(
            "as a command: {}",
            show_line(&line.with_commands(&[line.words_from_loose()], false))
        ));
    }
    let error = LabError::usage_error(format!("there is no {wanted} '{word}'"));
    Some(error.with_cause(cause).with_hint(lines.join("; ")))
}

/// Finds what a word is and the lines that lead on from it, each with the options that were typed.
pub fn lead_on(
    line: &Line,
    word: &str,
    rest: &[&str],
    machine: &Machine<'_>,
) -> Option<(String, Vec<String>)> {
    let known_alone = |word: &str| {
        let of_table = find_name(word).and_then(|name| name.environments.first().cloned());
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
        let others: Option<Vec<String>> = leave_out_fillers(rest).into_iter().map(known).collect();
        let all: Vec<String> = std::iter::once(environment).chain(others.unwrap_or_default()).collect();
        let command = if line.name() == "explain" && !line.has_commands() { " -- COMMAND" } else { "" };
        lines.push(show_line(&line.with_environments(&all)) + command);
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
    if let [_, others @ ..] = name.environments.as_slice()
        && !others.is_empty()
    {
        lines.push(format!("in its place {}", others.join(", ")));
    }
    lines.extend(name.studies.first().map(|study| show_line(&line.with_loose(&[study]))));
    lines.extend(name.article.iter().map(|article| format!("tare run --like {article}")));
    lines.extend(name.lines.iter().cloned());
    lines.extend(name.on_windows.iter().map(|name| format!("on Windows: --in native,{name}")));
    Some((format!("'{word}' is {}", name.about), lines))
}

/// Lists the words that are tare's own: all before `--`, or those before a program that is nothing else.
pub fn list_own_words<'a>(line: &'a Line, machine: &Machine<'_>) -> &'a [String] {
    let place = match line.name() {
        "run" | "explain" | "advise" | "here" => 0,
        "ladder" => 1,
        _ => return line.given_before(None),
    };
    let loose = line.loose();
    let begins_command = loose.get(place).is_some_and(|word| {
        (machine.is_program)(word) && !is_study(word) && lead_on(line, word, &[], machine).is_none()
    });
    line.given_before(begins_command.then_some(place))
}

/// Refuses separators without a command behind or beside them: a script's variable in its place may be empty, and what is left is
/// another session.
pub fn check_missing(line: &Line) -> Result<(), LabError> {
    let takes_several = ["run", "explain", "advise", "ladder"].contains(&line.name());
    let Some(words) = line.words_after().filter(|_| takes_several || line.name() == "here") else {
        return Ok(());
    };
    let measures_another = line.name() != "ladder" && !line.loose().is_empty();
    if words.is_empty() && !measures_another && !line.has_option("--command") {
        let line = format!("{} COMMAND", show_line(&line.with_loose(&line.loose())));
        return Err(LabError::usage_error("no command follows --").with_hint(line));
    }
    let mut commands = words.split(|word| word == BETWEEN);
    if words.is_empty() || !takes_several || commands.all(|command| !command.is_empty()) {
        return Ok(());
    }
    Err(LabError::usage_error("a command is missing beside '---'")
        .with_cause("'---' stands between two commands")
        .with_hint("tare run -- ./old --- ./new"))
}

/// Refuses the separator of commands where the one before them is missing.
pub fn check_separator(line: &Line) -> Result<(), LabError> {
    let words = line.words_from_loose();
    if line.has_commands() || !line.loose().contains(&BETWEEN) {
        return Ok(());
    }
    let begin = words.iter().take_while(|word| *word == BETWEEN).count();
    Err(LabError::usage_error("'---' stands between commands, which follow --")
        .with_hint(show_line(&line.with_commands(&[&words[begin..]], false))))
}

/// Tells whether a word can only be an option of tare's that is named in full, with a set number of values.
fn is_option_of(name: &str, word: &str) -> bool {
    let long = word.strip_prefix("--").map(|long| long.split('=').next().unwrap_or_default());
    let commands = command_line();
    let option = long.and_then(|long| find_long(commands.find_subcommand(name)?, long));
    let is_set = |range: clap::builder::ValueRange| range.min_values() == range.max_values();
    option.is_some_and(|option| option.get_num_args().is_none_or(is_set))
}

/// Reads loose words as commands where they can be nothing else, and refuses them where they can be several things.
pub fn read_commands(line: &Line, machine: &Machine<'_>) -> Result<Option<Reading>, LabError> {
    let loose = line.loose();
    let begins_with_program =
        |word: &&str| word.split_whitespace().next().is_some_and(|program| (machine.is_program)(program));
    let owned: Vec<Vec<String>> = loose.iter().map(|word| vec![(*word).to_owned()]).collect();
    let each: Vec<&[String]> = owned.iter().map(Vec::as_slice).collect();
    let Some(first) = loose.first().copied() else { return Ok(None) };
    if line.has_commands() {
        return Ok(None);
    }
    check_separator(line)?;
    if loose.iter().any(|word| word.contains(char::is_whitespace)) && loose.iter().all(begins_with_program) {
        return Ok(Some(Reading::told(line.with_commands(&each, true))));
    }
    if !(machine.is_program)(first) {
        return Ok(None);
    }
    let whole = line.words_from_loose();
    let as_one = show_line(&line.with_commands(&[whole], false));
    if let Some(option) = whole.iter().find(|word| word.starts_with('-')) {
        let mut options = whole.iter().filter(|word| word.starts_with('-'));
        let moved = match options.all(|word| is_option_of(line.name(), word)) {
            true => {
                let moved = show_line(&line.with_commands(&[&owned.concat()], true));
                format!("; as an option of tare: {moved}")
            }
            false => String::new(),
        };
        return Err(LabError::usage_error(format!(
            "'{option}' after '{first}' may be the command's or tare's"
        ))
        .with_cause("options of tare stand before --, and the command behind it")
        .with_hint(format!("{as_one}{moved}")));
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

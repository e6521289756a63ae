//! Values of options that are names: environments and articles.

use tare_lab::error::LabError;
use tare_lab::find_nearest;

use super::line::{Line, show_line};
use super::names::{self, find_environment, find_name, is_study, list_near_articles};
use super::reading::Machine;

/// Refuses a value of `--like` that is a tool's name, or the beginning of several articles' names.
pub fn check_article(line: &Line) -> Result<(), LabError> {
    let Some(article) = line.value_of("--like") else { return Ok(()) };
    let articles = list_near_articles(article);
    if articles.is_empty() || articles.contains(&article) {
        return Ok(());
    }
    let lines: Vec<String> = articles.iter().map(|article| format!("tare run --like {article}")).collect();
    Err(LabError::usage_error(format!("there is no article '{article}'")).with_hint(lines.join("; ")))
}

/// Refuses a value of `--in` that names no environment.
pub fn check_environments(line: &Line, machine: &Machine<'_>) -> Result<(), LabError> {
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
        let others = known.environments.iter().skip(1).chain(&known.on_windows).map(String::as_str);
        let others: Vec<&str> = others.collect();
        if !others.is_empty() {
            all.push(format!("in its place {}", others.join(", ")));
        }
        if let Some(windows) = &known.on_windows {
            let last = all.len() - 1;
            all[last] = all[last].replace(windows, &format!("{windows} on Windows"));
        }
        all.extend(known.studies.iter().take(1).map(|study| format!("tare run {study}")));
        all.extend(known.lines.iter().cloned());
        return Err(error.with_cause(format!("'{text}' is {}", known.about)).with_hint(all.join("; ")));
    }
    if let Some(exact) = find_environment(text) {
        return Err(error.with_cause("names are in small letters").with_hint(instead(&exact)));
    }
    let lower = name.to_lowercase();
    Err(match find_nearest(&lower, names::list_environments()) {
        Some(near) => error.with_hint(format!("did you mean '{near}'?")),
        None if is_study(&name) => error.with_cause("it is a study").with_hint(format!("tare run {name}")),
        None => {
            error.with_hint("tare list environments names them all, and tare check shows which are ready")
        }
    })
}

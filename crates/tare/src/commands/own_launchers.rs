//! Launchers in the user's configuration: `launchers/NAME.toml` in `$XDG_CONFIG_HOME/tare`, else in `~/.config/tare`.

use std::env;
use std::fs;
use std::path::PathBuf;

use tare_data::session::specification::Specification;
use tare_lab::environments::presets::PRESETS;
use tare_lab::environments::{self, list_providers};
use tare_lab::error::LabError;
use tare_paths::ours::check_ours;

use crate::{paths, platform};

/// End of the name of a launcher's file.
const FILE: &str = ".toml";
/// Limit on the files that are listed.
const MOST: usize = 200;

/// Puts the files of launchers in the user's configuration in place of their names.
pub fn resolve_launchers(names: &[String]) -> Result<Vec<String>, LabError> {
    names.iter().map(|name| resolve_launcher(name)).collect()
}

/// Puts the path of a launcher in the user's configuration in place of its name. A name that comes along is nobody else's.
pub fn resolve_launcher(text: &str) -> Result<String, LabError> {
    let end = text.find([':', '?']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some((_, file)) = list_own_launchers().into_iter().find(|(own, _)| own == name) else {
        return Ok(text.to_owned());
    };
    let shown = file.display();
    if comes_along(name) {
        return Err(LabError::usage_error(format!("'{name}' is the name of two environments"))
            .with_cause(format!("one comes along, and {shown} is another"))
            .with_hint(format!("give yours another name, in the file and as the file's: {shown}")));
    }
    // Nobody else can put another file there before it is read.
    check_ours(&file).map_err(|not_ours| {
        let hint = not_ours.hint(&format!("name it by its path: --in {shown}"));
        LabError::usage_error(format!("the launcher {shown} is not used"))
            .with_cause(not_ours)
            .with_hint(hint)
    })?;
    Ok(format!("{shown}{rest}"))
}

/// Tells whether an environment of this name comes along.
fn comes_along(name: &str) -> bool {
    list_providers().any(|provider| provider.name == name) || PRESETS.iter().any(|preset| preset.name == name)
}

/// Tells whether a word specifies an environment that comes along, or the file of a launcher.
pub fn is_environment(word: &str) -> bool {
    let name = word.split([':', '?']).next().unwrap_or_default();
    comes_along(name) || name.ends_with(FILE)
}

/// Refuses words of `--enter` that are named as an environment that comes along: a report would take them for it.
pub fn check_entered_names(entered: &[String]) -> Result<(), LabError> {
    let names = entered.iter().filter_map(|text| {
        let parsed = text.parse::<Specification>().ok()?;
        parsed.get_option("name").filter(|name| comes_along(name)).map(str::to_owned)
    });
    match names.into_iter().next() {
        None => Ok(()),
        Some(name) => {
            Err(LabError::usage_error(format!("'{name}' is the name of an environment that comes along"))
                .with_hint("give the words of --enter another name"))
        }
    }
}

/// Lists the launchers in the user's configuration, by name, with their files.
pub fn list_own_launchers() -> Vec<(String, PathBuf)> {
    let named = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let kept = named.or_else(|| paths::home().map(|home| home.join(platform::CONFIGURATION)));
    let entries = kept.and_then(|kept| fs::read_dir(kept.join("tare/launchers")).ok()).into_iter().flatten();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut own: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(FILE)?.to_owned();
            let is_usable = !name.is_empty() && name.chars().all(is_name) && path.is_file();
            (is_usable && path.to_str().is_some()).then_some((name, path))
        })
        .take(MOST)
        .collect();
    own.sort_unstable();
    own
}

/// Lists the launchers in the user's configuration with their summaries, or why they cannot be read.
pub fn describe_own_launchers() -> Vec<(String, String)> {
    let described = |(name, file): (String, PathBuf)| {
        let found = resolve_launcher(&name).and_then(|text| environments::parse_environment(&text));
        let about = match found {
            Ok(named) => format!("{} ({})", named.provider.summary, file.display()),
            Err(error) => error.to_string(),
        };
        (name, about)
    };
    list_own_launchers().into_iter().map(described).collect()
}

/// Finds the words that `--enter` gives this name.
pub fn find_entered(entered: &[String], name: &str) -> Option<String> {
    let is_named = |text: &&String| {
        text.parse::<Specification>().is_ok_and(|parsed| parsed.get_option("name") == Some(name))
    };
    entered.iter().find(is_named).cloned()
}

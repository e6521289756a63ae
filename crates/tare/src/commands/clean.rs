//! `tare clean`: removes the leftovers of killed sessions.

use tare_data::shell::quote_word;
use tare_lab::error::LabError;
use tare_lab::ownership::clean::{Elsewhere, Outcome, list_leftovers, remove_from_host, remove_unnamed};
#[cfg(unix)]
use tare_probes::here::remove_left_over;
use tare_report::json::render_pretty_json;
use tare_report::text::plain_line;

use crate::args::Clean;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{paths, ui};

/// Leftovers that are found only while they are removed: a lock or a device that is let go shows that nothing uses them.
const NOT_LISTED: &str = "not listed, since only removing them shows that nothing uses them: folders of killed tare here and tare \
                          environment prepare, and loop devices of images that are gone";

/// Lists the things in the journals of dead sessions.
fn list_only(args: &Clean) -> Result<Exit, CommandError> {
    let mut things = Vec::new();
    for state in paths::list_state_folders()? {
        things.extend(list_leftovers(&state, args.from_host.as_deref())?);
    }
    format_list(&things, args.from_host.is_some()).iter().try_for_each(|line| print_line(line))?;
    Ok(Exit::Done)
}

fn format_list(things: &[String], is_of_another: bool) -> Vec<String> {
    let mut lines: Vec<String> =
        things.iter().map(|thing| format!("would remove  {}", plain_line(thing))).collect();
    if things.is_empty() {
        lines.push("no killed session left anything that its journal names; nothing was removed".into());
    }
    if !is_of_another {
        lines.push(NOT_LISTED.into());
    }
    lines
}

/// Prints a line for people, in their language.
fn print_line(line: &str) -> Result<(), LabError> {
    ui::print_text(&(ui::find_language().translate_text(line) + "\n"), false)
}

pub fn run_clean(args: Clean) -> Result<Exit, CommandError> {
    if args.dry_run {
        return list_only(&args);
    }
    let programs = paths::find_programs()?;
    let (mut outcomes, mut elsewhere) = (Vec::new(), Vec::new());
    for state in paths::list_state_folders()? {
        match remove_from_host(&state, &programs, args.from_host.as_deref()) {
            Ok((removed, others)) => {
                outcomes.extend(removed);
                elsewhere.extend(others);
            }
            // Another folder may have been cleaned, and that is told all the same.
            Err(error) => {
                let because = error.causes().collect::<Vec<_>>().join(": ");
                outcomes.push(Outcome { what: error.what, left_because: Some(because) });
            }
        }
    }
    if args.from_host.is_none() {
        outcomes.extend(remove_unnamed(&programs));
        outcomes.extend(remove_here_folders());
    }
    let is_left = |outcome: &&Outcome| outcome.left_because.is_some() && !outcome.is_declared();
    let left = outcomes.iter().filter(is_left).count();
    if args.json {
        let all: Vec<_> = outcomes
            .iter()
            .map(|o| serde_json::json!({ "thing": o.what, "left_because": o.left_because }))
            .collect();
        ui::print_output(render_pretty_json(&serde_json::Value::Array(all)))?;
    } else if outcomes.is_empty() && elsewhere.is_empty() {
        print_line("nothing was left behind")?;
    }
    for outcome in outcomes.iter().filter(|_| !args.json) {
        let what = plain_line(&outcome.what);
        print_line(&match &outcome.left_because {
            None => format!("removed  {what}"),
            Some(reason) => format!("LEFT     {what}: {}", plain_line(reason)),
        })?;
    }
    for Elsewhere { path, host } in elsewhere.iter().filter(|_| !args.json) {
        let path = plain_line(&path.display().to_string());
        let (host, quoted) = (plain_line(host), plain_line(&quote_word(host)));
        print_line(&match host.as_str() {
            "" => format!("OTHER    journal {path}: it is of another machine, where tare clean removes it"),
            _ => format!(
                "OTHER    journal {path}: it is of {host}, where tare clean removes it; if that is gone: tare clean \
                 --from-host {quoted}"
            ),
        })?;
    }
    Ok(if left == 0 { Exit::Done } else { Exit::Environment })
}

/// Removes folders that killed runs of `tare here` left where it makes them.
#[cfg(unix)]
fn remove_here_folders() -> Vec<Outcome> {
    let places: std::collections::BTreeSet<_> =
        super::here::list_references().into_iter().chain(std::env::current_dir().ok()).collect();
    places.iter().flat_map(|place| remove_left_over(place)).map(Outcome::from).collect()
}

/// Removes nothing: `tare here` needs Linux.
#[cfg(not(unix))]
fn remove_here_folders() -> Vec<Outcome> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_what_is_removed_beside_it() {
        let things = ["folder /a".to_owned()];
        assert_eq!(format_list(&things, false), ["would remove  folder /a", NOT_LISTED]);
        assert_eq!(format_list(&things, true), ["would remove  folder /a"]);
        assert_eq!(format_list(&[], false).last().map(String::as_str), Some(NOT_LISTED));
    }
}

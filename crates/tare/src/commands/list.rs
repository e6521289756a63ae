//! `tare list`: lists all names of a kind.

use std::fmt::Write;

use clap::ValueEnum;
use serde_json::json;
use tare_lab::environments::presets::PRESETS;
use tare_lab::environments::{PROVIDERS, list_launchers};
use tare_lab::error::LabError;
use tare_lab::study::published;
use tare_lab::study::{SHIPPED, Study, list_probes};
use tare_report::exports::EXPORTS;

use crate::args::{List, Listed};
use crate::command_error::CommandError;
use crate::commands::own_launchers;
use crate::exit::Exit;
use crate::ui;

/// Heading of launchers that are left out until somebody names one.
const UNTRIED: &str = "Launchers that come along and were not tried, with the words of their manuals:";

pub fn run_list(args: List) -> Result<Exit, CommandError> {
    let Some(what) = args.what else { return list_lists(args.json) };
    let groups = list_groups(what)?;
    if args.json {
        let all: Vec<_> = groups.iter().flat_map(Group::list_documents).collect();
        ui::print_output(format!("{:#}\n", serde_json::Value::Array(all)))?;
        return Ok(Exit::Done);
    }
    let (untried, shown): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| group.heading == Some(UNTRIED));
    for Group { heading, rows, .. } in shown {
        if let Some(heading) = heading {
            ui::print_text(&format!("\n{}\n", ui::find_language().describe(heading)), false)?;
        }
        ui::print_text(&text(rows), false)?;
    }
    for Group { rows, .. } in untried {
        let language = ui::find_language();
        let line = language
            .word("launchers come along, and were not tried: tare list environments --json names them");
        ui::print_text(&format!("\n{} {line}\n", rows.len()), false)?;
    }
    if let Listed::Articles = what {
        let language = ui::find_language();
        ui::print_text(&format!(
            "\n{}\n",
            language.word("'tare run --like NAME' repeats an article's measurements, 'tare show NAME' shows its figures.")
        ), false)?;
    }
    Ok(Exit::Done)
}

/// Prints the lists that there are.
fn list_lists(as_json: bool) -> Result<Exit, CommandError> {
    let names: Vec<String> = Listed::value_variants()
        .iter()
        .filter_map(|what| Some(what.to_possible_value()?.get_name().to_owned()))
        .collect();
    let text = match as_json {
        true => format!("{:#}\n", json!(names)),
        false => names.iter().map(|name| format!("tare list {name}\n")).collect(),
    };
    ui::print_text(&text, as_json)?;
    Ok(Exit::Done)
}

/// A part of a list: the names of one kind, each with a short description.
struct Group {
    heading: Option<&'static str>,
    /// The kind in a JSON document, where a list has several.
    kind: Option<&'static str>,
    rows: Vec<(String, String)>,
}

impl Group {
    fn list_documents(&self) -> impl Iterator<Item = serde_json::Value> {
        self.rows.iter().map(|(name, about)| match self.kind {
            Some(kind) => json!({ "name": name, "about": about, "kind": kind }),
            None => json!({ "name": name, "about": about }),
        })
    }
}

fn list_groups(what: Listed) -> Result<Vec<Group>, LabError> {
    let Listed::Environments = what else {
        return Ok(vec![Group { heading: None, kind: None, rows: rows(what)? }]);
    };
    let of = |heading, kind, rows| Group { heading, kind: Some(kind), rows };
    let presets = PRESETS.iter().map(|p| (p.name.to_owned(), p.summary.to_owned()));
    let launchers = |wanted: bool| {
        let chosen = list_launchers().filter(|(_, tested)| *tested == wanted);
        chosen.map(|(p, _)| (p.name.clone(), p.summary.clone())).collect::<Vec<_>>()
    };
    let groups = [
        of(None, "environment", rows(what)?),
        of(None, "preset", presets.collect()),
        of(Some("Launchers that tare's own tests enter:"), "launcher", launchers(true)),
        of(Some(UNTRIED), "launcher, not tried", launchers(false)),
    ];
    let own = of(
        Some("Launchers in your configuration:"),
        "launcher, own",
        own_launchers::describe_own_launchers(),
    );
    Ok(groups.into_iter().chain([own]).filter(|group| !group.rows.is_empty()).collect())
}

/// Lists all names of a kind, each with a short description.
fn rows(what: Listed) -> Result<Vec<(String, String)>, LabError> {
    Ok(match what {
        Listed::Probes => list_probes().map(|p| (p.name.to_owned(), p.summary.to_owned())).collect(),
        Listed::Environments => PROVIDERS.iter().map(|p| (p.name.clone(), p.summary.clone())).collect(),
        Listed::Studies => SHIPPED
            .iter()
            .map(|(name, _)| Study::from_name(name).map(|study| (study.name, study.title)))
            .collect::<Result<_, _>>()?,
        Listed::Articles => published::list_shipped_articles()?
            .into_iter()
            .map(|article| (article.id, article.title))
            .collect(),
        Listed::Exports => EXPORTS.iter().map(|e| (e.name.to_owned(), e.summary.to_owned())).collect(),
    })
}

/// Formats names and descriptions as two columns.
fn text(rows: Vec<(String, String)>) -> String {
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, about) in rows {
        let about = ui::find_language().describe(&about);
        for (i, line) in
            ui::wrap_text(about, ui::measure_width().saturating_sub(widest + 2)).iter().enumerate()
        {
            let _ = writeln!(text, "{:widest$}  {line}", if i == 0 { name.as_str() } else { "" });
        }
    }
    text
}

/// Lists the published articles, for `tare show articles` too.
pub fn list_articles() -> Result<String, LabError> {
    Ok(text(rows(Listed::Articles)?))
}

#[cfg(test)]
mod tests {
    use tare_report::language::Language;

    use super::*;

    #[test]
    fn every_line_of_a_list_is_in_japanese() {
        for what in Listed::value_variants() {
            for group in list_groups(*what).unwrap() {
                let abouts = group.rows.into_iter().map(|(_, about)| about);
                for text in abouts.chain(group.heading.map(str::to_owned)) {
                    assert!(Language::Japanese.find_description(&text).is_some(), "{text}");
                }
            }
        }
    }
}

//! `tare list`: lists all names of a kind.

use std::fmt::Write;

use serde_json::json;
use tare_lab::environments::PROVIDERS;
use tare_lab::environments::presets::PRESETS;
use tare_lab::error::LabError;
use tare_lab::study::published;
use tare_lab::study::{SHIPPED, Study, list_probes};
use tare_report::exports::EXPORTS;

use crate::args::{List, Listed};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

pub fn run_list(args: List) -> Result<Exit, CommandError> {
    let rows = rows(args.what)?;
    if args.json {
        let all: Vec<_> = rows.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
        ui::print_output(format!("{:#}\n", serde_json::Value::Array(all)))?;
        return Ok(Exit::Done);
    }
    ui::print_output(text(rows))?;
    if let Listed::Published = args.what {
        ui::print_output(
            "\n'tare run --like NAME' repeats an article's measurements, 'tare show NAME' shows its figures.\n",
        )?;
    }
    Ok(Exit::Done)
}

/// Lists all names of a kind, each with a short description.
fn rows(what: Listed) -> Result<Vec<(String, String)>, LabError> {
    Ok(match what {
        Listed::Probes => list_probes().map(|p| (p.name.to_owned(), p.summary.to_owned())).collect(),
        Listed::Environments => {
            let presets = PRESETS.iter().map(|p| (p.name.to_owned(), p.summary.to_owned()));
            let providers = PROVIDERS.iter();
            providers.map(|p| (p.name.to_owned(), p.summary.to_owned())).chain(presets).collect()
        }
        Listed::Studies => SHIPPED
            .iter()
            .map(|(name, _)| Study::from_name(name).map(|study| (study.name, study.title)))
            .collect::<Result<_, _>>()?,
        Listed::Published => published::list_shipped_articles()?
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
        for (i, line) in
            ui::wrap_text(&about, ui::measure_width().saturating_sub(widest + 2)).iter().enumerate()
        {
            let _ = writeln!(text, "{:widest$}  {line}", if i == 0 { name.as_str() } else { "" });
        }
    }
    text
}

/// Lists the published articles, for `tare show published` too.
pub fn list_articles() -> Result<String, LabError> {
    Ok(text(rows(Listed::Published)?))
}

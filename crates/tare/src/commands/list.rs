//! `tare list`: names everything of a kind.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;
use tare_lab::environments::PROVIDERS;
use tare_lab::presets::PRESETS;
use tare_lab::study::{SHIPPED, Study};
use tare_probes::PROBES;

use crate::args::{List, Listed};
use crate::ui;

pub fn run(args: List) -> anyhow::Result<ExitCode> {
    let rows: Vec<(String, String)> = match args.what {
        Listed::Probes => PROBES.iter().map(|p| (p.name.to_owned(), p.summary.to_owned())).collect(),
        Listed::Environments => {
            let presets = PRESETS.iter().map(|p| (p.name.to_owned(), p.summary.to_owned()));
            PROVIDERS.iter().map(|p| (p.name().to_owned(), p.summary().to_owned())).chain(presets).collect()
        }
        Listed::Studies => SHIPPED
            .iter()
            .map(|(name, _)| Study::named(name).map(|study| (study.name, study.title)))
            .collect::<Result<_, _>>()?,
    };
    if args.json {
        let all: Vec<_> = rows.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
        ui::print(&format!("{:#}\n", serde_json::Value::Array(all)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, about) in rows {
        for (i, line) in ui::wrapped(&about, ui::width().saturating_sub(widest + 2)).iter().enumerate() {
            writeln!(text, "{:widest$}  {line}", if i == 0 { name.as_str() } else { "" })?;
        }
    }
    ui::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

//! `tare fleet status`: shows the progress of a fleet.

use std::fmt::Write;

use serde_json::json;
use tare_lab::fleet::files::What;
use tare_lab::fleet::folder::{CellState, Folder};
use tare_report::json::render_pretty_json;
use tare_report::text::plain_line;

use super::whole_path::open_fleet;
use crate::args::fleet::FleetStatus;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Maximum number of missing cells to list. The rest is only counted.
const MOST_LINES: usize = 50;

pub fn run_fleet_status(args: &FleetStatus) -> Result<Exit, CommandError> {
    let folder = Folder::open(&open_fleet(&args.folder)?)?;
    ui::print_text(
        &if args.json { render_pretty_json(&document(&folder)) } else { format_status(&folder) },
        args.json,
    )?;
    Ok(Exit::Done)
}

/// Tells whether everything in the plan has been measured.
pub fn is_whole(folder: &Folder) -> bool {
    let (whole, of) = folder.count_sessions();
    whole == of
}

/// Formats one line for the measured cells, and one for each missing cell.
pub fn format_status(folder: &Folder) -> String {
    let (whole, of) = folder.count_sessions();
    let mut text = format!("{whole} of {of} sessions on {} nodes\n", folder.wanted.nodes.len());
    let missing = missing(folder);
    for (name, what) in missing.iter().take(MOST_LINES) {
        writeln!(text, "  {}  {}", plain_line(name), plain_line(what)).expect("a text takes every line");
    }
    if missing.len() > MOST_LINES {
        writeln!(text, "  and {} more", missing.len() - MOST_LINES).expect("a text takes every line");
    }
    if folder.strangers > 0 {
        writeln!(text, "  {} files have names that tare does not give", folder.strangers)
            .expect("a text takes every line");
    }
    if !is_whole(folder) {
        let again = if folder.is_confirming() { " --confirm" } else { "" };
        let path = plain_line(&folder.path.display().to_string());
        writeln!(text, "\n  tare fleet run {path}{again}").expect("a text takes every line");
    }
    text
}

/// Lists the incomplete cells and pairs, each with the reason as far as it is known. A session that replaced
/// another one completes its cell.
fn missing(folder: &Folder) -> Vec<(String, String)> {
    let whole_of =
        |node: &str| folder.cells.iter().filter(|cell| cell.node == node && cell.what.is_whole()).count();
    let wanted = folder.wanted.sessions as usize;
    let cells = folder.cells.iter().filter(|cell| !cell.what.is_whole() && whole_of(&cell.node) < wanted);
    cells
        .map(|CellState { node, session, what }| (format!("{node} session {session}"), words(what)))
        .collect()
}

fn words(what: &What) -> String {
    match what {
        What::Whole => "measured".to_owned(),
        What::Running => "submitted, or running".to_owned(),
        What::BrokenOff { why: Some(why) } => format!("broke off: {why}"),
        What::BrokenOff { why: None } => "broke off: no process is writing to it".to_owned(),
        What::Missing { why: Some(why) } => format!("missing: {why}"),
        What::Missing { why: None } => "missing: not begun".to_owned(),
    }
}

fn document(folder: &Folder) -> serde_json::Value {
    let (whole, of) = folder.count_sessions();
    let kind = |what: &What| match what {
        What::Whole => "whole",
        What::Running => "running",
        What::BrokenOff { .. } => "broken_off",
        What::Missing { .. } => "missing",
    };
    let cells: Vec<_> = folder
        .cells
        .iter()
        .map(|cell| {
            json!({ "node": cell.node, "session": cell.session, "state": kind(&cell.what), "why": cell.what.reason() })
        })
        .collect();
    let missing: Vec<_> =
        folder.open_cells().iter().map(|c| json!({ "node": c.node, "session": c.session })).collect();
    json!({
        "fleet": folder.plan.fleet, "nodes": folder.plan.nodes.len(), "whole": whole, "of": of, "cells": cells,
        "missing": missing, "strange_files": folder.strangers,
    })
}

//! `tare check --time`: brings environments up several times and says how long it takes.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;
use tare_data::session::{Role, Target};
use tare_data::unit::Unit;
use tare_lab::ownership::clean;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::session::bring_up::{BringUp, bring_up};
use tare_lab::session::live::LiveArena;
use tare_lab::session::progress::{Event, Observer};
use tare_lab::session::targets::{resolve, resolve_default};
use tare_lab::storage::places::Wanted;
use tare_report::number::Figure;

use super::run::{tell_left, watch_signals};
use crate::args::Check;
use crate::failure::Exit;
use crate::{paths, ui};

pub fn run(args: &Check) -> anyhow::Result<ExitCode> {
    let interrupted = watch_signals()?;
    let state = paths::state()?;
    tell_left(clean::clean(&state)?);
    let programs = paths::programs()?;
    let mut resolved = match args.environments.split_first() {
        None => resolve_default("native", &programs)?,
        Some((first, others)) => resolve(first, others, &programs)?,
    };
    resolved.retain(|resolved| resolved.target.role != Role::Control);
    let targets: Vec<Target> = resolved.iter().map(|resolved| resolved.target.clone()).collect();
    let setting = Setting {
        state,
        scratch: args.scratch.clone().unwrap_or_else(paths::scratch),
        binary: paths::binary()?,
        wanted: Wanted::default(),
        programs,
    };
    let workspace = SessionWorkspace::make(&setting)?;
    let mut arena = LiveArena::new(resolved, &workspace, &interrupted, Instant::now());
    let mut progress = ui::Progress::new();
    let all = bring_up(&targets, args.times, &mut arena, &mut |name, time| {
        let target = format!("{name}, {time} of {}", args.times);
        progress.event(Event::Entering { target: &target });
        !interrupted.load(Ordering::Relaxed)
    });
    progress.clear();
    tell_left(arena.leave_all());
    drop(arena);
    tell_left(workspace.close());
    ui::print(&if args.json { document(&all) } else { table(&all) })?;
    Ok(match interrupted.load(Ordering::Relaxed) {
        true => Exit::Interrupted.into(),
        false if all.iter().any(|one| one.failure.is_some()) => Exit::Environment.into(),
        false => ExitCode::SUCCESS,
    })
}

fn document(all: &[BringUp]) -> String {
    let rows: Vec<_> = all
        .iter()
        .map(|one| {
            let [least, median, most] = one.summary_ns().map_or([None; 3], |summary| summary.map(Some));
            json!({
                "environment": one.name,
                "specification": one.specification,
                "times_ns": one.times_ns,
                "median_ns": median,
                "min_ns": least,
                "max_ns": most,
                "failure": one.failure.as_ref().map(ToString::to_string),
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(rows))
}

fn table(all: &[BringUp]) -> String {
    let widest = all.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).max("environment".len());
    let mut text = String::new();
    let _ = writeln!(text, "{:widest$}  {:>9}  {:>9}  {:>9}  starts", "environment", "median", "min", "max");
    for one in all {
        let _ = write!(text, "{:widest$}", one.name);
        if let Some([least, median, most]) = one.summary_ns() {
            for time in [median, least, most] {
                let _ = write!(text, "  {:>9}", Figure::plain(time as f64, Unit::Nanoseconds).text());
            }
            let _ = write!(text, "  {}", one.times_ns.len());
        }
        if let Some(failure) = &one.failure {
            let _ = write!(text, "  failed: {failure}");
        }
        text.push('\n');
    }
    text.push_str("\nFrom entering to the agent's first word; the host's own start is in it.\n");
    text
}

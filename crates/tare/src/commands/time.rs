//! `tare check --time`: times the start of environments.

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;
use tare_data::unit::Unit;
use tare_lab::error::LabError;
use tare_lab::session::{BringUp, Starts, time_starts};
use tare_report::json::render_pretty_json;
use tare_report::number::Figure;
use tare_report::text::plain_line;

use crate::args::Check;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{invocation, paths, signals, ui};

pub fn run_check_time(args: &Check) -> Result<Exit, CommandError> {
    let Timed { starts, was_interrupted } =
        time_environments(&args.environments, Starts::Timed(args.times), args)?;
    let all = starts?;
    ui::print_text(&if args.json { document(&all) } else { table(&all) }, args.json)?;
    Ok(match was_interrupted {
        true => Exit::Interrupted,
        false if all.iter().any(|one| one.failure.is_some()) => Exit::Environment,
        false => Exit::Done,
    })
}

/// Starts of environments, or why none could begin.
pub struct Timed {
    pub starts: Result<Vec<BringUp>, LabError>,
    pub was_interrupted: bool,
}

/// Enters environments, with the progress on standard error.
pub fn time_environments(named: &[String], how: Starts, args: &Check) -> Result<Timed, CommandError> {
    let interrupted = signals::watch_signals()?;
    let setting = paths::make_setting(args.scratch.as_deref())?;
    let caller = invocation::make_caller(Instant::now(), &interrupted);
    let mut progress = ui::Progress::new();
    let starts = time_starts(named, how, &setting, &caller, &mut progress);
    progress.clear();
    Ok(Timed { starts, was_interrupted: interrupted.load(Ordering::Relaxed) })
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
    render_pretty_json(&serde_json::Value::Array(rows))
}

fn table(all: &[BringUp]) -> String {
    let widest = all.iter().map(|one| one.name.chars().count()).max().unwrap_or(0).max("environment".len());
    let mut text = String::new();
    let _ = writeln!(text, "{:widest$}  {:>9}  {:>9}  {:>9}  starts", "environment", "median", "min", "max");
    for one in all {
        let _ = write!(text, "{:widest$}", plain_line(&one.name));
        if let Some([least, median, most]) = one.summary_ns() {
            for time in [median, least, most] {
                let _ = write!(
                    text,
                    "  {:>9}",
                    Figure::without_interval(time as f64, Unit::Nanoseconds).to_text()
                );
            }
            let _ = write!(text, "  {}", one.times_ns.len());
        }
        if let Some(failure) = &one.failure {
            let _ = write!(text, "  failed: {}", plain_line(&failure.to_string()));
        }
        text.push('\n');
    }
    text.push_str("\nFrom entering until the agent answers; starting a process on the host is part of it.\n");
    text
}

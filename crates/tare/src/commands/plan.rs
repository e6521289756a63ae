//! `tare plan`: estimates the session that an effect needs, from a short pilot session or from a record.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tare_analysis::forecast::{Forecast, compute_forecasts};
use tare_data::session::{Ending, Session};
use tare_lab::asked::{Measured, Request, Until};
use tare_lab::error::{ErrorKind, LabError};
use tare_report::number::{format_count, format_duration, format_percent};
use tare_report::text::clean_text;

use crate::args::Plan;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{recorded, ui};

/// Rounds of each case from which a spread is read: as many as the second look has.
const PILOT_ROUNDS: u32 = 18;

pub fn run_plan(args: &Plan) -> Result<Exit, CommandError> {
    let record =
        args.study.as_deref().map(Path::new).filter(|path| path.extension().is_some_and(|e| e == "tare"));
    let session = match record {
        Some(record) => tare_record::read_session(record)?.session,
        None => pilot(args)?,
    };
    if record.is_none() && session.ending == Ending::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let options = tare_analysis::Options { margin: args.margin.map(libm::log1p), ..Default::default() };
    let forecasts = compute_forecasts(&session, libm::log1p(args.effect), &options);
    if forecasts.is_empty() {
        let nothing = LabError::new(ErrorKind::Usage, "there is not enough data to plan")
            .with_cause("no environment has six rounds together with the baseline")
            .with_hint("name a study, or a record of a longer session");
        return Err(nothing.into());
    }
    ui::print_text(
        &if args.json { document(&forecasts, args.effect) } else { table(&forecasts, args.effect) },
        args.json,
    )?;
    Ok(Exit::Done)
}

/// Measures a few rounds of every case, without keeping a record.
fn pilot(args: &Plan) -> Result<Session, CommandError> {
    let named = args.study.clone().map(Measured::Named);
    let measured = named.unwrap_or_else(|| Measured::choose_study(&args.only, &[]));
    let request = Request {
        environments: args.environments.clone(),
        only: args.only.clone(),
        places: args.places.clone(),
        until: Some(Until::Rounds(PILOT_ROUNDS)),
        ..Request::new(measured, &args.against, PathBuf::new())
    };
    recorded::measure_unkept(request, args.scratch.as_deref())
}

fn document(forecasts: &[Forecast], effect: f64) -> String {
    let cells: Vec<_> = forecasts
        .iter()
        .map(|f| {
            json!({
                "case": f.case,
                "environment": f.target,
                "measured": f.measured,
                "deviation": f.deviation,
                "rounds": f.rounds,
                "seconds": f.s,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "effect": effect, "cells": cells }))
}

fn table(forecasts: &[Forecast], effect: f64) -> String {
    let widest = |of: fn(&Forecast) -> &str, heading: &str| {
        forecasts.iter().map(|f| clean_text(of(f)).chars().count()).max().unwrap_or(0).max(heading.len())
    };
    let (probe, environment) = (widest(|f| &f.label, "probe"), widest(|f| &f.target, "environment"));
    let mut text = format!("To find a difference of {} with a chance of 80 %\n\n", format_percent(effect));
    let _ = writeln!(
        text,
        "{:probe$}  {:environment$}  {:>7}  {:>7}  {:>12}",
        "probe", "environment", "spread", "rounds", "time"
    );
    let mut at_edge = false;
    for f in forecasts {
        let (rounds, time) = match (f.rounds, f.s) {
            (Some(rounds), Some(s)) => (rounds.to_string(), format_duration(s.max(1.0))),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        at_edge |= f.rounds.is_none();
        let (label, target) = (clean_text(&f.label), clean_text(&f.target));
        let _ = writeln!(
            text,
            "{label:probe$}  {target:environment$}  {:>5.1} %  {rounds:>7}  {time:>12}",
            f.deviation * 100.0
        );
    }
    let known: Vec<f64> = forecasts.iter().filter_map(|f| f.s).collect();
    let mut below = match known.as_slice() {
        [] => String::new(),
        known => format!(
            "{}, one after the other: {}. ",
            format_count(known.len(), "comparison", "comparisons"),
            format_duration(known.iter().sum::<f64>().max(1.0))
        ),
    };
    below.push_str("Spread is that of a round's ratio.");
    if at_edge {
        below.push_str(
            " A difference as large as a case's margin lies at its edge, where no number of rounds decides; --margin \
             sets another.",
        );
    }
    for line in ui::wrap_text(&below, ui::measure_width()) {
        let _ = write!(text, "\n{line}");
    }
    text.push('\n');
    text
}

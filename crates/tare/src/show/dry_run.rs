//! A dry run: the measurements and actions of a session, under five headings.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tare_lab::asked::Until;
use tare_lab::session::{DryRun, Outlook};
use tare_report::json::render_pretty_json;
use tare_report::number::format_count;
use tare_report::text::plain_line;

use crate::ui;

/// Formats a dry run, including the output files with their descriptions, as text or as JSON.
pub fn format_dry_run(
    mut dry: DryRun,
    announced: Option<String>,
    files: &[(PathBuf, String)],
    as_json: bool,
) -> String {
    let whole = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let lines = files.iter().map(|(file, what)| format!("{}: {what}", whole(file).display()));
    dry.write.splice(1..1, lines);
    let parts = [("start", &dry.start), ("mount", &dry.mount), ("write", &dry.write), ("send", &dry.send)];
    if as_json {
        let measure = dry.measure.iter().map(|outlook| ("measure".to_owned(), render_outlook(outlook)));
        let parts = parts.iter().map(|(name, lines)| ((*name).to_owned(), json!(lines)));
        let parts: serde_json::Map<String, Value> = measure.chain(parts).collect();
        return render_pretty_json(&parts.into());
    }
    let measure: Vec<String> = dry.measure.iter().flat_map(describe_outlook).collect();
    let measure = [("measure", &measure)].into_iter().filter(|(_, lines)| !lines.is_empty());
    let language = ui::find_language();
    let done = language.translate_text("This session would do the following. Nothing of it was done.");
    let mut text = ui::wrap_text(&done, ui::measure_width()).join("\n") + "\n";
    for line in announced.iter().flat_map(|needs| ui::wrap_text(needs, ui::measure_width())) {
        let _ = writeln!(text, "{line}");
    }
    for (name, lines) in measure.chain(parts) {
        let _ = write!(text, "\n{}\n", language.translate_text(name));
        for line in lines {
            let line = language.translate_text(&plain_line(line));
            let lines = ui::wrap_text(&line, ui::measure_width().saturating_sub(4));
            for (i, line) in lines.iter().enumerate() {
                let _ = writeln!(text, "{}{line}", if i == 0 { "  " } else { "    " });
            }
        }
    }
    text
}

/// Describes what a session would measure, and how far its time would go.
fn describe_outlook(outlook: &Outlook) -> Vec<String> {
    let Outlook { cases, environments, comparisons, pairs, seconds, .. } = outlook;
    let language = ui::find_language();
    let comparisons = language.counted(*comparisons, "comparison", "comparisons");
    let (cases, names) = (language.counted(*cases, "case", "cases"), language.join_with_and(environments));
    let all = match outlook.if_ready {
        true => language.word("{cases} in {names}, if these are ready: {comparisons}"),
        false => language.word("{cases} in {names}: {comparisons}"),
    };
    let all = all.replace("{cases}", &cases).replace("{names}", &names);
    let mut lines = vec![all.replace("{comparisons}", &comparisons)];
    let pairs = language.counted(*pairs as usize, "pair", "pairs");
    let of_each = match outlook.one_look {
        true => language.word("{pairs} of each"),
        false => language.word("{pairs} of each until the first look"),
    };
    let pairs = of_each.replace("{pairs}", &pairs);
    lines.push(match seconds {
        Some(s) => {
            let time = language.format_duration(s.max(1.0));
            format!("{pairs}: about {time}, with the time to enter and to calibrate")
        }
        None => pairs,
    });
    lines.extend(describe_end(outlook));
    lines.extend(outlook.left_out.iter().map(|absent| absent.note.clone()));
    lines.extend(outlook.notes.iter().cloned());
    let unknown = [&outlook.unknown_environments[..], &outlook.unknown_probes[..]].concat();
    if !unknown.is_empty() {
        let without = if seconds.is_some() { "not in these seconds, because " } else { "" };
        lines.push(format!("{without}the time is not known: {}", language.join_with_and(&unknown)));
    }
    lines.extend(outlook.runs.map(|runs| describe_runs(runs, outlook.until)));
    if seconds.is_some() {
        lines.push(format!("these are typical times, from {}", outlook.paces_from));
    }
    lines
}

/// Describes what ends a session that has no fixed number of rounds.
fn describe_end(outlook: &Outlook) -> Option<String> {
    match outlook.until {
        Until::Rounds(_) => None,
        Until::Decided => Some("then more pairs, until everything is decided".to_owned()),
        Until::Budget(budget) => {
            let budget_s = budget.as_secs_f64();
            let is_short = outlook.seconds.is_some_and(|s| s > budget_s);
            let then = match () {
                () if is_short => "too short for that",
                () if outlook.one_look => "nothing is decided before its end",
                () => "then more pairs of whatever is undecided",
            };
            Some(format!("budget of {}: {then}", ui::find_language().format_duration(budget_s)))
        }
    }
}

/// Says what is known of commands before they run.
fn describe_runs([least, most]: [u32; 2], until: Until) -> String {
    let runs = if least == most {
        format_count(most as usize, "run", "runs")
    } else {
        format!("{least} to {most} runs")
    };
    let more = match until {
        Until::Rounds(_) | Until::Decided => "",
        Until::Budget(_) => ", and the budget has room for more pairs of a quick one",
    };
    format!(
        "the time of a command is not known until it runs: a pair has {runs} of it in each environment{more}"
    )
}

/// Renders what a session would measure as JSON.
fn render_outlook(outlook: &Outlook) -> Value {
    let tenths = |s: f64| (s * 10.0).round() / 10.0;
    let (rounds, budget_s) = match outlook.until {
        Until::Rounds(rounds) => (Some(rounds), None),
        Until::Budget(budget) => (None, Some(budget.as_secs_f64())),
        Until::Decided => (None, None),
    };
    let left_out = outlook.left_out.iter().map(|absent| {
        json!({ "environment": absent.environment, "lacks_s": tenths(absent.lacking_s), "note": absent.note })
    });
    json!({
        "cases": outlook.cases,
        "environments": outlook.environments,
        "if_ready": outlook.if_ready,
        "comparisons": outlook.comparisons,
        "pairs": outlook.pairs,
        "one_look": outlook.one_look,
        "pairs_s": outlook.seconds.map(tenths),
        "rounds": rounds,
        "budget_s": budget_s,
        "left_out": left_out.collect::<Vec<Value>>(),
        "notes": outlook.notes,
        "unknown": { "environments": outlook.unknown_environments, "probes": outlook.unknown_probes },
        "runs_of_a_command": outlook.runs,
        "paces_from": outlook.paces_from,
    })
}

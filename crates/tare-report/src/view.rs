//! What a view is: how wide, how coloured, how much; and what every view shows around its table.

use std::collections::BTreeMap;

use tare_analysis::findings::{Findings, Row, Verdict};
use tare_data::session::{Ending, PlannedCase, Role, Session};

use crate::number::{counted, duration, percent};
use crate::text::{GLUE, clean, listed};
use crate::{sentence, words};

/// More rounds than this are not offered as a way to decide a verdict: nobody waits for them.
const MOST_ROUNDS_OFFERED: u32 = 400;

/// How a session is shown on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Columns of the terminal; less than [`crate::terminal::NARROWEST`] is laid out as that.
    pub width: usize,
    /// Whether verdicts are coloured. The caller knows of `NO_COLOR` and whether this is a terminal.
    pub colour: bool,
    /// Every metric, with the environment's own figure and the distribution of its rounds.
    pub wide: bool,
    /// Path of the record.
    pub record: Option<&'a str>,
    /// Path of the page.
    pub html: Option<&'a str>,
    /// The command that measures the same again.
    pub again: Option<&'a str>,
    /// How long the session took; read from the trials where it is not given.
    pub elapsed_s: Option<f64>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            width: 80,
            colour: false,
            wide: false,
            record: None,
            html: None,
            again: None,
            elapsed_s: None,
        }
    }
}

/// The rows that a view shows: the headline of every case, or every metric.
pub fn rows(findings: &Findings, every_metric: bool) -> Vec<&Row> {
    findings.rows.iter().filter(|row| every_metric || row.headline).collect()
}

/// Where a row's work happens, beside its label: `file.seq · own`, `net.rr · to host`.
pub fn where_it_runs(row: &Row) -> String {
    let mut parts = vec![clean(&row.probe)];
    parts.extend(row.place.as_deref().map(clean));
    parts.extend(row.peer.as_deref().map(|peer| format!("to {}", clean(peer))));
    parts.join(" · ")
}

/// What was compared, where, with which seed, for how long: the parts of the first line.
pub fn heading(session: &Session, findings: &Findings, elapsed_s: Option<f64>) -> Vec<String> {
    let environments = session.plan.targets.iter().filter(|target| target.role != Role::Control).count();
    let elapsed_s = elapsed_s.or_else(|| measured_s(session));
    let mut parts = vec![
        clean(&session.plan.study),
        format!("against {}", clean(&findings.baseline)),
        counted(environments, "environment", "environments"),
        format!("seed {:x}", session.plan.seed),
    ];
    parts.extend(elapsed_s.map(duration));
    parts.push(rounds(findings));
    parts
}

/// From the beginning of the session to the end of its last trial.
pub fn measured_s(session: &Session) -> Option<f64> {
    let end_ns = session.trials.iter().map(|t| t.started_ns.saturating_add(t.host_elapsed_ns)).max()?;
    Some(end_ns as f64 / 1e9)
}

/// `18 rounds`, or `12-18 rounds` where racing let some cases leave early.
fn rounds(findings: &Findings) -> String {
    let counts = || {
        let levels = findings.rows.iter().filter_map(|row| row.baseline.as_ref());
        levels.map(|level| level.rounds).filter(|rounds| *rounds > 0)
    };
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => format!("{least}-{most} rounds"),
        (_, Some(most)) => counted(most as usize, "round", "rounds"),
        _ => "no finished round".into(),
    }
}

/// The banner of a session whose baseline differs from itself.
pub fn banner(findings: &Findings) -> Option<String> {
    let certificate = &findings.certificate;
    certificate.banner.then(|| {
        format!(
            "This session cannot be trusted: {} differs from itself in {} of {} cells, more than chance \
             allows. Quieten the machine (tare check names what is loud) and run again.",
            clean(&findings.baseline),
            certificate.control_coloured,
            certificate.control_cells
        )
    })
}

/// What the words in the table mean: only those that stand in it.
pub fn legend(session: &Session, rows: &[&Row], baseline: &str) -> Vec<String> {
    let cells = || rows.iter().flat_map(|row| &row.cells).filter_map(words::comparison);
    if cells().next().is_none() {
        return Vec::new();
    }
    let margin = margins(&session.plan.cases);
    let baseline = clean(baseline);
    let meanings: [(&[Verdict], String); 4] = [
        (&[Verdict::Slower, Verdict::Faster], format!("beyond {margin} of {baseline}")),
        (&[Verdict::Same], format!("shown to lie within {margin}")),
        (&[Verdict::SlowerUnclear, Verdict::FasterUnclear], "direction known, size not".into()),
        (&[Verdict::Inconclusive], "more rounds are needed".into()),
    ];
    let mut parts = Vec::new();
    for (verdicts, meaning) in meanings {
        let stands = |v: &&Verdict| cells().any(|cell| cell.verdict == **v);
        let present: Vec<&str> = verdicts.iter().filter(stands).map(|v| words::verdict(*v)).collect();
        if !present.is_empty() {
            parts.push(format!("{}{GLUE}= {meaning}", present.join(", ")));
        }
    }
    if cells().any(words::is_uncorrected) {
        parts.push(format!("{} = may be chance among so many cells", words::UNCORRECTED));
    }
    parts.push("[ ] = 95 % interval".into());
    parts
}

/// `±2 %`, or `±1 % to ±5 %` where cases have margins of their own.
fn margins(cases: &[PlannedCase]) -> String {
    let shares = || cases.iter().map(|case| case.margin.exp_m1()).filter(|share| share.is_finite());
    let least = shares().fold(f64::INFINITY, f64::min);
    let most = shares().fold(0.0, f64::max);
    let (low, high) = (percent(least), percent(most));
    match shares().next() {
        None => "the margin".into(),
        Some(_) if low == high => format!("±{high}"),
        Some(_) => format!("±{low} to ±{high}"),
    }
}

/// What the session says of its own power: A/An environment, smallest effect, verdicts, disturbed rounds.
pub fn certificate(findings: &Findings) -> Vec<String> {
    let certificate = &findings.certificate;
    let mut lines = vec![match certificate.control_cells {
        0 => "No A/An environment: the session did not check itself.".to_owned(),
        cells => {
            format!(
                "A/An environment: {} of {} coloured.",
                certificate.control_coloured,
                counted(cells, "cell", "cells")
            )
        }
    }];
    match certificate.smallest_effect {
        Some(effect) if effect.is_finite() => lines.push(format!(
            "Smallest effect this session could have found: {}.",
            percent((effect - 1.0).abs())
        )),
        _ if findings.subjects.is_empty() => {}
        _ => lines.push("Too few rounds to say what effect this session could have found.".into()),
    }
    if certificate.compared > 0 {
        let all = counted(certificate.compared, "verdict", "verdicts");
        lines.push(format!("{} of {all} decided.", certificate.decided));
    }
    lines.extend(undecided(findings));
    if certificate.repeated > 0 {
        let rounds = counted(certificate.repeated as usize, "round was", "rounds were");
        lines.push(format!("{rounds} disturbed and run again."));
    }
    lines
}

/// What it would take to decide the cells that nobody can tell.
fn undecided(findings: &Findings) -> Option<String> {
    let cells = findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    let needed: Vec<u32> = cells
        .filter_map(words::comparison)
        .filter(|c| c.verdict == Verdict::Inconclusive)
        .filter_map(words::rounds_needed)
        .collect();
    let within = needed.iter().copied().filter(|rounds| *rounds <= MOST_ROUNDS_OFFERED).max()?;
    let beyond = needed.len() - needed.iter().filter(|rounds| **rounds <= MOST_ROUNDS_OFFERED).count();
    let rest = if beyond == 0 { String::new() } else { format!(" all but {beyond} of") };
    Some(format!("About {within} rounds would tell{rest} the others (--rounds {within})."))
}

/// Doubts about a whole environment or the session, each with its advice. The banner stands for the control environment's.
pub fn warnings(findings: &Findings) -> Vec<String> {
    let mut by_words: BTreeMap<(usize, String, &'static str), Vec<String>> = BTreeMap::new();
    let mut order = Vec::new();
    for (target, warning) in &findings.warnings {
        let said = clean(&warning.words());
        let place = order.iter().position(|known| *known == said).unwrap_or_else(|| {
            order.push(said.clone());
            order.len() - 1
        });
        let targets = by_words.entry((place, said, warning.advice())).or_default();
        targets.extend(target.as_deref().map(clean));
    }
    let line = |((_, said, advice), targets): ((usize, String, &str), Vec<String>)| {
        let who = if targets.is_empty() { "session".to_owned() } else { listed(&targets) };
        format!("{who}: {said}; {advice}.")
    };
    by_words.into_iter().map(line).collect()
}

/// A sentence an environment: its name and what it costs.
pub fn sentences(findings: &Findings) -> Vec<(String, String)> {
    findings.costs.iter().map(|cost| (clean(&cost.target), sentence::cost(cost))).collect()
}

/// How the session ended, when it did not end by itself, with what goes on from there.
pub fn ending(findings: &Findings, record: Option<&str>) -> Option<String> {
    let said = words::ending(findings.ending)?;
    let resume = match (findings.ending, record) {
        (Ending::Complete, _) | (_, None) => String::new(),
        (_, Some(record)) => format!(" tare run --resume {} goes on.", clean(record)),
    };
    Some(format!("{said}{resume}"))
}

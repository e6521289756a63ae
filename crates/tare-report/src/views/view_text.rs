//! The text of a view: lines, wrapped prose, numbers as C writes them, and tare's own results beside them.

use tare_analysis::findings::{Cell, Findings};
use tare_analysis::pooled::{Pooled, Runs, runs};
use tare_data::session::{Role, Session};

use crate::language::Language;
use crate::number::{Figure, counted};
use crate::text::{clean, paragraph};
use crate::words;

const WIDTH: usize = 80;
/// Figures from here on are written with an exponent: no honest one is as long.
const LONGEST_PLAIN: f64 = 1e15;

/// The text of a view while it grows.
#[derive(Default)]
pub(super) struct ViewText(String);

impl ViewText {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    pub(super) fn blank(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    /// Prose, wrapped, behind `first`.
    pub(super) fn prose(&mut self, first: &str, text: &str) {
        paragraph(first, text, WIDTH).iter().for_each(|line| self.line(line));
    }

    pub(super) fn text(mut self) -> String {
        while self.0.ends_with("\n\n") {
            self.0.pop();
        }
        self.0
    }
}

/// tare's own result for a metric of a case in an environment: median, rounds, and how it compares.
pub(super) fn own(
    session: &Session,
    findings: &Findings,
    case: &str,
    metric: &str,
    target: &str,
) -> Option<String> {
    let row = findings.rows.iter().find(|row| row.case == case && row.metric.name == metric)?;
    let unit = row.metric.unit;
    let role = session.plan.targets.iter().find(|of| of.name == target)?.role;
    let cell = match role {
        Role::Baseline => {
            let level = row.baseline.as_ref()?;
            let figure = Figure::of_level(level, unit);
            return Some(format!("{} over {}", figure.text_with_half(), rounds(level.rounds)));
        }
        Role::Control => row.control.as_ref()?,
        Role::Planted => return None,
        Role::Subject => row.cells.get(findings.subjects.iter().position(|name| name == target)?)?,
    };
    Some(match cell {
        Cell::Compared(comparison) => {
            let level = &comparison.level;
            let figure = Figure::of_level(level, unit);
            let (value, baseline) = (figure.text_with_half(), clean(&findings.baseline));
            format!(
                "{value} over {}; against {baseline}: {}",
                rounds(level.rounds),
                words::cell(cell, Language::English)
            )
        }
        Cell::Observed(level) => {
            format!("{} over {}", Figure::plain(level.median, unit).text(), rounds(level.rounds))
        }
        Cell::Missing(_) => clean(&words::cell(cell, Language::English)),
    })
}

pub(super) fn rounds(count: u32) -> String {
    counted(count as usize, "round", "rounds")
}

/// Adds tare's own result, where there is one.
pub(super) fn push_own(
    out: &mut ViewText,
    session: &Session,
    findings: &Findings,
    (case, metric, target): (&str, &str, &str),
) {
    if let Some(own) = own(session, findings, case, metric, target) {
        out.prose("    tare's own: ", &own);
    }
}

/// A number with this many decimals, as C's `%.nf` writes it.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    match value {
        v if !v.is_finite() => "?".into(),
        v if v.abs() >= LONGEST_PLAIN => format!("{v:.3e}"),
        v => format!("{v:.decimals$}"),
    }
}

/// A view of pooled trials: what it is, and a block for each case in each environment, or what would measure them.
pub(super) fn pooled_view(
    (session, findings): (&Session, &Findings),
    (about, absent): (&str, &str),
    probes: &[&str],
    label: impl Fn(&Runs<'_>) -> String,
    block: impl Fn(&mut ViewText, &Runs<'_>, &Pooled),
) -> String {
    let mut out = ViewText::default();
    out.prose("", about);
    let all = runs(session, probes);
    if all.is_empty() {
        out.blank();
        out.prose("", absent);
    }
    for run in &all {
        out.blank();
        let pooled = Pooled::of(&run.trials);
        let failures = if pooled.failed > 0 { format!(", {} failed", pooled.failed) } else { String::new() };
        let trials = counted(pooled.trials, "trial", "trials");
        out.line(&format!("{} · {} · {trials}{failures}", clean(&label(run)), clean(run.target)));
        if pooled.trials == 0 {
            out.prose("    ", &clean(&run.absence()));
            continue;
        }
        block(&mut out, run, &pooled);
        let headline = run.case.metrics.first().map_or("", |metric| metric.name.as_str());
        push_own(&mut out, session, findings, (&run.case.id, headline, run.target));
    }
    out.text()
}

//! Views for readers of other tools' reports: their lines, filled from a session's raw trials, beside tare's own figures.
//!
//! The wording follows each tool's report so that every line is recognised, and says that tare measured it.

use tare_analysis::findings::{Cell, Findings};
use tare_data::session::{Role, Session};

use crate::number::{Figure, counted};
use crate::text::{clean, paragraph};
use crate::words;

mod crystaldiskmark;
mod dd;
mod netperf;
mod sysbench;
mod unixbench;

/// Widest line of prose.
const WIDTH: usize = 80;
/// Figures from here on are written with an exponent: no honest one is as long.
const LONGEST_PLAIN: f64 = 1e15;

/// A tool whose report a view follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    UnixBench,
    Sysbench,
    Dd,
    Netperf,
    CrystalDiskMark,
}

/// A session's raw trials in the lines of a tool's report.
pub fn render(tool: Tool, session: &Session, findings: &Findings) -> String {
    match tool {
        Tool::UnixBench => unixbench::render(session, findings),
        Tool::Sysbench => sysbench::render(session, findings),
        Tool::Dd => dd::render(session, findings),
        Tool::Netperf => netperf::render(session, findings),
        Tool::CrystalDiskMark => crystaldiskmark::render(session, findings),
    }
}

/// The text of a view while it grows.
#[derive(Default)]
struct ViewText(String);

impl ViewText {
    fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    fn blank(&mut self) {
        if !self.0.is_empty() && !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    /// Prose, wrapped, behind `first`.
    fn prose(&mut self, first: &str, text: &str) {
        paragraph(first, text, WIDTH).iter().for_each(|line| self.line(line));
    }

    fn text(mut self) -> String {
        while self.0.ends_with("\n\n") {
            self.0.pop();
        }
        self.0
    }
}

/// tare's own result for a metric of a case in an environment: median, rounds, and how it compares.
fn own(session: &Session, findings: &Findings, case: &str, metric: &str, target: &str) -> Option<String> {
    let row = findings.rows.iter().find(|row| row.case == case && row.metric.name == metric)?;
    let unit = row.metric.unit;
    let role = session.plan.targets.iter().find(|of| of.name == target)?.role;
    let cell = match role {
        Role::Baseline => {
            let level = row.baseline.as_ref()?;
            let figure = Figure::with_interval(level.median, level.low, level.high, unit);
            return Some(format!("{} over {}", figure.text_with_half(), rounds(level.rounds)));
        }
        Role::Control => row.control.as_ref()?,
        Role::Subject => row.cells.get(findings.subjects.iter().position(|name| name == target)?)?,
    };
    Some(match cell {
        Cell::Compared(comparison) => {
            let level = &comparison.level;
            let figure = Figure::with_interval(level.median, level.low, level.high, unit);
            let (value, baseline) = (figure.text_with_half(), clean(&findings.baseline));
            format!("{value} over {}; against {baseline}: {}", rounds(level.rounds), words::cell(cell))
        }
        Cell::Observed(level) => {
            format!("{} over {}", Figure::plain(level.median, unit).text(), rounds(level.rounds))
        }
        Cell::Missing(_) => clean(&words::cell(cell)),
    })
}

fn rounds(count: u32) -> String {
    counted(count as usize, "round", "rounds")
}

/// Adds tare's own result, where there is one.
fn push_own(
    out: &mut ViewText,
    session: &Session,
    findings: &Findings,
    (case, metric, target): (&str, &str, &str),
) {
    if let Some(own) = own(session, findings, case, metric, target) {
        out.prose("    tare's own: ", &own);
    }
}

/// A number with so many decimals, as C's `%.nf` writes it.
fn fixed(value: f64, decimals: usize) -> String {
    match value {
        v if !v.is_finite() => "?".into(),
        v if v.abs() >= LONGEST_PLAIN => format!("{v:.3e}"),
        v => format!("{v:.decimals$}"),
    }
}

/// What an environment's block is headed with: the environment and how many trials are in it.
fn block_head(label: &str, target: &str, trials: usize, failed: usize) -> String {
    let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    format!("{} · {} · {}{failures}", clean(label), clean(target), counted(trials, "trial", "trials"))
}

#[cfg(test)]
mod tests;

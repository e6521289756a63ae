//! Views for readers of other tools' reports: their lines, filled from a session's raw trials, beside tare's own figures.
//!
//! The wording follows each tool's report so that every line is recognised, and says that tare measured it.

use tare_analysis::findings::Findings;
use tare_data::session::Session;

mod crystaldiskmark;
mod dd;
mod netperf;
mod sysbench;
mod unixbench;
mod view_text;

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

#[cfg(test)]
mod tests;

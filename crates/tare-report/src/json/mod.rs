//! The findings as one JSON document, for programs. Its format is described in `docs/reference/report-json.md`.

mod fields;
mod from_findings;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use serde::Serialize;
use tare_analysis::advice::Advice;
use tare_analysis::bill::{Explained, compute_charges};
use tare_analysis::findings::Findings;
use tare_analysis::selftest::Injected;
use tare_data::session::Session;

pub use self::fields::{Document, Level, Row};
use crate::imported::Beside;
use crate::language::Language;
use crate::text::json::render_json_line;
pub use crate::text::json::render_pretty_json;

/// Name of the format, in every document.
pub const SCHEMA: &str = "tare-report";
/// Version of the format. Fields may be added under the same version; a changed or removed one raises it.
pub const VERSION: u32 = 2;

/// Writes the document on one line, with a line break at its end.
pub fn render_json(session: &Session, findings: &Findings) -> String {
    render_json_line(&Document::from_findings(session, findings, Language::English))
}

/// Writes the results of a self-test on one line, with a line break at its end: one field, `injected`, a
/// list.
pub fn render_selftest(injected: &[Injected]) -> String {
    render_json_line(&BTreeMap::from([("injected", injected)]))
}

/// Writes the document with one more field, `explained`: the requests of commands and their prices.
pub fn render_bills(session: &Session, findings: &Findings, explained: &[Explained]) -> String {
    render_extended(session, findings, "explained", explained)
}

/// Writes the document with one more field, `prices`: the prices of each environment.
pub fn render_prices(session: &Session, findings: &Findings) -> String {
    render_extended(session, findings, "prices", compute_charges(session))
}

/// Writes the document with one more field, `advice`: the environments to take for each kind of work.
pub fn render_advice(session: &Session, findings: &Findings, advice: &Advice) -> String {
    render_extended(session, findings, "advice", advice)
}

/// Writes the document with one more field, `beside`: values of other tools next to the session's.
pub fn render_beside(session: &Session, findings: &Findings, beside: &[Beside]) -> String {
    render_extended(session, findings, "beside", beside)
}

/// A document with one more field at its end.
#[derive(Serialize)]
struct Extended<'a, T> {
    #[serde(flatten)]
    document: Document<'a>,
    #[serde(flatten)]
    field: BTreeMap<&'static str, T>,
}

fn render_extended(
    session: &Session,
    findings: &Findings,
    name: &'static str,
    value: impl Serialize,
) -> String {
    let document = Document::from_findings(session, findings, Language::English);
    render_json_line(&Extended { document, field: BTreeMap::from([(name, value)]) })
}

//! A fleet as one JSON document on one line.

use serde::Serialize;
use tare_analysis::fleet::summary::Fleet;

use super::FleetView;

/// Name of the JSON document's format, and its version, which a changed or removed field raises.
const SCHEMA: &str = "tare-fleet";
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    folder: &'a str,
    study: &'a str,
    planned: usize,
    missing: Vec<Missing<'a>>,
    too_many_missing: bool,
    conditions: Vec<Condition<'a>>,
    #[serde(flatten)]
    fleet: &'a Fleet,
}

#[derive(Serialize)]
struct Missing<'a> {
    what: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct Condition<'a> {
    condition: &'a str,
    met: bool,
    of: &'a [String],
}

/// Writes all findings.
pub fn render_fleet_json(view: &FleetView) -> String {
    let missing = view.missing.iter().map(|cell| Missing { what: &cell.what, why: &cell.why });
    let conditions = view.answers.iter().map(|answer| Condition {
        condition: &answer.condition,
        met: answer.answer == tare_analysis::gate::Ruling::Trips,
        of: &answer.of,
    });
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        folder: view.folder,
        study: view.study,
        planned: view.planned,
        missing: missing.collect(),
        too_many_missing: view.is_too_sparse(),
        conditions: conditions.collect(),
        fleet: view.fleet,
    };
    crate::text::json::render_escaped_json(&document) + "\n"
}

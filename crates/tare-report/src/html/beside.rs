//! Data of the page for values of other tools next to a session's own.

use std::collections::HashMap;

use serde::Serialize;

use crate::imported::Beside;
use crate::json::Document;
use crate::text::json::render_escaped_json;

/// Limit on the characters of values in a session's page: the rest of 1 MB after a full session.
const MOST_BESIDE: usize = 40_000;

struct Room(usize);

impl Room {
    /// Tells whether a value still fits, and if so takes its characters from the room.
    fn takes(&mut self, value: &impl Serialize) -> bool {
        let letters = render_escaped_json(value).len();
        let fits = letters <= self.0;
        self.0 -= if fits { letters } else { 0 };
        fits
    }
}

/// Results of other tools for a session's rows.
#[derive(Debug, Serialize)]
pub struct BesideRows<'a> {
    figures: Vec<BesideRow<'a>>,
    /// Number of values without room.
    left_out: usize,
}

/// A value of another tool; the session's own values are in the row.
#[derive(Debug, Serialize)]
struct BesideRow<'a> {
    /// Index among the report's rows.
    row: usize,
    tool: &'a str,
    origin: &'a str,
    environment: Option<&'a str>,
    figure: &'a str,
    statistic: &'a str,
    /// Value in the unit of the row's metric.
    value: f64,
    written: &'a str,
    open: &'a [String],
}

impl<'a> BesideRows<'a> {
    pub fn from_beside(found: &'a [Beside], report: &Document) -> Self {
        let places = report.rows.iter().enumerate();
        let places: HashMap<(&str, &str), usize> =
            places.map(|(place, row)| ((row.case, row.metric.name), place)).collect();
        let row = |beside: &'a Beside| {
            Some(BesideRow {
                row: *places.get(&(beside.case.as_str(), beside.metric.as_str()))?,
                tool: &beside.tool,
                origin: &beside.origin,
                environment: beside.environment.as_deref(),
                figure: &beside.figure,
                statistic: &beside.statistic,
                value: beside.value,
                written: &beside.written,
                open: &beside.open,
            })
        };
        let mut room = Room(MOST_BESIDE);
        let figures: Vec<BesideRow> = found.iter().filter_map(row).filter(|row| room.takes(row)).collect();
        BesideRows { left_out: found.len() - figures.len(), figures }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tare_data::imported::{Counterpart, Imported, ImportedFigure, Source, Stated, Statistic};
    use tare_data::unit::Unit;

    use crate::html::tests::data_of;
    use crate::html::{Options, render_html};
    use crate::{imported, specimen};

    /// Builds a file of this many values of `net.rr`, each with the longest name that importers keep.
    fn file(name: &str, figures: usize) -> Imported {
        let figure = |i: usize| ImportedFigure {
            name: format!("{i} {}", "<".repeat(190)),
            parameters: BTreeMap::new(),
            counterpart: Some(Counterpart {
                probe: "net.rr".into(),
                parameters: Default::default(),
                peer: None,
            }),
            values: vec![Stated {
                statistic: Statistic::Percentile(99.9),
                value: 20_000.0 + i as f64,
                unit: Some(Unit::Nanoseconds),
                written: format!("{i} us"),
                metric: Some("time".into()),
            }],
        };
        Imported {
            tool: "netperf".into(),
            version: None,
            parameters: BTreeMap::new(),
            environment: Some("gvisor".into()),
            source: Source { name: name.into(), bytes: 1, sha256: "ab".repeat(32) },
            figures: (0..figures).map(figure).collect(),
            not_kept: Vec::new(),
        }
    }

    /// Renders the page of a session with imported results.
    fn page(imported: &[Imported]) -> String {
        let (session, findings) = (specimen::make_session(2), specimen::make_findings(2));
        let found = imported::find_matching_values(&session, &findings, imported);
        render_html(&session, &findings, &Options { beside: Some(&found), ..Options::default() })
    }

    #[test]
    fn figures_beside_a_session_point_to_its_rows() {
        let data = data_of(&page(&[file("rr.txt", 2)]));
        let beside = &data["beside"];
        assert_eq!(beside["figures"].as_array().map(Vec::len), Some(2));
        let row = &data["report"]["rows"][beside["figures"][0]["row"].as_u64().unwrap() as usize];
        assert_eq!((&row["probe"], &row["metric"]["name"]), (&"net.rr".into(), &"time".into()));
        assert_eq!(beside["figures"][1]["written"], "1 us");
        assert_eq!(beside["figures"][0]["statistic"], "p99.9");
        assert_eq!(beside["left_out"], 0);
        assert_eq!(
            data_of(&page(&[]))["beside"]["figures"],
            serde_json::json!([]),
            "asked, and nothing fits"
        );
        let plain = render_html(&specimen::make_session(2), &specimen::make_findings(2), &Options::default());
        assert!(data_of(&plain)["beside"].is_null(), "nobody asked");
    }

    #[test]
    fn more_figures_than_fit_are_counted() {
        let beside = page(&[file("a.txt", 1000), file("b.txt", 1000), file("c.txt", 3)]);
        assert!(beside.len() < 1_000_000, "{} bytes", beside.len());
        let data = data_of(&beside);
        let shown = data["beside"]["figures"].as_array().unwrap().len() as u64;
        assert_eq!(shown + data["beside"]["left_out"].as_u64().unwrap(), 2003);
    }

    #[test]
    fn a_hostile_import_ends_neither_the_data_nor_the_title() {
        let text = "</script></title><script>alert(1)</script><!--";
        let mut hostile = file(text, 1);
        (hostile.tool, hostile.version) = (text.into(), Some(text.into()));
        hostile.environment = Some(text.into());
        hostile.parameters = [(text.to_owned(), text.to_owned())].into();
        hostile.figures[0].name = text.into();
        hostile.figures[0].values[0].written = text.into();
        let (innocent, beside) = (page(&[]), page(&[hostile]));
        for mark in ["<script", "</script", "<!--", "</title"] {
            assert_eq!(beside.matches(mark).count(), innocent.matches(mark).count(), "{mark}");
        }
        assert_eq!(data_of(&beside)["beside"]["figures"][0]["tool"], text);
    }
}

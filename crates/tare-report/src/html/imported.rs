//! Data of the page for values of other tools: next to a session's own, or alone.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tare_data::imported::{Imported, ImportedFigure, Source};
use tare_data::session::Header;
use tare_data::unit::Unit;

use crate::imported::{Beside, NOT_KEPT, format_counterpart, not_kept};
use crate::json::Document;
use crate::text::json::render_escaped_json;

/// Limit on the characters of values in a session's page: the rest of 1 MB after a full session.
const MOST_BESIDE: usize = 40_000;
/// Limit on the characters of values in a page of their own: the rest of 1 MB after the page's code, even if
/// names and texts are so short that packing makes them longer.
const MOST_ALONE: usize = 400_000;

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

/// The data of a page without a session.
#[derive(Debug, Serialize)]
pub struct ImportedPage<'a> {
    /// Null, which tells the page that there is no session.
    report: Option<Document<'a>>,
    record: &'a str,
    /// Version of tare that imported the values, and the time.
    tare: &'a str,
    started: &'a str,
    imported: Files<'a>,
}

#[derive(Debug, Serialize)]
struct Files<'a> {
    files: Vec<File<'a>>,
    /// Number of files without room.
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct File<'a> {
    tool: &'a str,
    version: Option<&'a str>,
    environment: Option<&'a str>,
    source: &'a Source,
    /// Parameters, and the dropped lines under their own key.
    parameters: BTreeMap<&'a str, String>,
    figures: Vec<Figure<'a>>,
    /// Number of values without room.
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct Figure<'a> {
    name: &'a str,
    parameters: &'a BTreeMap<String, String>,
    /// Probe that measures the same, with the parameters that the output fixes; null without one.
    probe: Option<String>,
    values: Vec<Stated<'a>>,
}

#[derive(Debug, Serialize)]
struct Stated<'a> {
    /// Name as of metrics: `mean`, `p99`.
    statistic: String,
    /// Value in `unit`.
    value: f64,
    unit: Option<Unit>,
    written: &'a str,
    metric: Option<&'a str>,
}

impl<'a> ImportedPage<'a> {
    pub fn from_imported(imported: &'a [Imported], header: &'a Header, record: &'a str) -> Self {
        ImportedPage {
            report: None,
            record,
            tare: &header.tare,
            started: &header.started,
            imported: Files::of(imported),
        }
    }
}

impl<'a> Files<'a> {
    /// Selects as much of the files as fits: their heads first, then the first value of each, the second of
    /// each, and so on, so that a long file leaves room for the others.
    fn of(imported: &'a [Imported]) -> Self {
        let mut room = Room(MOST_ALONE);
        let heads = imported.iter().map(|source| (source, File::without_figures(source)));
        let mut files: Vec<(&Imported, File)> = heads.filter(|(_, head)| room.takes(head)).collect();
        let longest = files.iter().map(|(source, _)| source.figures.len()).max().unwrap_or(0);
        for at in 0..longest {
            for (source, file) in &mut files {
                let Some(figure) = source.figures.get(at).map(Figure::of) else { continue };
                match room.takes(&figure) {
                    true => file.figures.push(figure),
                    false => file.left_out += 1,
                }
            }
        }
        Files {
            left_out: imported.len() - files.len(),
            files: files.into_iter().map(|(_, file)| file).collect(),
        }
    }
}

impl<'a> File<'a> {
    fn without_figures(source: &'a Imported) -> Self {
        let mut parameters: BTreeMap<&str, String> =
            source.parameters.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        parameters.extend(not_kept(source).map(|text| (NOT_KEPT, text)));
        File {
            tool: &source.tool,
            version: source.version.as_deref(),
            environment: source.environment.as_deref(),
            source: &source.source,
            parameters,
            figures: Vec::new(),
            left_out: 0,
        }
    }
}

impl<'a> Figure<'a> {
    fn of(figure: &'a ImportedFigure) -> Self {
        let values = figure.values.iter().map(|stated| Stated {
            statistic: stated.statistic.to_string(),
            value: stated.value,
            unit: stated.unit,
            written: &stated.written,
            metric: stated.metric.as_deref(),
        });
        Figure {
            name: &figure.name,
            parameters: &figure.parameters,
            probe: figure.counterpart.is_some().then(|| format_counterpart(figure)),
            values: values.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tare_data::imported::{Counterpart, Stated, Statistic};

    use super::*;
    use crate::html::tests::data_of;
    use crate::html::{Options, render_html, render_imported};
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
    fn more_figures_than_fit_are_counted_and_every_file_has_its_share() {
        let many = [file("a.txt", 1000), file("b.txt", 1000), file("c.txt", 3)];
        let beside = page(&many);
        assert!(beside.len() < 1_000_000, "{} bytes", beside.len());
        let of = |value: &serde_json::Value| value.as_array().unwrap().len() as u64;
        let data = data_of(&beside);
        assert_eq!(of(&data["beside"]["figures"]) + data["beside"]["left_out"].as_u64().unwrap(), 2003);

        let alone = render_imported(&many, &specimen::make_session(0).header, "i.tare");
        assert!(alone.len() < 1_000_000, "{} bytes", alone.len());
        let files = data_of(&alone)["imported"]["files"].clone();
        for (file, stated) in files.as_array().unwrap().iter().zip([1000, 1000, 3]) {
            assert_eq!(of(&file["figures"]) + file["left_out"].as_u64().unwrap(), stated);
            assert!(of(&file["figures"]) >= 3, "{}", file["source"]["name"]);
        }
        let long = vec![file(&"x".repeat(200), 0); 3_000];
        let alone = render_imported(&long, &specimen::make_session(0).header, "i.tare");
        assert!(alone.len() < 1_000_000, "{} bytes", alone.len());
        let data = data_of(&alone);
        assert_eq!(of(&data["imported"]["files"]) + data["imported"]["left_out"].as_u64().unwrap(), 3_000);
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
        let innocent = render_imported(&[], &specimen::make_session(0).header, "i.tare");
        let (alone, beside) = (
            render_imported(std::slice::from_ref(&hostile), &specimen::make_session(0).header, text),
            page(std::slice::from_ref(&hostile)),
        );
        for page in [&alone, &beside] {
            for mark in ["<script", "</script", "<!--", "</title"] {
                assert_eq!(page.matches(mark).count(), innocent.matches(mark).count(), "{mark}");
            }
        }
        assert_eq!(data_of(&alone)["imported"]["files"][0]["parameters"][text], text);
        assert_eq!(data_of(&beside)["beside"]["figures"][0]["tool"], text);
    }
}

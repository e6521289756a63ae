//! Exports: findings in the formats that other programs read, one file a format.

pub mod csv;
mod export;
mod github_annotations;
mod github_summary;
mod hyperfine;
mod junit;
mod openmetrics;
pub mod parquet;

pub use self::export::{Export, Source, Writing};

/// The JSON document of a report, as `--json` prints it.
static JSON: Export = Export {
    name: "json",
    summary: "everything, as one JSON document; its schema is docs/reference/report.schema.json",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| crate::json::render_json(session, findings).into_bytes(),
};

/// The table as Markdown, as `--markdown` prints it.
static MARKDOWN: Export = Export {
    name: "markdown",
    summary: "the table, for pull requests and issues",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| {
        crate::markdown::render_markdown(session, findings).into_bytes()
    },
};

/// Every format, in the order in which they are listed.
pub static EXPORTS: &[&Export] = &[
    &JSON,
    &csv::EXPORT,
    &parquet::EXPORT,
    &MARKDOWN,
    &junit::EXPORT,
    &github_summary::EXPORT,
    &github_annotations::EXPORT,
    &hyperfine::EXPORT,
    &openmetrics::EXPORT,
];

/// Tells whether the export is binary, which a terminal could take for commands.
pub fn is_binary(export: &Export) -> bool {
    std::ptr::eq(export, &parquet::EXPORT)
}

pub fn find_export(name: &str) -> Option<&'static Export> {
    EXPORTS.iter().copied().find(|export| export.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tare_analysis::findings::{Cell, Findings, Interval};
    use tare_data::session::Session;
    use tare_data::unit::Direction;

    use super::*;
    use crate::specimen;

    /// Builds a session in which every text is hostile and the values are not finite.
    fn hostile() -> (Session, Findings) {
        let (mut session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
        let text = "a\"'\\<&>]]>\u{1b}[31m\r\n::error::x\u{0}%0A{}/ \u{202e}\u{ffff}=,#";
        session.plan.study = text.into();
        session.header.started = text.into();
        for (i, row) in findings.rows.iter_mut().enumerate() {
            (row.label, row.probe, row.case) = (text.into(), text.into(), format!("{text}{i}"));
            row.metric.name = text.into();
            row.metric.direction = if i % 2 == 0 { Direction::Higher } else { Direction::Lower };
            row.place = Some(text.into());
            if let Some(level) = &mut row.baseline {
                (level.median, level.low, level.high) = (f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
                level.values[0] = f64::NAN;
            }
        }
        if let Cell::Compared(cell) = &mut findings.rows[0].cells[0] {
            (cell.ratio, cell.interval) = (f64::NAN, Interval::UNKNOWN);
        }
        for subject in &mut findings.subjects {
            *subject = format!("{text}{subject}");
        }
        (session, findings)
    }

    #[test]
    fn names_are_told_apart_and_every_file_is_in_the_list() {
        let names: BTreeSet<&str> = EXPORTS.iter().map(|export| export.name).collect();
        assert_eq!(names.len(), EXPORTS.len());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/exports");
        let text = include_str!("mod.rs");
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = file.strip_suffix(".rs") else { continue };
            assert!(
                ["mod", "export"].contains(&module) || text.contains(&format!("    &{module}::")),
                "{file} is not in the list"
            );
        }
    }

    #[test]
    fn any_record_can_be_exported() {
        let empty = (specimen::make_session(0), specimen::make_findings(0));
        let nothing = (specimen::make_session(2), Findings { rows: vec![], ..specimen::make_findings(2) });
        for (session, findings) in [hostile(), empty, nothing] {
            let source = Source { session: &session, findings: &findings, gate: None };
            for export in EXPORTS {
                let bytes = (export.render)(&source);
                let wrong = |b: &u8| *b < b' ' && *b != b'\n' && *b != b'\r';
                let text = export.name != "parquet" && bytes.iter().any(wrong);
                assert!(!text, "{} holds a control character", export.name);
            }
        }
    }
}

//! Snapshots of the terminal's table, and tests that it stays within its columns whatever a record holds.

use insta::assert_snapshot;
use tare_analysis::findings::{Cell, Findings, Interval, Missing, Verdict};
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::{Ending, Session};

use super::*;
use crate::specimen;

fn shown(targets: usize, options: &TerminalOptions) -> String {
    render_terminal(&specimen::make_session(targets), &specimen::make_findings(targets), options)
}

fn with_paths() -> TerminalOptions<'static> {
    TerminalOptions {
        record: Some("tare-2026-11-21T20-41.tare"),
        html: Some("tare-2026-11-21T20-41.html"),
        again: Some("tare run quick --seed 7f3a91c2 --in native,container,gvisor,wsl2-like"),
        ..TerminalOptions::default()
    }
}

#[test]
fn three_targets_fit_eighty_columns() {
    assert_snapshot!(shown(3, &with_paths()));
}

#[test]
fn a_first_screen_has_no_words_of_the_method() {
    for targets in [1, 2, 4] {
        let text = shown(targets, &with_paths());
        let words: Vec<&str> = text.split(|letter: char| !letter.is_alphabetic()).collect();
        for word in ["rounds", "starts", "planted", "harness", "bounds", "untold"] {
            assert!(!words.contains(&word), "{word}: {text}");
        }
    }
}

#[test]
fn six_targets_fold_into_two_tables() {
    assert_snapshot!(shown(6, &with_paths()));
}

#[test]
fn six_targets_stand_side_by_side_on_a_wide_terminal() {
    assert_snapshot!(shown(6, &TerminalOptions { width: 150, ..with_paths() }));
}

#[test]
fn the_wide_view_adds_figures_and_distributions() {
    assert_snapshot!(shown(2, &TerminalOptions { wide: true, ..with_paths() }));
}

#[test]
fn colour_marks_verdicts_that_survive_the_correction() {
    assert_snapshot!(shown(2, &TerminalOptions { colour: true, ..with_paths() }).replace('\u{1b}', "␛"));
}

#[test]
fn colour_changes_no_letter() {
    let bare = shown(6, &with_paths());
    let coloured = shown(6, &TerminalOptions { colour: true, ..with_paths() });
    assert_ne!(bare, coloured);
    let mut stripped = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => stripped.push(c),
            _ => {}
        }
    }
    assert_eq!(stripped, bare);
}

/// Builds a session in which every subject's cell is a gap of some kind.
fn all_missing() -> (Session, Findings) {
    let mut findings = specimen::make_findings(2);
    let kinds = [FailureKind::NotSupported, FailureKind::Died, FailureKind::Deadline, FailureKind::WrongWork];
    for (i, row) in findings.rows.iter_mut().enumerate() {
        row.cells[0] = Cell::Missing(Missing::Failed(Failure::new(kinds[i % 4], "runsc: exit code 128")));
        row.cells[1] = match i % 3 {
            0 => Cell::Missing(Missing::NotReached),
            1 => Cell::Missing(Missing::NoBaseline(specimen::make_level(4_200.0, 1))),
            _ => Cell::Missing(Missing::NotComparable {
                reason: "O_DIRECT is accepted and served from cache".into(),
                level: specimen::make_level(1.0, 1),
            }),
        };
    }
    findings.rows[1].baseline = None;
    findings.certificate.decided = 0;
    findings.certificate.compared = 0;
    let mut session = specimen::make_session(2);
    session.plan.cases[1]
        .missing
        .insert("native".into(), Failure::new(FailureKind::NotPermitted, "needs root to drop caches"));
    (session, findings)
}

#[test]
fn missing_say_what_they_are_and_why() {
    let (session, findings) = all_missing();
    assert_snapshot!(render_terminal(&session, &findings, &with_paths()));
}

#[test]
fn a_session_that_broke_off_at_once_says_so() {
    let mut findings = specimen::make_findings(2);
    findings.rows.clear();
    findings.certificate.smallest_effect = None;
    (findings.certificate.decided, findings.certificate.compared) = (0, 0);
    findings.certificate.control_cells = 0;
    findings.warnings.clear();
    findings.ending = Ending::BrokenOff;
    assert_snapshot!(render_terminal(&specimen::make_session(2), &findings, &with_paths()));
}

#[test]
fn the_baseline_alone_is_a_table_of_its_figures() {
    assert_snapshot!(shown(0, &with_paths()));
}

#[test]
fn a_session_that_differs_from_itself_carries_a_banner() {
    let mut findings = specimen::make_findings(1);
    findings.certificate.banner = true;
    findings.certificate.control_coloured = 4;
    let text = render_terminal(&specimen::make_session(1), &findings, &with_paths());
    let banner = text.lines().find(|line| line.starts_with('!')).unwrap();
    assert_eq!(banner, "! This session cannot be trusted: native differs from itself in 4 of 7 cells,");
}

/// Tells whether a line is one word of a command, which is not broken.
pub(super) fn is_word(line: &str) -> bool {
    line.starts_with("        ") && !line.trim_start().trim_end_matches(" \\").contains(' ')
}

#[test]
fn a_narrow_terminal_is_not_overrun() {
    for width in [40, 60, 68, 80] {
        for targets in 0..7 {
            for wide in [false, true] {
                let shown = shown(targets, &TerminalOptions { width, wide, ..with_paths() });
                let over: Vec<&str> =
                    shown.lines().filter(|line| count_columns(line) > width && !is_word(line)).collect();
                assert_eq!(over, [""; 0], "{width} columns: {shown}");
            }
        }
    }
}

mod any_findings {
    use proptest::prelude::*;

    use super::*;

    /// Changes every number and text of findings to a value that a hostile record could contain.
    fn spoil(findings: &mut Findings, session: &mut Session, number: f64, text: &str) {
        session.plan.study = text.into();
        findings.baseline = text.into();
        findings.subjects.iter_mut().for_each(|name| *name = format!("{text}{name}"));
        for (i, row) in findings.rows.iter_mut().enumerate() {
            row.label = format!("{text} {}", row.label);
            row.probe = text.into();
            row.place = Some(text.into());
            if let Some(level) = &mut row.baseline {
                (level.median, level.low) = (number, -number);
            }
            for cell in &mut row.cells {
                match cell {
                    Cell::Compared(c) => {
                        (c.ratio, c.level.high) = (number, number);
                        c.interval = Interval::new(number * 0.9, c.interval.ends(f64::from)[1]);
                        c.verdict = if i % 2 == 0 { c.verdict } else { Verdict::SlowerUnconfirmed };
                    }
                    Cell::Observed(level) => (level.median, level.high) = (number, number),
                    Cell::Missing(missing) => {
                        *missing = Missing::Failed(Failure::new(FailureKind::Died, text));
                    }
                }
            }
        }
        findings.certificate.smallest_effect = Some(number);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_line_is_wider_than_asked_and_no_control_is_let_through(
            targets in 0usize..7,
            width in 0usize..200,
            number in any::<f64>(),
            text in any::<String>(),
            wide in any::<bool>(),
            spoiled in any::<bool>(),
            japanese in any::<bool>(),
        ) {
            let mut findings = specimen::make_findings(targets);
            let mut session = specimen::make_session(targets);
            if spoiled {
                spoil(&mut findings, &mut session, number, &text);
            }
            let language = if japanese { Language::Japanese } else { Language::English };
            let options = TerminalOptions { width, wide, language, ..with_paths() };
            let shown = render_terminal(&session, &findings, &options);
            for line in shown.lines() {
                let fits = count_columns(line) <= width.max(NARROWEST) || is_word(line);
                prop_assert!(fits, "{} columns: {line}", count_columns(line));
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                prop_assert!(!line.ends_with(' '), "{line:?}");
            }
        }
    }
}

//! Writes pages made by hand into a folder, for the browser tests and for looking at them.

#![allow(clippy::disallowed_methods)]

#[path = "../../src/specimen.rs"]
#[allow(dead_code)]
mod specimen;

mod beside;
mod rich;

use std::path::PathBuf;
use std::{env, fs, process};

use tare_analysis::findings::{Cell, Findings, Missing};
use tare_data::imported::Imported;
use tare_data::session::specification::Specification;
use tare_data::session::{Ending, Session};
use tare_report::html::{Options, render_html};
use tare_report::imported;
use tare_report::language::Language;
use tare_report::paste::{Private, paste_session};
use tare_specimen::change_sides;

/// A text with everything that a page could trip over.
const HOSTILE: &str =
    "</script><img src=x onerror=\"window.hacked=1\">'\"`&amp;${window.hacked=1}\u{202e}\u{0}";

fn main() {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pages FOLDER");
        process::exit(2);
    };
    let (session, findings) = hostile();
    let pages = [
        ("rich.html", page(rich::page(3), None)),
        ("japanese.html", said(Language::Japanese, rich::page(3), None)),
        ("big.html", page(rich::big(), None)),
        ("big-japanese.html", said(Language::Japanese, rich::big(), None)),
        ("hostile.html", page((session.clone(), findings.clone()), None)),
        ("empty.html", page(empty(), None)),
        ("baseline.html", page((specimen::make_session(0), specimen::make_findings(0)), None)),
        ("beside.html", {
            let (session, findings, imports) = beside::page();
            page((session, findings), Some(&imports))
        }),
        ("beside-nothing.html", page(rich::page(2), Some(&[]))),
        ("beside-hostile.html", page((session, findings), Some(&beside::hostile(HOSTILE, HOSTILE)))),
    ];
    for (name, text) in pages {
        let path = folder.join(name);
        if let Err(error) = fs::write(&path, text) {
            eprintln!("{}: {error}", path.display());
            process::exit(1);
        }
    }
}

/// Renders the page of a session, with values of other tools if they are given.
fn page(shown: (Session, Findings), imports: Option<&[Imported]>) -> String {
    said(Language::English, shown, imports)
}

fn said(
    language: Language,
    (session, findings): (Session, Findings),
    imports: Option<&[Imported]>,
) -> String {
    let found = imports.map(|imports| imported::find_matching_values(&session, &findings, imports));
    let paste = paste_session(&session, &findings, &Private::new("", &[], "", ""));
    let options = Options {
        running: None,
        paste: Some(&paste),
        language,
        record: Some("tare-2026-11-21T20-41.tare"),
        again: Some("tare run quick --seed 7f3a91c2 --in native,container,gvisor,wsl2-like"),
        beside: found.as_deref(),
    };
    render_html(&session, &findings, &options)
}

/// Fills every text of a record with markup, quotes and anything else that a page could trip over.
fn hostile() -> (Session, Findings) {
    let text = HOSTILE;
    let (mut session, mut findings) = rich::page(3);
    session.plan.study = text.into();
    session.header.started = text.into();
    session.header.tare = text.into();
    let mut names = target_names(text);
    change_sides(&mut session.plan.targets, |_, side| {
        let Some(name) = names.next() else { return };
        side.specification = Specification::from_provider(&name);
        (side.name, side.short_description) = (name.clone(), name);
    });
    findings.baseline = session.plan.targets[0].name.clone();
    for (i, subject) in findings.subjects.iter_mut().enumerate() {
        subject.clone_from(&session.plan.targets[i + 2].name);
    }
    for (facts, target) in session.facts.iter_mut().zip(session.plan.targets.iter()) {
        facts.target.clone_from(&target.name);
        facts.inside.add_fact(text, text);
    }
    for row in &mut findings.rows {
        (row.label, row.probe) = (format!("{text} {}", row.label), text.into());
        (row.place, row.peer) = (Some(text.into()), Some(text.into()));
        row.metric.name = text.into();
        for cell in &mut row.cells {
            if let Cell::Missing(Missing::Failed(failure)) = cell {
                failure.reason = text.into();
            }
        }
    }
    (session, findings)
}

fn target_names(text: &str) -> impl Iterator<Item = String> {
    (0..).map(move |i| format!("{i}{text}"))
}

/// Builds a session that broke off before it measured anything.
fn empty() -> (Session, Findings) {
    let (mut session, mut findings) = (specimen::make_session(2), specimen::make_findings(2));
    session.ending = Ending::BrokenOff;
    findings.ending = Ending::BrokenOff;
    findings.rows.clear();
    findings.certificate.smallest_effect = None;
    (findings.certificate.decided, findings.certificate.compared) = (0, 0);
    (session, findings)
}

//! Writes pages made by hand into a folder, for the browser tests and for looking at them.

#[path = "../../src/specimen.rs"]
#[allow(dead_code)]
mod specimen;

mod rich;

use std::path::PathBuf;
use std::{env, fs, process};

use tare_analysis::findings::{Cell, Findings, Gap};
use tare_data::session::{Ending, Session};
use tare_report::html::{Options, render};

fn main() {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pages FOLDER");
        process::exit(2);
    };
    let pages = [
        ("rich.html", rich::page(3)),
        ("big.html", rich::big()),
        ("hostile.html", hostile()),
        ("empty.html", empty()),
        ("reference.html", (specimen::session(0), specimen::findings(0))),
    ];
    let options = Options {
        record: Some("tare-2026-11-21T20-41.tare"),
        again: Some("tare run quick --seed 7f3a91c2 --in native,container,gvisor,wsl2-like"),
        live: false,
    };
    for (name, (session, findings)) in pages {
        let path = folder.join(name);
        if let Err(error) = fs::write(&path, render(&session, &findings, &options)) {
            eprintln!("{}: {error}", path.display());
            process::exit(1);
        }
    }
}

/// Every text of a record filled with markup, quotes and what else a page could trip over.
fn hostile() -> (Session, Findings) {
    let text = "</script><img src=x onerror=\"window.hacked=1\">'\"`&amp;${window.hacked=1}\u{202e}\u{0}";
    let (mut session, mut findings) = rich::page(3);
    session.plan.study = text.into();
    session.header.started = text.into();
    session.header.tare = text.into();
    for (lane, name) in session.plan.lanes.iter_mut().zip(lane_names(text)) {
        (lane.name, lane.specification) = (name.clone(), name);
    }
    findings.reference = session.plan.lanes[0].name.clone();
    for (i, subject) in findings.subjects.iter_mut().enumerate() {
        subject.clone_from(&session.plan.lanes[i + 2].name);
        findings.costs[i].lane.clone_from(subject);
    }
    for (facts, lane) in session.facts.iter_mut().zip(&session.plan.lanes) {
        facts.lane.clone_from(&lane.name);
        facts.inside.note(text, text);
    }
    for row in &mut findings.rows {
        (row.label, row.probe) = (format!("{text} {}", row.label), text.into());
        (row.place, row.peer) = (Some(text.into()), Some(text.into()));
        row.metric.name = text.into();
        for cell in &mut row.cells {
            if let Cell::Gap(Gap::Failed(failure)) = cell {
                failure.reason = text.into();
            }
        }
    }
    (session, findings)
}

fn lane_names(text: &str) -> impl Iterator<Item = String> {
    (0..).map(move |i| format!("{i}{text}"))
}

/// A session that broke off before it measured anything.
fn empty() -> (Session, Findings) {
    let (mut session, mut findings) = (specimen::session(2), specimen::findings(2));
    session.ending = Ending::BrokenOff;
    findings.ending = Ending::BrokenOff;
    findings.rows.clear();
    findings.certificate.smallest_effect = None;
    (findings.certificate.decided, findings.certificate.compared) = (0, 0);
    (session, findings)
}

//! The UnixBench view: twelve scores and their index an environment, by UnixBench's definition.

use tare_analysis::findings::Findings;
use tare_analysis::unixbench::{Entry, Score, TESTS, TargetScores, Test, scores};
use tare_data::names::Case;
use tare_data::session::Session;

use super::view_text::{ViewText, fixed, own};
use crate::number::counted;
use crate::text::{clean, listed};

const NAME: usize = 38;

pub fn render(session: &Session, findings: &Findings) -> String {
    let mut out = ViewText::default();
    out.prose(
        "",
        "UnixBench view: scores by UnixBench's definition, measured by tare and not by UnixBench. A trial is a pass, \
         if a shorter one than UnixBench's 10 to 60 seconds; of n passes the int(n/3) lowest are dropped, the result is the geometric mean of the others, and 10 is \
         the score of UnixBench's baseline machine.",
    );
    if TESTS.iter().all(|test| test.case(session).is_none()) {
        out.blank();
        out.prose(
            "",
            "This session measured none of the twelve tests: tare run unixbench measures them all.",
        );
        return out.text();
    }
    for target in scores(session) {
        out.blank();
        block(&mut out, session, findings, &target);
    }
    out.blank();
    stand_ins(&mut out, session);
    out.text()
}

/// An environment's twelve tests and their index.
fn block(out: &mut ViewText, session: &Session, findings: &Findings, target: &TargetScores) {
    out.line(&clean(&target.target));
    out.line(&format!("{:NAME$}{:>10}{:>13} {:5}{:>11}", "", "BASELINE", "RESULT", "", "SCORE"));
    let (mut few, mut missing, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for (test, entry) in TESTS.iter().zip(&target.entries) {
        match entry {
            Entry::Scored(score) => {
                scored(out, test, score);
                let kept = format!("{} of {} kept", score.kept, counted(score.passes, "pass", "passes"));
                let own = test.case(session).and_then(|(case, metric)| {
                    own(session, findings, &case.id, &metric.name, &target.target)
                });
                let beside = own.map_or(kept.clone(), |own| format!("{kept}; tare's own: {own}"));
                out.prose("    ", &beside);
                if score.passes < test.passes {
                    few.push(format!("{} ({} of {})", test.name, score.passes, test.passes));
                }
                doubts.extend(score.objection.as_ref().map(|doubt| (test.name, doubt)));
            }
            Entry::Missing(reason) => {
                out.line(&format!("{:NAME$}{:>10}{:>13}", test.name, fixed(test.baseline, 1), "-"));
                missing.push((test.name, clean(reason)));
            }
        }
    }
    index(out, target, &missing);
    if !few.is_empty() {
        out.prose("", &format!("Fewer passes than UnixBench makes: {}.", listed(&few)));
    }
    for (name, doubt) in doubts {
        out.prose("! ", &format!("{name}: not comparable: {}", clean(doubt)));
    }
}

fn scored(out: &mut ViewText, test: &Test, score: &Score) {
    out.line(&format!(
        "{:NAME$}{:>10}{:>13} {:5}{:>11}",
        test.name,
        fixed(test.baseline, 1),
        fixed(score.result, 1),
        test.unit,
        fixed(score.score, 1),
    ));
}

fn index(out: &mut ViewText, target: &TargetScores, missing: &[(&str, String)]) {
    if let Some(index) = target.index {
        let name = "Index of the twelve scores (UnixBench definition)";
        out.line(&format!("{name:67}{:>11}", fixed(index, 1)));
        return;
    }
    let scored = TESTS.len() - missing.len();
    out.prose("", &format!("No index: {scored} of {} tests have a score. Missing:", TESTS.len()));
    // Tests that lack a score for one reason stand together.
    let mut reasons: Vec<&str> = Vec::new();
    for (_, reason) in missing {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    for reason in reasons {
        let names = missing.iter().filter(|(_, its)| its == reason).map(|(name, _)| (*name).to_owned());
        out.prose("- ", &format!("{reason}: {}", listed(&names.collect::<Vec<_>>())));
    }
}

/// Where a case is not quite UnixBench's test, and how.
fn stand_ins(out: &mut ViewText, session: &Session) {
    let mut notes: Vec<String> = Vec::new();
    for (test, (planned, _)) in TESTS.iter().filter_map(|test| Some((test, test.case(session)?))) {
        if let Some(differs) = differs(&planned.case) {
            notes.push(format!("{}: {differs}", test.name));
        }
        if let Some(place) = planned.case.place.as_deref().filter(|place| *place != "own") {
            notes.push(format!("{}: in the place {}", test.name, clean(place)));
        }
    }
    for note in notes {
        out.prose("- ", &note);
    }
}

/// How the case that stands for a test differs from it.
fn differs(case: &Case) -> Option<&'static str> {
    let is = |key: &str, value: &str| case.parameters.text(key).is_ok_and(|text| text == value);
    match case.probe.as_str() {
        "cpu.dhrystone" | "cpu.whetstone" => {
            Some("another compiler's code than a UnixBench built on the spot")
        }
        "proc.exec" if is("target", "static") => {
            Some("the program is static; UnixBench's own is usually linked at each start, which costs more")
        }
        "proc.shell" if is("variant", "carried") => {
            Some("shell and tools are carried in tare; UnixBench runs the environment's own")
        }
        _ => None,
    }
}

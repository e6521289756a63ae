//! The exit code of a session that was measured.

use tare_analysis::findings::{Cell, Findings, Missing};
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::{Ending, Session};

use crate::exit::Exit;

/// Returns the exit code of a session that just ended.
pub fn exit_of_session(session: &Session, findings: &Findings) -> Exit {
    let by_ending = match session.ending {
        Ending::Interrupted => Exit::Interrupted,
        Ending::BaselineFailed | Ending::SubjectsFailed => Exit::Environment,
        Ending::Complete | Ending::Early | Ending::BrokenOff => Exit::Done,
    };
    // A fixed number of rounds is run whether or not it decides anything.
    let has_fixed_rounds = session.plan.budget_s.is_none() && !session.plan.until_decided;
    let if_so = |applies: bool, exit: Exit| if applies { exit } else { Exit::Done };
    by_ending
        .min(if_so(!findings.tells_sides_apart() && all_failed(findings), Exit::Environment))
        .min(if_so(findings.lacks_good_runs(), Exit::Undecided))
        .min(if_so(
            !has_fixed_rounds && !findings.answers_outcomes() && decides_nothing(findings),
            Exit::Undecided,
        ))
}

/// Returns the exit code with that of its gate. One that is open because all its cells pass has the answer that was asked for, whatever
/// else is not decided.
pub fn exit_with_gate(by_session: Exit, (gate, all_pass): (Exit, bool), findings: &Findings) -> Exit {
    match (by_session, gate) {
        (Exit::Undecided, Exit::Done) if all_pass && !findings.lacks_good_runs() => Exit::Done,
        _ => by_session.min(gate),
    }
}

/// Checks if nothing could be measured in the baseline, or nothing in any other environment.
fn all_failed(findings: &Findings) -> bool {
    let rows = || findings.rows.iter().filter(|row| row.headline);
    let is_own = |failure: &Failure| failure.kind != FailureKind::NotComparable;
    let has_failed = |cell: &Cell| matches!(cell, Cell::Missing(Missing::Failed(failure)) if is_own(failure));
    let mut cells = rows().flat_map(|row| &row.cells).peekable();
    let every_other = cells.peek().is_some() && cells.all(has_failed);
    every_other
        || (findings.outcomes.is_empty()
            && rows().next().is_some()
            && rows().all(|row| row.baseline.is_none()))
}

/// Checks if there were comparisons to decide, and none is decided.
fn decides_nothing(findings: &Findings) -> bool {
    let is_open = |cell: &Cell| matches!(cell, Cell::Compared(_) | Cell::Missing(Missing::NotReached));
    let mut cells = findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    findings.certificate.decided == 0 && cells.any(is_open)
}

#[cfg(test)]
mod tests {
    use tare_analysis::Options;
    use tare_analysis::findings::Row;
    use tare_analysis::outcome::Word;
    use tare_data::batch::RunEnd;
    use tare_data::warning::Warning;

    use std::path::Path;

    use super::*;

    /// Reads the record of a session of container and gVisor that decided something.
    fn decided() -> (Session, Findings) {
        let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
        let session = tare_record::read_session(Path::new(record)).unwrap().session;
        let findings = tare_analysis::compute_findings(&session, &Options::default());
        (session, findings)
    }

    /// Shortens that session to a few rounds, which decide nothing.
    fn undecided() -> (Session, Findings) {
        let (mut session, _) = decided();
        session.trials.retain(|trial| trial.round <= 4);
        let findings = tare_analysis::compute_findings(&session, &Options::default());
        (session, findings)
    }

    #[test]
    fn a_session_that_decides_nothing_has_an_exit_code_unless_its_rounds_were_fixed() {
        let (mut session, findings) = decided();
        assert!(session.plan.budget_s.is_some());
        assert_eq!(exit_of_session(&session, &findings), Exit::Done);
        session.ending = Ending::BaselineFailed;
        assert_eq!(exit_of_session(&session, &findings), Exit::Environment);

        let (mut session, findings) = undecided();
        assert_eq!(exit_of_session(&session, &findings), Exit::Undecided);
        session.ending = Ending::Interrupted;
        assert_eq!(exit_of_session(&session, &findings), Exit::Interrupted);
        session.ending = Ending::Complete;
        session.plan.budget_s = None;
        assert_eq!(exit_of_session(&session, &findings), Exit::Done);
        session.plan.until_decided = true;
        assert_eq!(exit_of_session(&session, &findings), Exit::Undecided);
    }

    #[test]
    fn what_outcomes_or_an_open_gate_answer_is_not_undecided() {
        let (session, mut findings) = undecided();
        let with_gate = |session, gate, all_pass| exit_with_gate(session, (gate, all_pass), &findings);
        assert_eq!(with_gate(Exit::Undecided, Exit::Done, true), Exit::Done);
        assert_eq!(with_gate(Exit::Undecided, Exit::Done, false), Exit::Undecided, "it is allowed, not told");
        assert_eq!(with_gate(Exit::Undecided, Exit::Gate, false), Exit::Gate);
        assert_eq!(with_gate(Exit::Environment, Exit::Done, true), Exit::Environment);
        let made = tare_specimen::make_outcomes(tare_specimen::Command::IsSlower, 1, 6, 1);
        findings.outcomes = tare_analysis::outcome::compare_outcomes(&made);
        assert_eq!(exit_of_session(&session, &findings), Exit::Done, "it does the same");
        findings.outcomes[0].word = Word::TooFew;
        assert_eq!(exit_of_session(&session, &findings), Exit::Undecided);
    }

    #[test]
    fn a_session_whose_runs_fail_too_often_to_compare_any_has_an_exit_code_with_fixed_rounds_as_well() {
        let (mut session, mut findings) = decided();
        session.plan.budget_s = None;
        let reason = "5 of 14 runs ended with exit code 3, in the baseline 4 of 12".to_owned();
        for cell in findings.rows.iter_mut().flat_map(|row| &mut row.cells) {
            let level = cell.level().unwrap().clone();
            *cell = Cell::Missing(Missing::NotComparable { reason: reason.clone(), level });
        }
        assert_eq!(exit_of_session(&session, &findings), Exit::Done, "what misleads is not compared");
        let ended = |end| Warning::RunsEnded { command: "x".into(), end, count: 5, runs: 14 };
        findings.warnings.push((None, ended(RunEnd::ExitCode(3))));
        assert_eq!(exit_of_session(&session, &findings), Exit::Undecided);
    }

    #[test]
    fn a_session_in_which_everything_failed_has_the_exit_code_of_an_environment() {
        let failed = |row: &mut Row, which: fn(usize) -> bool| {
            let failure = || Failure::new(FailureKind::Died, "it is out");
            let cells = row.cells.iter_mut().enumerate().filter(|(at, _)| which(*at));
            cells.for_each(|(_, cell)| *cell = Cell::Missing(Missing::Failed(failure())));
        };
        let (session, mut findings) = decided();
        findings.rows.iter_mut().for_each(|row| failed(row, |at| at == 0));
        assert_eq!(exit_of_session(&session, &findings), Exit::Done, "gVisor was measured");
        findings.rows.iter_mut().for_each(|row| failed(row, |_| true));
        assert_eq!(exit_of_session(&session, &findings), Exit::Environment);
        let (session, mut findings) = decided();
        findings.rows.iter_mut().for_each(|row| row.baseline = None);
        assert_eq!(exit_of_session(&session, &findings), Exit::Environment, "the command failed everywhere");
    }
}

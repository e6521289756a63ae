//! Sessions that have nothing to measure or to compare: they end before their first round, with the reason and the next step.

use tare_data::encoding::clip_text;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::USER;
use tare_data::session::{Role, Sides};

use crate::error::{ErrorKind, LabError};
use crate::session::plan::calibrated::Calibrated;
use crate::session::plan::outcomes::is_outcome;
use crate::study::SelectedCase;

/// Bytes of a message: two lines of a terminal.
const LONGEST_MESSAGE: usize = 200;

/// Refuses a session whose subjects all have a failure, with the next step that it asks for; one without subjects compares nothing, and
/// goes on.
pub fn require_subject<'a>(
    targets: &Sides,
    find_failure: impl Fn(usize) -> Option<&'a Failure>,
    advise: fn(&Failure) -> Option<&'static str>,
) -> Result<(), LabError> {
    let subjects = || (0..targets.len()).filter(|target| targets.role(*target) == Role::Subject);
    let mut failures = Vec::new();
    for subject in subjects() {
        let Some(failure) = find_failure(subject) else { return Ok(()) };
        failures.push((targets[subject].name.as_str(), failure));
    }
    match failures.as_slice() {
        [] => Ok(()),
        [(name, failure)] => {
            Err(no_value(format!("cannot measure {name}: {}", failure.reason), advise(failure)))
        }
        [(name, failure), ..] => {
            let all = failures.len();
            let what = format!("cannot measure any of {all} environments; {name}: {}", failure.reason);
            Err(no_value(what, advise(failure)))
        }
    }
}

fn no_value(what: String, hint: Option<&str>) -> LabError {
    let error = LabError::new(ErrorKind::Environment, clip_text(what, LONGEST_MESSAGE));
    LabError { hint: hint.map(str::to_owned), ..error }
}

/// Refuses a session whose baseline has no room for a case, or cannot run a single one: the user can mend the first, and a table
/// without values helps nobody.
///
/// A command that fails by itself is an outcome, and nothing to refuse, if sides are compared.
pub fn require_baseline(cases: &[Calibrated], baseline: &str, is_compared: bool) -> Result<(), LabError> {
    let of_baseline = |case: &Calibrated| Some(case.paces.first()?.as_ref().err()?.clone());
    let failures: Vec<(&SelectedCase, Failure)> =
        cases.iter().filter_map(|case| Some((&case.selected, of_baseline(case)?))).collect();
    if let Some((selected, failure)) = failures.iter().find(|(_, failure)| failure.is_full_disk()) {
        let place = selected.case.place.as_deref().unwrap_or("own");
        return Err(LabError::new(ErrorKind::Storage, format!("no room in the place '{place}'"))
            .with_cause(format!("{}: {failure}", selected.case))
            .with_hint("make room there, name another place with --place, or other cases with --only"));
    }
    match failures.as_slice() {
        [(selected, failure), ..]
            if failures.len() == cases.len() && !(is_compared && is_outcome(&selected.case, failure)) =>
        {
            Err(nothing_in_baseline(selected, failure, baseline))
        }
        _ => Ok(()),
    }
}

/// Finds the first failure of an environment that cannot run a single case.
pub fn find_failure_of_all(cases: &[Calibrated], target: usize) -> Option<&Failure> {
    let failure = |case: &'_ Calibrated| case.paces.get(target).and_then(|pace| pace.as_ref().err().cloned());
    let is_outcome =
        |case: &Calibrated| failure(case).is_some_and(|failure| is_outcome(&case.selected.case, &failure));
    let mut failures = cases.iter().map(|case| case.paces.get(target)?.as_ref().err());
    let first = failures.next()??;
    (failures.all(|failure| failure.is_some()) && !cases.iter().any(is_outcome)).then_some(first)
}

fn nothing_in_baseline(selected: &SelectedCase, failure: &Failure, baseline: &str) -> LabError {
    if selected.case.probe.starts_with(USER) {
        return no_value(format!("in {baseline}: {}", failure.reason), advise_on_command(failure));
    }
    let kind = if selected.case.place.is_some() { ErrorKind::Storage } else { ErrorKind::Environment };
    LabError::new(kind, format!("no case can be measured in the baseline '{baseline}'"))
        .with_cause(format!("{}: {failure}", selected.case))
        .with_hint(match &selected.case.place {
            Some(_) => "name another place with --place: own always is one",
            None => "tare check shows the limits of this machine",
        })
}

/// Advises on an environment that failed.
pub fn advise_on_environment(failure: &Failure) -> Option<&'static str> {
    match failure.kind {
        FailureKind::Died => Some("tare check --time enters each environment, and shows what it needs"),
        // The reason names the budget.
        FailureKind::LeftOut => None,
        _ => Some("tare check shows what each environment needs"),
    }
}

/// Advises on a command that failed in an environment.
pub fn advise_on_command(failure: &Failure) -> Option<&'static str> {
    match failure.kind {
        // Steps besides the command are named by their options.
        FailureKind::WrongWork if failure.reason.starts_with("--") => {
            Some("run it by itself first: it must end with exit code 0")
        }
        FailureKind::WrongWork => Some("-i goes on after a command that fails"),
        FailureKind::Deadline => Some("--timeout gives a run more time"),
        // The reason tells why: it lies with the command, and not with the environment.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tare_specimen::make_sides;

    use super::*;

    fn targets(roles: &[Role]) -> Sides {
        make_sides(roles.iter().map(|role| (format!("{role:?}"), *role)))
    }

    #[test]
    fn a_session_without_its_only_subject_ends() {
        let failure = Failure::new(FailureKind::WrongWork, "x ended with exit code 3, expected 0");
        let alone = targets(&[Role::Baseline, Role::Control]);
        assert!(
            require_subject(&alone, |_| Some(&failure), advise_on_command).is_ok(),
            "one that compares nothing goes on"
        );
        let one = targets(&[Role::Baseline, Role::Subject]);
        let error = require_subject(&one, |_| Some(&failure), advise_on_command).unwrap_err();
        assert_eq!(error.what, "cannot measure Subject: x ended with exit code 3, expected 0");
        assert_eq!(
            (error.kind, error.hint.as_deref()),
            (ErrorKind::Environment, Some("-i goes on after a command that fails"))
        );
        let two = targets(&[Role::Baseline, Role::Subject, Role::Subject]);
        assert!(require_subject(&two, |target| (target == 1).then_some(&failure), advise_on_command).is_ok());
        assert!(
            require_subject(&two, |_| Some(&failure), advise_on_command)
                .unwrap_err()
                .what
                .starts_with("cannot measure any of 2")
        );
        let long = Failure::new(FailureKind::Died, "x".repeat(5_000));
        let error = require_subject(&one, |_| Some(&long), advise_on_environment).unwrap_err();
        assert!(error.what.len() <= LONGEST_MESSAGE && error.hint.is_some());
        for kind in [FailureKind::NotSupported, FailureKind::NotPermitted, FailureKind::Broken] {
            let failure = Failure::new(kind, "./x: not executable (chmod +x)");
            let error = require_subject(&one, |_| Some(&failure), advise_on_command).unwrap_err();
            assert_eq!(error.hint, None, "no look at environments mends a command");
        }
    }
}

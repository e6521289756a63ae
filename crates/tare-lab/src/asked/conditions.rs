//! Conditions of `--fail-if` before a session: one that can match no cell is a mistake, and found before it costs time.

use tare_analysis::gate::{Condition, TargetNames};
use tare_data::names::Case;
use tare_data::session::{Role, Target};

use crate::error::{ErrorKind, LabError};

/// Refuses a condition that matches no cell of these environments and cases.
pub(crate) fn check_conditions(
    conditions: &[Condition],
    targets: &[Target],
    cases: &[&Case],
) -> Result<(), LabError> {
    let subjects = || targets.iter().filter(|target| target.role == Role::Subject);
    let chooses = |condition: &&Condition| {
        subjects().any(|target| {
            let names = TargetNames { name: &target.name, specification: Some(&target.specification) };
            cases.iter().any(|case| condition.selector.matches_cell(&names, &case.to_string(), &case.probe))
        })
    };
    match conditions.iter().find(|condition| !chooses(condition)) {
        None => Ok(()),
        Some(idle) => {
            let subjects: Vec<String> = subjects().map(|target| target.name.clone()).collect();
            Err(matches_nothing(&idle.to_string(), &subjects))
        }
    }
}

/// Builds the error of a condition that matches no cell of a session.
pub fn matches_nothing(condition: &str, subjects: &[String]) -> LabError {
    let error = LabError::new(ErrorKind::Usage, format!("'{condition}' matches no cell of this session"));
    match subjects {
        [] => error.with_hint("there is no environment beside the baseline"),
        subjects => error.with_hint(format!(
            "its environments are {}; 'tare list probes' lists the probes",
            subjects.join(", ")
        )),
    }
}

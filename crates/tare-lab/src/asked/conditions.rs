//! Conditions of `--fail-if` before a session: one that can match no cell is a mistake, and found before it costs time.

use tare_analysis::findings::Row;
use tare_analysis::gate::{Condition, TargetNames};
use tare_data::names::Case;
use tare_data::session::{Role, Sides};
use tare_probes::find_probe;

use crate::error::{ErrorKind, LabError};

/// Refuses a condition that matches no cell of these environments and cases.
pub(crate) fn check_conditions(
    conditions: &[Condition],
    targets: &Sides,
    cases: &[&Case],
) -> Result<(), LabError> {
    let subjects = || targets.of_role(Role::Subject);
    let chooses = |condition: &&Condition| {
        subjects().any(|target| {
            let names = TargetNames::of_side(target);
            cases.iter().filter(|case| case.probe != Row::HARNESS).any(|case| {
                let label = find_probe(&case.probe).map(|probe| (probe.label)(&case.parameters));
                // The heading of a row ends with a place or a peer that is not the usual one.
                let ends = [
                    case.place.as_ref().map(|place| format!(" @{place}")),
                    case.peer.as_ref().map(|peer| format!(" >{peer}")),
                ];
                let label = label.unwrap_or_default();
                let longer = format!("{label}{}", ends.into_iter().flatten().collect::<String>());
                condition.selector.matches_cell(&names, &[&case.to_string(), &case.probe, &label, &longer])
            })
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
            "it compares {} with the baseline; 'tare list probes' lists the probes",
            subjects.join(", ")
        )),
    }
}

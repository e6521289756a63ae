//! Lanes: the environments of a session, resolved from what the user named.

use tare_data::session::{Lane, Role};

use crate::environments;
use crate::error::LabError;
use crate::specification::Specification;

/// The lanes of a session: the reference, the reference once more as the control, and the subjects.
///
/// A subject that is named twice, or is the reference, counts once.
pub fn lanes(reference: &str, subjects: &[String]) -> Result<Vec<Lane>, LabError> {
    let reference = environments::parse(reference)?;
    let lane = |name: String, specification: &Specification, role| Lane {
        name,
        specification: specification.to_string(),
        role,
    };
    let mut lanes = vec![
        lane(name(&reference), &reference, Role::Reference),
        lane(format!("{} again", name(&reference)), &reference, Role::Control),
    ];
    for subject in subjects {
        let subject = environments::parse(subject)?;
        if lanes.iter().all(|other| other.specification != subject.to_string()) {
            lanes.push(lane(name(&subject), &subject, Role::Subject));
        }
    }
    Ok(lanes)
}

/// What a column is headed with: short, and still telling specifications of one provider apart.
fn name(specification: &Specification) -> String {
    let parts = specification.target.iter().chain(specification.options.values());
    parts.fold(specification.provider.clone(), |name, part| format!("{name}-{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_entered_twice_and_nobody_else() {
        let subjects = ["native", "gvisor", "gvisor?platform=ptrace", "gvisor", "oci:crun"].map(String::from);
        let lanes = lanes("native", &subjects).unwrap();
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names, ["native", "native again", "gvisor", "gvisor-ptrace", "oci-crun"]);
        assert_eq!(lanes[1].role, Role::Control);
    }
}

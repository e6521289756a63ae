//! Lanes: the environments of a session, resolved from what the user named.

use tare_data::session::{Lane, Role};

use crate::environments;
use crate::error::LabError;
use crate::provider::specification::Specification;

/// The lanes of a session: the reference, the reference once more as the control, and the subjects.
///
/// A subject that is named twice, or is the reference, counts once.
pub fn lanes(reference: &str, subjects: &[String]) -> Result<Vec<Lane>, LabError> {
    let lane = |text: &str, addition: &str, role| -> Result<Lane, LabError> {
        let specification = environments::parse(text)?.to_string();
        Ok(Lane { name: format!("{}{addition}", name(text)), specification, role })
    };
    let mut lanes = vec![lane(reference, "", Role::Reference)?, lane(reference, " again", Role::Control)?];
    for subject in subjects {
        let subject = lane(subject, "", Role::Subject)?;
        if lanes.iter().all(|other| other.specification != subject.specification) {
            lanes.push(subject);
        }
    }
    Ok(lanes)
}

/// What a column is headed with: short, and still telling specifications of one provider apart. A preset goes by
/// the name that it was called by.
fn name(text: &str) -> String {
    let Ok(specification) = Specification::parse(text) else { return text.to_owned() };
    let parts = specification.target.iter().chain(specification.options.values());
    parts.fold(specification.provider.clone(), |name, part| format!("{name}-{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_heads_its_column_by_its_own_name() {
        let subjects = ["wsl1-like", "wsl2-like?memory=512", "guest", "qemu"].map(String::from);
        let lanes = lanes("native", &subjects).unwrap();
        let named = |lane: &Lane| format!("{} = {}", lane.name, lane.specification);
        assert_eq!(
            lanes[2..].iter().map(named).collect::<Vec<_>>(),
            [
                "wsl1-like = gvisor?platform=systrap",
                "wsl2-like-512 = qemu?cache=mmap&memory=512",
                // Whoever names it twice, by whatever names, gets it once.
                "guest = qemu",
            ]
        );
    }

    #[test]
    fn the_reference_is_entered_twice_and_nobody_else() {
        let subjects = ["native", "gvisor", "gvisor?platform=ptrace", "gvisor", "oci:crun"].map(String::from);
        let lanes = lanes("native", &subjects).unwrap();
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names, ["native", "native again", "gvisor", "gvisor-ptrace", "oci-crun"]);
        assert_eq!(lanes[1].role, Role::Control);
    }
}

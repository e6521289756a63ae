//! Environments: the environments of a session, resolved from what the user named.

use tare_data::session::{Role, Target};

use crate::environments;
use crate::error::LabError;
use crate::provider::specification::Specification;

/// The environments of a session: the baseline, the baseline once more as the control, and the subjects.
///
/// A subject that is named twice, or is the baseline, counts once.
pub fn targets(baseline: &str, subjects: &[String]) -> Result<Vec<Target>, LabError> {
    let target = |text: &str, addition: &str, role| -> Result<Target, LabError> {
        let specification = environments::parse(text)?.to_string();
        Ok(Target { name: format!("{}{addition}", name(text)), specification, role })
    };
    let mut targets = vec![target(baseline, "", Role::Baseline)?, target(baseline, " again", Role::Control)?];
    for subject in subjects {
        let subject = target(subject, "", Role::Subject)?;
        if targets.iter().all(|other| other.specification != subject.specification) {
            targets.push(subject);
        }
    }
    Ok(targets)
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
        let targets = targets("native", &subjects).unwrap();
        let named = |target: &Target| format!("{} = {}", target.name, target.specification);
        assert_eq!(
            targets[2..].iter().map(named).collect::<Vec<_>>(),
            [
                "wsl1-like = gvisor?platform=systrap",
                "wsl2-like-512 = qemu?cache=mmap&memory=512",
                // Whoever names it twice, by whatever names, gets it once.
                "guest = qemu",
            ]
        );
    }

    #[test]
    fn the_baseline_is_entered_twice_and_nobody_else() {
        let subjects = ["native", "gvisor", "gvisor?platform=ptrace", "gvisor", "oci:crun"].map(String::from);
        let targets = targets("native", &subjects).unwrap();
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["native", "native again", "gvisor", "gvisor-ptrace", "oci-crun"]);
        assert_eq!(targets[1].role, Role::Control);
    }
}

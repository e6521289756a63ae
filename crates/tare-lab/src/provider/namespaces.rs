//! Namespaces of an environment: those that its specification makes, and no others.

use std::ops::BitOr;

use tare_data::facts::Facts;

/// Kinds, as named in /proc/self/ns, in the order of the bits of a set.
const KINDS: [&str; 8] = ["mnt", "pid", "ipc", "uts", "net", "user", "cgroup", "time"];

/// Set of kinds of namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);
    pub const MOUNTS: Kinds = Kinds(1);
    pub const PROCESSES: Kinds = Kinds(1 << 1);
    pub const IPC: Kinds = Kinds(1 << 2);
    pub const HOST_NAME: Kinds = Kinds(1 << 3);
    pub const NETWORK: Kinds = Kinds(1 << 4);
    pub const USERS: Kinds = Kinds(1 << 5);
    pub const CONTROL_GROUPS: Kinds = Kinds(1 << 6);
    pub const ALL: Kinds = Kinds(u8::MAX);
    /// Kinds that every container has.
    pub const CONTAINER: Kinds = Kinds(0b1111);

    /// Parses names; one that no kernel has is left out.
    pub fn from_names(names: &[&str]) -> Kinds {
        let bit = |(bit, kind): (usize, &&str)| if names.contains(kind) { 1 << bit } else { 0 };
        Kinds(KINDS.iter().enumerate().map(bit).sum())
    }

    /// Gives these kinds where a condition holds, else none.
    pub const fn only_if(self, is_so: bool) -> Kinds {
        if is_so { self } else { Kinds::NONE }
    }

    fn contains(self, bit: usize) -> bool {
        self.0 >> bit & 1 == 1
    }
}

impl BitOr for Kinds {
    type Output = Kinds;

    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

/// Namespaces that a specification makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespaces {
    /// Kinds that are not this machine's.
    pub own: Kinds,
    /// Kinds that the runtime decides about; all others are this machine's.
    pub either: Kinds,
}

impl Namespaces {
    /// Lists the environment's own namespaces, where they are as described; None where they are not shown. `host` are this machine's.
    /// Fails with the reason where they are others.
    pub fn compare_signs(self, signs: &Facts, host: &Facts) -> Result<Option<String>, String> {
        let mut seen = Vec::new();
        for (bit, kind) in KINDS.iter().enumerate() {
            let key = format!("namespace.{kind}");
            let (Some(one), Some(other)) = (signs.get(&key), host.get(&key)) else {
                if self.own.contains(bit) {
                    return Ok(None);
                }
                continue;
            };
            match (self.own.contains(bit), one != other) {
                (true, false) => {
                    return Err(format!(
                        "its {kind} namespace is this machine's; allow namespaces in the filter or container around tare"
                    ));
                }
                (false, true) if !self.either.contains(bit) => {
                    return Err(format!(
                        "its {kind} namespace is not this machine's, as its specification has it; look at the runtime's settings"
                    ));
                }
                (true, true) => seen.push(format!("{kind}:[{one}]")),
                (false, _) => {}
            }
        }
        Ok(Some(seen.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(changed: &[&str]) -> Facts {
        let mut signs = Facts::default();
        for kind in KINDS {
            signs.add_fact(format!("namespace.{kind}"), if changed.contains(&kind) { "2" } else { "1" });
        }
        signs
    }

    #[test]
    fn exactly_the_namespaces_of_the_specification_are_asked_for() {
        let namespaces = Namespaces { own: Kinds::from_names(&["mnt", "pid"]), either: Kinds::USERS };
        let compare = |changed: &[&str]| namespaces.compare_signs(&signs(changed), &signs(&[]));
        for changed in [&["mnt", "pid"][..], &["mnt", "pid", "user"]] {
            assert_eq!(compare(changed), Ok(Some("mnt:[2] pid:[2]".into())), "{changed:?}");
        }
        for (changed, kind) in [(&["mnt"][..], "pid"), (&[], "mnt"), (&["mnt", "pid", "net"], "net")] {
            let why = compare(changed).unwrap_err();
            assert!(why.contains(&format!("its {kind} namespace")), "{why}");
        }
        assert_eq!(namespaces.compare_signs(&Facts::default(), &signs(&[])), Ok(None));
    }

    #[test]
    fn every_kind_has_a_name() {
        assert_eq!(Kinds::from_names(&KINDS), Kinds::ALL);
        assert_eq!(Kinds::from_names(&["mnt", "pid", "ipc", "uts"]), Kinds::CONTAINER);
        assert_eq!(
            Kinds::from_names(&["net", "user", "cgroup", "none"]),
            Kinds::NETWORK | Kinds::USERS | Kinds::CONTROL_GROUPS
        );
    }
}

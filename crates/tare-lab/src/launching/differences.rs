//! Differences between two places, by which a process shows that it is inside.

use tare_probes::agent::launched::Look;

use crate::launching::template::Sign;

impl Sign {
    pub(super) fn name(self) -> &'static str {
        match self {
            Sign::Root => "root",
            Sign::Seccomp => "seccomp",
            Sign::Privileges => "privileges",
            Sign::Kernel => "kernel",
            of_namespace => of_namespace.namespace().unwrap_or_default(),
        }
    }

    pub(super) fn describe(self) -> String {
        match self {
            Sign::Root => "the root folder".into(),
            Sign::Seccomp => "the number of system call filters".into(),
            Sign::Privileges => "the limit of privileges".into(),
            Sign::Kernel => "the kernel".into(),
            namespace => format!("the {} namespace", namespace.name()),
        }
    }
}

/// Lists the differences between two places, in the words of [`Sign`].
pub(super) fn list_differences<'l>(inside: &'l Look, here: &Look) -> Vec<&'l str> {
    let differs = |kind: &&String| inside.namespaces.get(*kind) != here.namespaces.get(*kind);
    let mut all: Vec<&str> = inside.namespaces.keys().filter(differs).map(String::as_str).collect();
    let count = |look: &Look| look.filters.parse::<u32>().unwrap_or(0);
    for (name, differs) in [
        ("root", inside.root != here.root),
        ("seccomp", count(inside) > count(here)),
        ("privileges", inside.no_new_privileges && !here.no_new_privileges),
        ("kernel", inside.kernel != here.kernel),
    ] {
        all.extend(differs.then_some(name));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_as_signs_are() {
        let here = Look {
            namespaces: [("mnt".to_owned(), "1".to_owned()), ("pid".to_owned(), "2".to_owned())].into(),
            filters: "0".into(),
            ..Look::default()
        };
        let namespaces = [("mnt".to_owned(), "3".to_owned()), ("pid".to_owned(), "2".to_owned())].into();
        let inside = Look { namespaces, filters: "2".into(), root: (1, 2), ..here.clone() };
        assert_eq!(list_differences(&inside, &here), ["mnt", "root", "seccomp"]);
        assert!(list_differences(&here, &here).is_empty());
    }
}

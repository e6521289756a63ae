//! Arrows between crates: which of ours each may import, and what none of them may.

use std::collections::BTreeSet;

use crate::tree::{Crate, Tree};

/// A crate, what it may import of ours, and what only its tests may.
pub type Arrows<'a> = &'a [(&'a str, &'a [&'a str], &'a [&'a str])];

/// Lists crates that import outside their arrows, or have none.
pub fn list_broken_arrows(tree: &Tree, arrows: Arrows<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for one in &tree.crates {
        let Some((_, allowed, of_tests)) = arrows.iter().find(|(name, ..)| *name == one.name) else {
            broken.push(format!("{} has no arrows in the list", one.name));
            continue;
        };
        let ours = |(_, name): &(bool, String)| tree.crates.iter().any(|other| other.name == *name);
        for (is_of_tests, name) in dependencies(one).into_iter().filter(ours) {
            let name = name.as_str();
            let is_allowed = allowed.contains(&name) || is_of_tests && of_tests.contains(&name);
            if !is_allowed {
                broken.push(format!("{} imports {name}, and may import {allowed:?}", one.name));
            }
        }
    }
    let gone = arrows.iter().filter(|(name, ..)| !tree.crates.iter().any(|one| one.name == *name));
    broken.extend(gone.map(|(name, ..)| format!("{name} is in the list of arrows and not in the tree")));
    broken
}

/// Lists crates that import a crate which they are to do without.
pub fn list_banned_imports(tree: &Tree, banned: &[(&str, &str, &str)]) -> Vec<String> {
    let imports = |crate_name: &str, name: &str| {
        let mut named = tree.crates.iter().filter(|one| one.name == crate_name);
        named.any(|one| dependencies(one).contains(&(false, name.to_owned())))
    };
    let broken = banned.iter().filter(|(one, name, _)| imports(one, name));
    broken.map(|(one, name, why)| format!("{one} imports {name}: {why}")).collect()
}

/// Lists the imports of a manifest, and whether they are only for tests.
fn dependencies(one: &Crate) -> BTreeSet<(bool, String)> {
    let mut section = "";
    let mut all = BTreeSet::new();
    for line in one.manifest.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            section = head.trim_end_matches(']');
        } else if section.ends_with("dependencies") && !line.starts_with('#') && !line.is_empty() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            all.insert((section.ends_with("dev-dependencies"), name.to_owned()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn an_import_against_the_arrows_is_found() {
        let planted = Planted::new();
        planted.write_package("low", "[dev-dependencies]\nhigh.workspace = true\n", "//! Low.\n");
        planted.write_package("high", "[dependencies]\nlow.workspace = true\nserde = \"1\"\n", "//! High.\n");
        let tree = planted.read_tree();
        assert_eq!(list_broken_arrows(&tree, &[("low", &[], &["high"]), ("high", &["low"], &[])]), [""; 0]);
        assert_eq!(list_broken_arrows(&tree, &[("low", &[], &[]), ("high", &["low"], &[])]).len(), 1);
        assert_eq!(list_broken_arrows(&tree, &[("low", &[], &["high"])]).len(), 1);
        assert_eq!(
            list_broken_arrows(&tree, &[("low", &[], &["high"]), ("high", &["low"], &[]), ("x", &[], &[])])
                .len(),
            1
        );
        assert_eq!(list_banned_imports(&tree, &[("high", "serde", "why"), ("low", "serde", "why")]).len(), 1);
    }
}

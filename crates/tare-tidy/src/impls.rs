//! Implementations: the methods of a type lie in at most two files, so that whoever reads it knows where it ends.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, Type};

use crate::modules::{Modules, Named, find_roots};
use crate::tree::{Crate, Tree, strip_raw_prefix};

/// Limit on the files in which a type has methods, those of traits apart.
const MOST_FILES: usize = 2;

/// Types by the module that defines them and their name, each with the files that have an inherent `impl` of it.
type Spread<'t> = BTreeMap<(usize, String), BTreeSet<&'t str>>;

/// Lists types whose methods are spread over more files than a reader keeps in mind.
pub fn list_spread_types(tree: &Tree) -> Vec<String> {
    let mut broken = BTreeSet::new();
    for krate in &tree.crates {
        for root in find_roots(krate) {
            for ((_, name), files) in find_files(krate, root) {
                if files.len() > MOST_FILES {
                    let files: Vec<&str> = files.into_iter().collect();
                    broken.insert(format!(
                        "{}: {name} has methods in {} files, of {MOST_FILES}: {}",
                        krate.name,
                        files.len(),
                        files.join(", ")
                    ));
                }
            }
        }
    }
    broken.into_iter().collect()
}

/// Finds the files of the methods of every type of a target.
fn find_files(krate: &Crate, root: usize) -> Spread<'_> {
    let modules = Modules::from_root(krate, root);
    let mut spread = Spread::new();
    for (at, module) in modules.all.iter().enumerate() {
        for item in &module.items {
            let Item::Impl(item) = item else { continue };
            let Type::Path(of) = item.self_ty.as_ref() else { continue };
            if item.trait_.is_some() {
                continue;
            }
            let path: Vec<String> =
                of.path.segments.iter().map(|segment| strip_raw_prefix(&segment.ident)).collect();
            if let (Some(Named::Item(defined)), Some(name)) = (modules.resolve_path(at, &path), path.last()) {
                let file = krate.sources[module.file].name.as_str();
                spread.entry((defined, name.clone())).or_default().insert(file);
            }
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_third_file_of_methods_is_found() {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\nmod a;\nmod b;\npub struct Wide<'a>(&'a str);\n");
        planted.write_file("crates/one/src/a.rs", "//! A.\nuse crate::Wide;\nimpl Wide<'_> {}\n");
        planted.write_file("crates/one/src/b.rs", "//! B.\nimpl<'a> super::Wide<'a> {}\n");
        assert_eq!(list_spread_types(&planted.read_tree()), [""; 0]);
        let library = "//! One.\nmod a;\nmod b;\nmod c;\npub struct Wide<'a>(&'a str);\nimpl Wide<'_> {}\n";
        // A trait's methods are elsewhere by right, and another type of the same name is another one.
        planted
            .write_file("crates/one/src/c.rs", "//! C.\nstruct Wide;\nimpl Wide {}\nimpl Drop for Wide {}\n");
        planted.write_package("one", "", library);
        assert_eq!(
            list_spread_types(&planted.read_tree()),
            [
                "one: Wide has methods in 3 files, of 2: crates/one/src/a.rs, crates/one/src/b.rs, crates/one/src/lib.rs"
            ]
        );
    }
}

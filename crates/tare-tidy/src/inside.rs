//! A crate's build reads only files inside the crate, some of them through links: an archive of the crate would lack others.

use std::path::{Component, Path, PathBuf};

use syn::visit::{self, Visit};

use crate::tree::{Source, Tree, is_of_tests};

/// Finds files that a crate includes although they lie elsewhere. Tests may do so.
pub fn included_from_outside(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for one in &tree.crates {
        for source in one.sources.iter().filter(|source| is_built(&one.folder, source)) {
            let mut included = Included { source, folder: &one.folder, broken: &mut broken };
            included.visit_file(&source.syntax);
        }
    }
    broken
}

fn is_built(folder: &Path, source: &Source) -> bool {
    let path = source.path.strip_prefix(folder).unwrap_or(&source.path);
    path.starts_with("src")
        && !path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")))
}

struct Included<'a> {
    source: &'a Source,
    folder: &'a Path,
    broken: &'a mut Vec<String>,
}

impl<'ast> Visit<'ast> for Included<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let name = called.path.segments.last().map(|segment| segment.ident.to_string());
        if !matches!(name.as_deref(), Some("include_str" | "include_bytes" | "include")) {
            return;
        }
        // Files that a build script wrote are named by another macro.
        let Ok(file) = called.parse_body::<syn::LitStr>() else { return };
        let path = plain(&self.source.path.with_file_name(file.value()));
        if !path.starts_with(self.folder) {
            self.broken.push(format!(
                "{} includes {} from outside its crate",
                self.source.name,
                file.value()
            ));
        }
    }
}

/// Resolves `..` in a path as it is written: links are not followed.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_file_outside_is_found_unless_only_tests_read_it() {
        let planted = Planted::new();
        let inside = "//! One.\nconst A: &str = include_str!(\"../a.toml\");\nconst B: &str = include_str!(\"b.toml\");\n";
        planted.write_package("one", "", inside);
        planted.write_package(
            "two",
            "",
            "//! Two.\n#[cfg(test)]\nmod tests {\n    const A: &str = include_str!(\"../../../a.toml\");\n}\n",
        );
        assert_eq!(included_from_outside(&planted.read_tree()), [""; 0]);
        planted.write_package(
            "three",
            "",
            "//! Three.\nconst A: &[&[u8]] = &[include_bytes!(\"../../../a.toml\")];\n",
        );
        let broken = "crates/three/src/lib.rs includes ../../../a.toml from outside its crate";
        assert_eq!(included_from_outside(&planted.read_tree()), [broken]);
    }
}

//! Lists against folders: every file of a folder stands in the sources that list it.

use crate::tree::{Tree, list_paths};

/// A folder of the workspace, and the crate whose sources name each of its files.
pub type Listed<'a> = (&'a str, &'a str);

/// Finds files that no source of their crate names.
pub fn find_unlisted_files(tree: &Tree, lists: &[Listed<'_>]) -> Vec<String> {
    let mut broken = Vec::new();
    for (folder, lister) in lists {
        let files = list_paths(&tree.root.join(folder));
        if files.is_empty() {
            broken.push(format!("{folder} is empty"));
        }
        for path in files {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let named = format!("{folder}/{name}\"");
            let crates = tree.crates.iter().filter(|one| one.name == *lister);
            if !crates.flat_map(|one| &one.sources).any(|source| source.text.contains(&named)) {
                broken.push(format!("{folder}/{name} is in no list of {lister}"));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_file_that_no_list_names_is_found() {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\nconst A: &str = \"../studies/a.toml\";\n");
        planted.write_file("studies/a.toml", "");
        assert_eq!(find_unlisted_files(&planted.read_tree(), &[("studies", "one")]), [""; 0]);
        planted.write_file("studies/b.toml", "");
        assert_eq!(
            find_unlisted_files(&planted.read_tree(), &[("studies", "one")]),
            ["studies/b.toml is in no list of one"]
        );
    }
}

//! The names of environments: product code outside of their files has none, so that a new one changes its own file alone; and nothing is
//! leaked to make a name live forever.

use std::collections::BTreeSet;

use crate::lines::read_files;
use crate::tree::{Tree, list_string_literals};

/// A string that is the name of something else, by the beginning of the files' names.
pub type Homonyms<'a> = &'a [(&'a str, &'a str)];

/// Finds strings in these crates that are a name in the file `list`, except below `home` and in homonyms, `*` for all of a folder.
pub fn find_named(
    tree: &Tree,
    list: &str,
    home: &str,
    crates: &[&str],
    homonyms: Homonyms<'_>,
) -> Result<Vec<String>, String> {
    let list = tree.sources().find(|source| source.name == list).ok_or_else(|| format!("no {list}"))?;
    let names: BTreeSet<String> = list_string_literals(&list.tokens);
    let mut broken = Vec::new();
    for one in tree.crates.iter().filter(|one| crates.contains(&one.name.as_str())) {
        for (path, lines) in read_files(&one.folder)? {
            let file = path.strip_prefix(&tree.root).unwrap_or(&path).to_string_lossy().into_owned();
            let is_other = |name: &str| {
                let mut known = homonyms.iter().filter(|(start, _)| file.starts_with(start));
                file.starts_with(home) || known.any(|(_, known)| *known == "*" || *known == name)
            };
            let named = lines.strings.iter().filter(|(_, text)| names.contains(text) && !is_other(text));
            broken.extend(named.map(|(line, name)| format!("{file}:{line} names the environment {name}")));
            broken.extend(lines.leaks.iter().map(|line| format!("{file}:{line} leaks")));
        }
    }
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_name_outside_its_home_is_found_unless_it_is_something_elses_or_a_proof() {
        let planted = Planted::new();
        let text = "//! One.\nfn f(x: &str) -> bool {\n    matches!(x, \"box\" | \"other\")\n}\n\
                    const P: Proof = Proof::Kernel(\"box\");\n/// A box.\n#[arg(default_value = \"box\")]\nconst A: u8 = 0;\n\
                    fn g() {\n    String::leak(x);\n    x.leak();\n    leak(x);\n    x.leak(y);\n}\n\
                    #[cfg(test)]\nmod tests {\n    const B: &str = \"box\";\n}\n";
        planted
            .write_package("one", "", text)
            .write_file("crates/one/src/home/names.rs", "const N: &[&str] = &[\"box\"];");
        let tree = planted.read_tree();
        let found = |crates: &[&str], homonyms| {
            find_named(&tree, "crates/one/src/home/names.rs", "crates/one/src/home/", crates, homonyms)
                .unwrap()
        };
        let name = |line: u8| format!("crates/one/src/lib.rs:{line} names the environment box");
        let leak = |line: u8| format!("crates/one/src/lib.rs:{line} leaks");
        assert_eq!(found(&["one"], &[]), [name(3), name(7), leak(10), leak(11)]);
        assert_eq!(found(&["one"], &[("crates/one/src/", "box")]), [leak(10), leak(11)]);
        assert_eq!(found(&[], &[]), [""; 0]);
    }
}

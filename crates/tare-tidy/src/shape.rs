//! Shape: how long files and functions are, how many files lie in a folder, and what they are called.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::{Source, Tree, list_files, strip_raw_prefix};

/// Longest file of code, tests included.
const LONGEST_FILE: usize = 650;
/// Longest function, tests included: from the line of its name to that of its last brace.
const LONGEST_FUNCTION: usize = 70;
/// Limit on the source files directly in a folder.
const MOST_FILES: usize = 15;
/// Words that could name anything.
const VAGUE: [&str; 7] = ["util", "utils", "common", "helpers", "core", "manager", "misc"];
/// Marks of unfinished work.
const UNFINISHED: [&str; 5] = ["todo!", "unimplemented!", "#[ignore", "dbg!", "FIXME"];

/// Finds files that do not open with a sentence, or tell two stories.
pub fn of_files(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for source in tree.sources() {
        if !source.text.starts_with("//! ") {
            broken.push(format!("{} does not open with a sentence of purpose", source.name));
        }
        let lines = source.text.lines().count();
        if lines > LONGEST_FILE {
            broken.push(format!("{} has {lines} lines, of {LONGEST_FILE}", source.name));
        }
    }
    broken
}

/// Lists functions that are too long.
pub fn of_functions(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for source in tree.sources() {
        functions(&source.tokens, &mut |name, line, lines| {
            if lines > LONGEST_FUNCTION {
                broken
                    .push(format!("{}:{line} {name} has {lines} lines, of {LONGEST_FUNCTION}", source.name));
            }
        });
    }
    broken
}

/// Calls back with name, first line and number of lines of every function with a body, those in macros included.
fn functions(tokens: &TokenStream, found: &mut dyn FnMut(&str, usize, usize)) {
    let mut begun: Option<proc_macro2::Ident> = None;
    let mut after_fn = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if after_fn => {
                begun = Some(ident);
                after_fn = false;
            }
            TokenTree::Ident(ident) => after_fn = ident == "fn",
            TokenTree::Group(group) => {
                after_fn = false;
                if group.delimiter() == Delimiter::Brace
                    && let Some(ident) = begun.take()
                {
                    let (first, last) = (ident.span().start().line, group.span_close().end().line);
                    found(&strip_raw_prefix(&ident), first, last - first + 1);
                }
                functions(&group.stream(), found);
            }
            TokenTree::Punct(punct) => {
                after_fn = false;
                if punct.as_char() == ';' {
                    begun = None;
                }
            }
            TokenTree::Literal(_) => after_fn = false,
        }
    }
}

/// Lists folders with too many files that are not one list of like things; those that are, are named.
pub fn of_folders(tree: &Tree, like_things: &[&str]) -> Vec<String> {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let page = tree.root.join("report-ui");
    for path in tree.sources().map(|source| source.path.clone()).chain(list_files(&page, "ts")) {
        *counts.entry(path.parent().unwrap_or(Path::new("")).to_owned()).or_default() += 1;
    }
    let named = |path: &Path| path.strip_prefix(&tree.root).unwrap_or(path).display().to_string();
    let full = counts.into_iter().filter(|(_, count)| *count > MOST_FILES);
    let full = full.map(|(folder, count)| (named(&folder), count));
    let broken = full.filter(|(folder, _)| !like_things.contains(&folder.as_str()));
    broken.map(|(folder, count)| format!("{folder} has {count} files, of {MOST_FILES}")).collect()
}

/// Lists modules and folders whose names say nothing.
pub fn of_names(tree: &Tree) -> Vec<String> {
    let is_vague = |source: &&Source| {
        let below = source.path.strip_prefix(&tree.root).unwrap_or(&source.path).with_extension("");
        below.iter().any(|part| VAGUE.iter().any(|vague| part == *vague))
    };
    tree.sources().filter(is_vague).map(|source| format!("{} could hold anything", source.name)).collect()
}

/// Finds files with unfinished work; the one with the list of such words is left out.
pub fn of_work(tree: &Tree) -> Vec<String> {
    let own = Path::new(file!()).file_name().unwrap_or_default();
    let mut broken = Vec::new();
    for source in tree.sources().filter(|source| source.path.file_name() != Some(own)) {
        let words = UNFINISHED.iter().filter(|word| source.text.contains(**word));
        broken.extend(words.map(|word| format!("{} holds {word}", source.name)));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    /// Builds a function with this number of lines.
    fn function(lines: usize) -> String {
        format!("pub fn long() {{\n{}}}\n", "    drop(0);\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_eighty_lines_is_found() {
        let planted = Planted::new();
        planted.write_package("one", "", &format!("//! One.\n{}", function(LONGEST_FUNCTION)));
        assert_eq!(of_functions(&planted.read_tree()), [""; 0]);
        planted.write_package("one", "", &format!("//! One.\n#[test]\n{}", function(80)));
        assert_eq!(of_functions(&planted.read_tree()), ["crates/one/src/lib.rs:3 long has 80 lines, of 70"]);
        planted.write_package("one", "", &format!("//! One.\nwrap! {{\n{}}}\n", function(71)));
        assert_eq!(of_functions(&planted.read_tree()), ["crates/one/src/lib.rs:3 long has 71 lines, of 70"]);
        // A signature without a body does not count, and its name is not that of the next braces.
        let declared = format!("trait T {{ fn declared(&self); }}\nstruct S {{{}}}\n", "\n".repeat(90));
        planted.write_package("one", "", &format!("//! One.\n{declared}"));
        assert_eq!(of_functions(&planted.read_tree()), [""; 0]);
    }

    #[test]
    fn a_sixteenth_flat_file_is_found() {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\n");
        for number in 1..15 {
            planted.write_file(&format!("crates/one/src/f{number}.rs"), "//! F.\n");
        }
        planted.write_file("crates/one/src/below/f16.rs", "//! F.\n");
        assert_eq!(of_folders(&planted.read_tree(), &[]), [""; 0]);
        planted.write_file("crates/one/src/f15.rs", "//! F.\n");
        assert_eq!(of_folders(&planted.read_tree(), &[]), ["crates/one/src has 16 files, of 15"]);
        assert_eq!(of_folders(&planted.read_tree(), &["crates/one/src"]), [""; 0]);
    }

    #[test]
    fn files_without_purpose_or_end_and_vague_names_are_found() {
        let planted = Planted::new();
        planted.write_package("one", "", "fn purpose() {}\n");
        planted.write_file("crates/one/src/long.rs", &format!("//! Long.\n{}", "\n".repeat(LONGEST_FILE)));
        planted.write_file("crates/one/src/util/mod.rs", "//! Things.\nfn later() { todo!() }\n");
        let tree = planted.read_tree();
        assert_eq!(
            of_files(&tree),
            [
                "crates/one/src/lib.rs does not open with a sentence of purpose",
                "crates/one/src/long.rs has 651 lines, of 650"
            ]
        );
        assert_eq!(of_names(&tree), ["crates/one/src/util/mod.rs could hold anything"]);
        assert_eq!(of_work(&tree), ["crates/one/src/util/mod.rs holds todo!"]);
    }
}

//! Recipes: the provider in CONTRIBUTING.md has what the trait asks for, and imports what is there.

use std::collections::BTreeSet;
use std::fs;

use crate::book;

/// Name and result of every function that is declared or defined in a text, and whose line ends so.
fn functions(text: &str, ending: char) -> BTreeSet<(String, String)> {
    let lines = text.lines().filter(|line| line.ends_with(ending));
    lines
        .filter_map(|line| line.trim().strip_prefix("fn "))
        .map(|line| {
            let name = line.split('(').next().unwrap_or_default();
            let result = line.rsplit_once("-> ").map_or("", |(_, result)| result);
            (name.to_owned(), result.trim_end_matches([';', '{', ' ']).to_owned())
        })
        .collect()
}

/// The block that begins with this line, up to the first closing brace at its left edge.
fn block<'a>(text: &'a str, beginning: &str) -> &'a str {
    let from = text.find(beginning).unwrap_or_else(|| panic!("there is no '{beginning}'"));
    let rest = &text[from..];
    &rest[..rest.find("\n}").expect("a block ends")]
}

#[test]
fn the_recipe_for_an_environment_follows_the_trait() {
    let page = fs::read_to_string(book::root().join("CONTRIBUTING.md")).unwrap();
    let fence = book::fences(&page).into_iter().find(|fence| fence.info == "rust").expect("a recipe in Rust");
    let recipe = &page[fence.body];
    let lab = book::root().join("crates/tare-lab/src");
    let providers = fs::read_to_string(lab.join("environments/mod.rs")).unwrap();
    // What the trait only declares must be there; what it defines may be left as it is.
    let asked = functions(block(&providers, "pub trait Provider"), ';');
    assert!(asked.len() >= 6, "{asked:?}");
    assert_eq!(functions(block(recipe, "impl Provider for"), '{'), asked);
    for line in recipe.lines().filter_map(|line| line.strip_prefix("use crate::")) {
        let module = line.split([':', ';']).next().unwrap();
        let here = lab.join(format!("{module}.rs")).exists() || lab.join(module).is_dir();
        assert!(here, "the recipe imports crate::{module}, which is not there");
    }
}

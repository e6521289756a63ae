//! Recipes: the provider in CONTRIBUTING.md is complete, and its imports exist.

use std::collections::BTreeSet;
use std::fs;

use crate::book;

/// Lists the fields that a text declares or sets at the first level of a block.
fn fields(block: &str) -> BTreeSet<String> {
    let named = |line: &str| {
        let line = line.strip_prefix("    ")?;
        let (name, _) = line.strip_prefix("pub ").unwrap_or(line).split_once(':')?;
        name.chars().all(|c| c.is_ascii_lowercase() || c == '_').then(|| name.to_owned())
    };
    block.lines().filter_map(named).collect()
}

/// Lists the functions that a text declares or defines at the first level of a block, with their types.
fn functions(block: &str) -> BTreeSet<String> {
    let lines = block.lines().filter_map(|line| line.strip_prefix("    fn "));
    lines.map(|line| line.trim_end_matches([';', '{', ' ']).to_owned()).collect()
}

/// Finds the block that begins with this line, up to the first closing brace in column 1.
fn block<'a>(text: &'a str, beginning: &str) -> &'a str {
    let from = text.find(beginning).unwrap_or_else(|| panic!("there is no '{beginning}'"));
    let rest = &text[from..];
    &rest[..rest.find("\n}").expect("a block ends")]
}

#[test]
fn the_recipe_for_an_environment_describes_a_whole_provider() {
    let page = fs::read_to_string(book::repository_root().join("CONTRIBUTING.md")).unwrap();
    let fence =
        book::find_fences(&page).into_iter().find(|fence| fence.info == "rust").expect("a recipe in Rust");
    let recipe = &page[fence.body];
    let lab = book::repository_root().join("crates/tare-lab/src");
    let interface = ["provider/mod.rs", "provider/entering.rs"];
    let interface = interface.map(|file| fs::read_to_string(lab.join(file)).unwrap()).concat();
    let described = fields(block(&interface, "pub struct Provider"));
    assert!(described.len() >= 6, "{described:?}");
    assert_eq!(fields(block(recipe, "pub static PROVIDER")), described);
    // Questions that have a separate answer there need not be mentioned.
    let required: Vec<&str> =
        block(&interface, "pub trait Environment").lines().filter(|line| !line.ends_with('{')).collect();
    let asked = functions(&required.join("\n"));
    assert_eq!(functions(block(recipe, "impl Environment for")), asked);
    for path in recipe.lines().filter_map(|line| line.strip_prefix("use crate::")) {
        let modules = path.split(['{', ';']).next().unwrap().trim_end_matches("::");
        // The last word may be an item of the module before it.
        let here =
            [modules, modules.rsplit_once("::").map_or("", |(module, _)| module)].into_iter().any(|path| {
                let file = lab.join(path.replace("::", "/"));
                !path.is_empty() && (file.with_extension("rs").exists() || file.join("mod.rs").exists())
            });
        assert!(here, "the recipe imports crate::{path}, which is not there");
    }
}

/// Asserts that no page recommends `cargo install --git`, which ignores the flags that make the program
/// static.
#[test]
fn the_program_is_installed_with_its_flags() {
    let main = fs::read_to_string(book::repository_root().join("crates/tare/src/main.rs")).unwrap();
    let guard =
        block(&main, "#[cfg(all(target_os = \"linux\", not(target_feature = \"crt-static\"), not(doc)))]");
    assert!(guard.contains("compile_error!("), "{guard}");
    for page in ["README.md", "docs/guide/ci.md"] {
        let text = fs::read_to_string(book::repository_root().join(page)).unwrap();
        let installs: Vec<&str> =
            text.lines().filter(|line| line.contains("cargo install") && line.contains("tare")).collect();
        assert!(!installs.is_empty(), "{page}");
        assert!(installs.iter().all(|line| line.contains("--path")), "{page}: {installs:?}");
    }
}

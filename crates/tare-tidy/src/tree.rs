//! The tree that rules look at: the crates of a workspace, and their files, read and split into tokens.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// The crates below `crates/` of a workspace.
pub struct Tree {
    pub root: PathBuf,
    pub crates: Vec<Crate>,
}

/// A crate: a folder with a manifest.
pub struct Crate {
    pub name: String,
    pub folder: PathBuf,
    pub manifest: String,
    pub sources: Vec<Source>,
}

/// A file of Rust.
pub struct Source {
    /// Below the workspace's folder, as it is named in what a rule says.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
    pub tokens: TokenStream,
    pub syntax: syn::File,
}

impl Tree {
    /// Reads a workspace; a file that is not Rust ends it.
    pub fn read_workspace(root: &Path) -> Result<Tree, String> {
        let mut crates = Vec::new();
        for folder in list_paths(&root.join("crates")).into_iter().filter(|path| path.is_dir()) {
            let manifest = read_text(&folder.join("Cargo.toml"))?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let sources = list_files(&folder, "rs").into_iter().map(|path| Source::read(root, path));
            let sources = sources.collect::<Result<_, _>>()?;
            crates.push(Crate { name, folder, manifest, sources });
        }
        Ok(Tree { root: root.to_owned(), crates })
    }

    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        self.crates.iter().flat_map(|one| &one.sources)
    }
}

impl Source {
    fn read(root: &Path, path: PathBuf) -> Result<Source, String> {
        let text = read_text(&path)?;
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let tokens = text.parse().map_err(|e| failed(&e))?;
        let syntax = syn::parse_file(&text).map_err(|e| failed(&e))?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        Ok(Source { name, path, text, tokens, syntax })
    }
}

/// Lists files with an ending below a folder, in order; built files are left out.
pub(crate) fn list_files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in list_paths(folder) {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" && name != "node_modules" {
            all.extend(list_files(&path, ending));
        } else if path.extension().is_some_and(|found| found == ending) {
            all.push(path);
        }
    }
    all
}

pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Lists paths in a folder, in order; none where there is no such folder.
pub(crate) fn list_paths(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Collects every identifier, including those in macros.
pub(crate) fn list_identifiers(tokens: &TokenStream) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) => all.extend([strip_raw_prefix(&ident)]),
            TokenTree::Group(group) => all.append(&mut list_identifiers(&group.stream())),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    all
}

/// Collects every string.
pub(crate) fn list_string_literals(tokens: &TokenStream) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Literal(literal) => {
                all.extend(syn::parse_str::<syn::LitStr>(&literal.to_string()).map(|string| string.value()));
            }
            TokenTree::Group(group) => all.append(&mut list_string_literals(&group.stream())),
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
    }
    all
}

/// Strips the mark of a raw identifier.
pub(crate) fn strip_raw_prefix(ident: &proc_macro2::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// Recognises an item that is only compiled for tests.
pub(crate) fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            list.tokens.clone().into_iter().next().is_some_and(|first| first.to_string() == "test")
        }
        _ => false,
    })
}

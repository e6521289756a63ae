//! The modules of one target (a library, a program, a test program): which file has each, and what a path in it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Attribute, Ident, Item, ItemMod, UseTree, Visibility};

use crate::tree::{Crate, Source, is_of_tests, strip_raw_prefix};

/// A use of a use of a use: longer chains are circles.
const LONGEST_CHAIN: usize = 16;

/// A module, in a file or in braces.
#[derive(Default)]
pub struct Module<'t> {
    /// Path from the root; empty for the root itself.
    pub path: Vec<String>,
    /// The file, as an index into the crate's sources.
    pub file: usize,
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    pub items: Vec<&'t Item>,
    /// Items that are defined here.
    pub defined: BTreeSet<String>,
    /// Items that are imported: the whole path, and whether it is handed on.
    pub brought: BTreeMap<String, Vec<String>>,
    /// Modules and enums whose names are all brought in.
    pub globs: Vec<Vec<String>>,
    pub is_public: bool,
}

/// The modules of a target, the root first.
pub struct Modules<'t> {
    pub all: Vec<Module<'t>>,
    krate: &'t Crate,
}

/// Target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Module(usize),
    /// Something that is defined in this module.
    Item(usize),
}

/// Finds the files from which cargo begins to compile.
pub fn find_roots(krate: &Crate) -> Vec<usize> {
    let is_root = |source: &Source| {
        let below = source.path.strip_prefix(&krate.folder).unwrap_or(&source.path);
        let parts: Vec<&str> = below.iter().filter_map(|part| part.to_str()).collect();
        matches!(
            parts[..],
            ["src", "lib.rs" | "main.rs"]
                | ["tests" | "examples" | "benches", _]
                | ["tests" | "examples" | "benches", _, "main.rs"]
                | ["build.rs"]
        )
    };
    (0..krate.sources.len()).filter(|&at| is_root(&krate.sources[at])).collect()
}

impl<'t> Modules<'t> {
    /// Collects the modules below a root; modules that are only compiled for tests are left out.
    pub fn from_root(krate: &'t Crate, root: usize) -> Modules<'t> {
        let mut modules = Modules { all: Vec::new(), krate };
        let source = &krate.sources[root];
        let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
        modules.add(None, None, root, &folder, true, &source.syntax.items);
        modules
    }

    /// Adds a module and all below it. `folder` is where the files of its children are.
    fn add(
        &mut self,
        parent: Option<usize>,
        name: Option<&Ident>,
        file: usize,
        folder: &Path,
        is_public: bool,
        items: &'t [Item],
    ) -> usize {
        let own = self.all.len();
        let mut path = parent.map_or(Vec::new(), |parent| self.all[parent].path.clone());
        path.extend(name.map(strip_raw_prefix));
        self.all.push(Module { path, file, parent, is_public, ..Module::default() });
        for item in items.iter().filter(|item| !is_of_tests(item_attributes(item))) {
            match item {
                Item::Mod(module) => self.add_child(own, file, folder, module),
                Item::Use(used) => self.add_use(own, Vec::new(), &used.tree),
                _ => {}
            }
            self.all[own].defined.extend(name_of(item).map(strip_raw_prefix));
            self.all[own].items.push(item);
        }
        own
    }

    fn add_child(&mut self, parent: usize, file: usize, folder: &Path, module: &'t ItemMod) {
        let name = strip_raw_prefix(&module.ident);
        let is_public = matches!(module.vis, Visibility::Public(_));
        let child = if let Some((_, items)) = &module.content {
            self.add(Some(parent), Some(&module.ident), file, &folder.join(&name), is_public, items)
        } else {
            let beside = |path: PathBuf| self.krate.sources.iter().position(|source| source.path == path);
            let found = match path_attribute(&module.attrs) {
                // Another target's file: it has its own modules.
                Some(_) => None,
                None => beside(folder.join(format!("{name}.rs")))
                    .or_else(|| beside(folder.join(&name).join("mod.rs"))),
            };
            let Some(found) = found else { return };
            let source = &self.krate.sources[found];
            let folder = folder.join(&name);
            self.add(Some(parent), Some(&module.ident), found, &folder, is_public, &source.syntax.items)
        };
        self.all[parent].children.insert(name, child);
    }

    /// Checks that a file below `src/` is a module of the tests of this target.
    pub fn is_of_tests(&self, source: &Source) -> bool {
        let declares = |item: &Item| match item {
            Item::Mod(item) => {
                is_of_tests(&item.attrs)
                    && source
                        .path
                        .file_stem()
                        .is_some_and(|stem| stem == strip_raw_prefix(&item.ident).as_str())
            }
            _ => false,
        };
        self.krate.sources.iter().any(|other| other.syntax.items.iter().any(declares))
    }

    /// Notes what a `use` brings into a module.
    pub fn add_use(&mut self, module: usize, before: Vec<String>, tree: &UseTree) {
        visit_use_names(before, tree, &mut |name, path| match name {
            Some(name) => drop(self.all[module].brought.insert(name, path)),
            None => self.all[module].globs.push(path),
        });
    }

    /// Resolves a path, seen from a module; None where it is not a name of this target.
    pub fn resolve_path(&self, from: usize, path: &[String]) -> Option<Named> {
        self.resolve_within(from, path, LONGEST_CHAIN)
    }

    fn resolve_within(&self, from: usize, path: &[String], left: usize) -> Option<Named> {
        let left = left.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(0, rest, left),
            "self" => self.below(from, rest, left),
            "super" => {
                let parent = self.all[from].parent?;
                match rest.first().is_some_and(|next| next == "super") {
                    true => self.resolve_within(parent, rest, left),
                    false => self.below(parent, rest, left),
                }
            }
            _ => self.below(from, path, left),
        }
    }

    /// Walks names down from a module.
    fn below(&self, module: usize, path: &[String], left: usize) -> Option<Named> {
        let Some((first, rest)) = path.split_first() else { return Some(Named::Module(module)) };
        let here = &self.all[module];
        if let Some(&child) = here.children.get(first) {
            return self.below(child, rest, left);
        }
        if here.defined.contains(first) {
            return Some(Named::Item(module));
        }
        if let Some(brought) = here.brought.get(first).filter(|brought| brought[..] != path[..1]) {
            let whole: Vec<String> = brought.iter().chain(rest).cloned().collect();
            return self.resolve_within(module, &whole, left);
        }
        let mut globs = here.globs.iter();
        globs.find_map(|glob| match self.resolve_within(module, glob, left)? {
            Named::Module(other) if other != module => {
                let left = left.checked_sub(1)?;
                self.below(other, path, left)
            }
            // The variants of an enum are found by nothing but their use.
            _ => None,
        })
    }
}

/// Calls back with every name that a `use` brings, and its whole path; without a name for `*`.
pub fn visit_use_names(
    before: Vec<String>,
    tree: &UseTree,
    found: &mut dyn FnMut(Option<String>, Vec<String>),
) {
    let with = |ident: &Ident| [before.as_slice(), &[strip_raw_prefix(ident)]].concat();
    match tree {
        UseTree::Path(path) => visit_use_names(with(&path.ident), &path.tree, found),
        UseTree::Name(name) if name.ident == "self" => found(before.last().cloned(), before),
        UseTree::Name(name) => found(Some(strip_raw_prefix(&name.ident)), with(&name.ident)),
        UseTree::Rename(rename) if rename.ident == "self" => {
            found(Some(strip_raw_prefix(&rename.rename)), before)
        }
        UseTree::Rename(rename) => found(Some(strip_raw_prefix(&rename.rename)), with(&rename.ident)),
        UseTree::Glob(_) => found(None, before),
        UseTree::Group(group) => {
            group.items.iter().for_each(|item| visit_use_names(before.clone(), item, found))
        }
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<&Attribute> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path"))
}

/// Finds the name that an item defines in its module; `use` and modules are handled elsewhere.
pub fn name_of(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::TraitAlias(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

pub fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

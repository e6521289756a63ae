//! Cycles: files of one crate that import each other, directly or around.
//!
//! A name that a module hands on counts as the file that defines it, and handing on is not an import by itself. Imports of
//! tests inside a file do not count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, Visibility};

use crate::modules::{Modules, Named, leaves, roots};
use crate::tree::{Crate, Tree, is_of_tests, plain};

/// From file to file, with a name that is imported.
type Imports = BTreeMap<usize, BTreeMap<usize, String>>;

/// Every circle of files, by a shortest way around it.
pub fn between_files(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for krate in &tree.crates {
        for root in roots(krate) {
            let imports = imports(krate, root);
            broken.extend(circles(&imports).iter().map(|circle| text(krate, &imports, circle)));
        }
    }
    broken
}

/// What each file of a target imports from its others.
fn imports(krate: &Crate, root: usize) -> Imports {
    let mut modules = Modules::of(krate, root);
    // Names brought in within functions are as good as those of the module, but for what they hide.
    for module in 0..modules.all.len() {
        for item in modules.all[module].items.clone() {
            let mut uses = Uses::default();
            if !matches!(item, Item::Use(_) | Item::Mod(_)) {
                uses.visit_item(item);
            }
            uses.0.iter().for_each(|used| modules.bring(module, Vec::new(), &used.tree));
        }
    }
    let mut all = Imports::new();
    for (at, module) in modules.all.iter().enumerate() {
        let mut paths = Paths::default();
        for item in &module.items {
            match item {
                Item::Use(used) if !matches!(used.vis, Visibility::Inherited) => {}
                Item::Mod(_) => {}
                item => paths.visit_item(item),
            }
        }
        for path in paths.0 {
            let target = match modules.resolve(at, &path) {
                Some(Named::Item(target)) => target,
                // A module by itself is the beginning of a path that counts where it is written out.
                Some(Named::Module(target)) if path.last().is_some_and(|last| last == "*") => target,
                _ => continue,
            };
            let (from, to) = (module.file, modules.all[target].file);
            if from != to {
                let name = path.last().cloned().unwrap_or_default();
                all.entry(from).or_default().entry(to).or_insert(name);
            }
        }
    }
    all
}

/// Uses inside functions.
#[derive(Default)]
struct Uses<'t>(Vec<&'t syn::ItemUse>);

impl<'t> Visit<'t> for Uses<'t> {
    fn visit_item_use(&mut self, used: &'t syn::ItemUse) {
        self.0.push(used);
    }
}

/// Paths that are written anywhere, in macros too.
#[derive(Default)]
struct Paths(BTreeSet<Vec<String>>);

impl Visit<'_> for Paths {
    fn visit_item(&mut self, item: &Item) {
        if !is_of_tests(crate::modules::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, used: &syn::ItemUse) {
        leaves(Vec::new(), &used.tree, &mut |_, path| {
            self.0.insert(path);
        });
    }

    fn visit_path(&mut self, path: &syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| plain(&segment.ident)).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &syn::Macro) {
        self.in_tokens(&called.tokens);
        visit::visit_macro(self, called);
    }
}

impl Paths {
    /// Names joined by `::` in what a macro is given.
    fn in_tokens(&mut self, tokens: &TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.0.insert(std::mem::take(&mut path));
                    }
                    path.push(plain(&ident));
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    let is_single = colons == 1 && punct.spacing() == Spacing::Alone;
                    if is_single || colons > 2 {
                        self.0.insert(std::mem::take(&mut path));
                        colons = 0;
                    }
                }
                other => {
                    self.0.insert(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.in_tokens(&group.stream());
                    }
                }
            }
        }
        self.0.insert(path);
    }
}

/// A shortest way around, from each set of files that all reach each other.
fn circles(imports: &Imports) -> Vec<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for &file in imports.keys() {
        if seen.contains(&file) {
            continue;
        }
        let tied: BTreeSet<usize> = reached(imports, file)
            .into_iter()
            .filter(|other| reached(imports, *other).contains(&file))
            .collect();
        if !tied.is_empty() {
            let around = tied.iter().filter_map(|&file| around(imports, file)).min_by_key(Vec::len);
            all.extend(around);
            seen.extend(tied);
        }
    }
    all
}

fn next(imports: &Imports, file: usize) -> impl Iterator<Item = usize> {
    imports.get(&file).into_iter().flat_map(|to| to.keys().copied())
}

/// The files that can be reached from one, itself only around a circle.
fn reached(imports: &Imports, file: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let mut waiting: Vec<usize> = next(imports, file).collect();
    while let Some(file) = waiting.pop() {
        if all.insert(file) {
            waiting.extend(next(imports, file));
        }
    }
    all
}

/// The shortest way from a file back to it.
fn around(imports: &Imports, file: usize) -> Option<Vec<usize>> {
    let mut ways = VecDeque::from([vec![file]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for to in next(imports, *way.last()?) {
            if to == file {
                return Some(way);
            }
            if seen.insert(to) {
                ways.push_back([way.as_slice(), &[to]].concat());
            }
        }
    }
    None
}

fn text(krate: &Crate, imports: &Imports, circle: &[usize]) -> String {
    let tied = reached(imports, circle[0]);
    let tied = tied.iter().filter(|other| reached(imports, **other).contains(&circle[0])).count();
    let mut text = krate.sources[circle[0]].name.clone();
    for (at, from) in circle.iter().enumerate() {
        let to = circle[(at + 1) % circle.len()];
        text += &format!(" -> {} ({})", krate.sources[to].name, imports[from][&to]);
    }
    match tied > circle.len() {
        true => format!("{text}; {tied} files are tied"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn between(files: &[(&str, &str)]) -> Vec<String> {
        let planted = Planted::new();
        planted.package("one", "", "//! One.\nmod a;\nmod b;\nmod c;\n");
        for (name, text) in files {
            planted.file(&format!("crates/one/src/{name}.rs"), &format!("//! A file.\n{text}"));
        }
        between_files(&planted.tree())
    }

    #[test]
    fn a_circle_of_two_files_is_found_with_its_names() {
        let found =
            between(&[("a", "use crate::b::B;\npub struct A(B);"), ("b", "pub struct B(crate::a::A);")]);
        assert_eq!(found, ["crates/one/src/a.rs -> crates/one/src/b.rs (B) -> crates/one/src/a.rs (A)"]);
    }

    #[test]
    fn a_circle_runs_through_modules_macros_aliases_and_handed_on_names() {
        let found = between(&[
            ("a", "use super::b;\npub fn f() { println!(\"{}\", b::g()) }"),
            ("b/mod", "mod inner;\npub use inner::g;"),
            ("b/inner", "pub fn g() { crate::c::h() }"),
            ("c", "pub fn h() { use crate::a as other;\n other::f() }"),
        ]);
        let [circle] = &found[..] else { panic!("{found:?}") };
        assert!(
            circle.contains("a.rs -> crates/one/src/b/inner.rs (g) -> crates/one/src/c.rs (h)"),
            "{circle}"
        );
    }

    #[test]
    fn a_list_and_its_entries_are_a_circle_only_where_entries_look_back() {
        let list = "mod entry;\npub use entry::E;\npub const ALL: E = entry::E;\npub struct Looked;";
        let quiet = [("a/mod", list), ("a/entry", "pub struct E;")];
        assert_eq!(between(&quiet), [""; 0]);
        let looks = [("a/mod", list), ("a/entry", "use super::*;\npub struct E(Looked);")];
        assert_eq!(between(&looks).len(), 1);
        let handed = [("a/mod", "mod entry;\npub use entry::E;\npub struct Looked;"), looks[1]];
        assert_eq!(between(&handed), [""; 0]);
    }

    #[test]
    fn tests_inside_a_file_may_look_anywhere() {
        let tests = "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }";
        assert_eq!(between(&[("a", tests), ("b", "pub struct B(crate::a::A);")]), [""; 0]);
    }
}

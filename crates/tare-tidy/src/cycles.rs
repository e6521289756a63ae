//! Cycles: files or folders of one crate that import each other, directly or around.
//!
//! A name that a module hands on counts as the file that defines it, and handing on is not an import by itself. Imports of
//! tests inside a file do not count.
//!
//! A folder imports a neighbour, file or folder, when any file in it or below does. A folder's `mod.rs` and the files below
//! it may import each other: that is a parent and its children.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, Visibility};

use crate::modules::{Modules, Named, find_roots, visit_use_names};
use crate::tree::{Crate, Tree, is_of_tests, strip_raw_prefix};

/// Imports from one file or folder to another, each with a name that is imported.
type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// Lists the circles of files, each by a shortest way around it.
pub fn between_files(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for imports in every_target(tree) {
        broken.extend(circles(&imports).iter().map(|circle| text(tree, "files", &imports, circle)));
    }
    broken
}

/// Lists the circles of neighbours of which at least one is a folder, each by a shortest way around it.
pub fn between_folders(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for imports in every_target(tree) {
        let imports = between_neighbours(&imports);
        let circles = circles(&imports);
        let with_folder = circles.iter().filter(|circle| circle.iter().any(|place| place.is_dir()));
        broken.extend(with_folder.map(|circle| text(tree, "neighbours", &imports, circle)));
    }
    broken
}

fn every_target(tree: &Tree) -> impl Iterator<Item = Imports> {
    tree.crates.iter().flat_map(|krate| find_roots(krate).into_iter().map(|root| imports(krate, root)))
}

/// Lifts imports between files to the two neighbours, in the deepest folder that holds both, which contain them.
fn between_neighbours(imports: &Imports) -> Imports {
    let mut lifted = Imports::new();
    for (from, targets) in imports {
        for (to, name) in targets {
            let (from_parts, to_parts) = (place(from), place(to));
            let shared = from_parts.iter().zip(to_parts.iter()).take_while(|(from, to)| from == to).count();
            let neighbour = |parts: &Path| {
                (parts.iter().count() > shared).then(|| parts.iter().take(shared + 1).collect())
            };
            let (Some(above), Some(below)) = (neighbour(&from_parts), neighbour(&to_parts)) else { continue };
            let file = from.file_name().unwrap_or_default().to_string_lossy();
            lifted.entry(above).or_default().entry(below).or_insert_with(|| format!("{name} in {file}"));
        }
    }
    lifted
}

/// Returns the folder for the file that opens it, and any other file as it is.
fn place(file: &Path) -> PathBuf {
    match file.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs" | "lib.rs" | "main.rs") => file.parent().unwrap_or(file).to_owned(),
        _ => file.to_owned(),
    }
}

/// Collects what each file of a target imports from its others.
fn imports(krate: &Crate, root: usize) -> Imports {
    let mut modules = Modules::from_root(krate, root);
    // Imports within functions are as good as those of the module, but for what they hide.
    for module in 0..modules.all.len() {
        for item in modules.all[module].items.clone() {
            let mut uses = Uses::default();
            if !matches!(item, Item::Use(_) | Item::Mod(_)) {
                uses.visit_item(item);
            }
            uses.0.iter().for_each(|used| modules.add_use(module, Vec::new(), &used.tree));
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
            let target = match modules.resolve_path(at, &path) {
                Some(Named::Item(target)) => target,
                // A module by itself is the beginning of a path that counts where it is written out.
                Some(Named::Module(target)) if path.last().is_some_and(|last| last == "*") => target,
                _ => continue,
            };
            let file = |at: usize| krate.sources[at].path.clone();
            let (from, to) = (file(module.file), file(modules.all[target].file));
            if from != to {
                let name = path.last().cloned().unwrap_or_default();
                all.entry(from).or_default().entry(to).or_insert(name);
            }
        }
    }
    all
}

/// Imports inside functions.
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
        if !is_of_tests(crate::modules::item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, used: &syn::ItemUse) {
        visit_use_names(Vec::new(), &used.tree, &mut |_, path| {
            self.0.insert(path);
        });
    }

    fn visit_path(&mut self, path: &syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| strip_raw_prefix(&segment.ident)).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &syn::Macro) {
        self.in_tokens(&called.tokens);
        visit::visit_macro(self, called);
    }
}

impl Paths {
    /// Adds names that are joined by `::` in the tokens of a macro.
    fn in_tokens(&mut self, tokens: &TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.0.insert(std::mem::take(&mut path));
                    }
                    path.push(strip_raw_prefix(&ident));
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

/// Finds a shortest way around in each set of places that all reach each other.
fn circles(imports: &Imports) -> Vec<Vec<&Path>> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for place in imports.keys() {
        if seen.contains(place.as_path()) {
            continue;
        }
        let tied = tied(imports, place);
        if !tied.is_empty() {
            let around = tied.iter().filter_map(|place| around(imports, place)).min_by_key(Vec::len);
            all.extend(around);
            seen.extend(tied);
        }
    }
    all
}

/// Finds the places that a place reaches and that reach it, itself among them; none without a circle.
fn tied<'i>(imports: &'i Imports, place: &'i Path) -> BTreeSet<&'i Path> {
    let reach_back = |other: &&Path| reached(imports, other).contains(place);
    reached(imports, place).into_iter().filter(reach_back).collect()
}

fn next<'i>(imports: &'i Imports, place: &Path) -> impl Iterator<Item = &'i Path> {
    imports.get(place).into_iter().flat_map(|to| to.keys().map(PathBuf::as_path))
}

/// Finds the places that can be reached from one, itself only around a circle.
fn reached<'i>(imports: &'i Imports, place: &Path) -> BTreeSet<&'i Path> {
    let mut all = BTreeSet::new();
    let mut waiting: Vec<&Path> = next(imports, place).collect();
    while let Some(place) = waiting.pop() {
        if all.insert(place) {
            waiting.extend(next(imports, place));
        }
    }
    all
}

/// Finds the shortest way from a place back to it.
fn around<'i>(imports: &'i Imports, place: &'i Path) -> Option<Vec<&'i Path>> {
    let mut ways = VecDeque::from([vec![place]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for to in next(imports, way.last()?) {
            if to == place {
                return Some(way);
            }
            if seen.insert(to) {
                ways.push_back([way.as_slice(), &[to]].concat());
            }
        }
    }
    None
}

fn text(tree: &Tree, kind: &str, imports: &Imports, circle: &[&Path]) -> String {
    let named = |place: &Path| place.strip_prefix(&tree.root).unwrap_or(place).display().to_string();
    let mut text = named(circle[0]);
    for (at, from) in circle.iter().enumerate() {
        let to = circle[(at + 1) % circle.len()];
        text += &format!(" -> {} ({})", named(to), imports[*from][to]);
    }
    let tied = tied(imports, circle[0]).len();
    match tied > circle.len() {
        true => format!("{text}; {tied} {kind} are tied"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn between(files: &[(&str, &str)]) -> Vec<String> {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\nmod a;\nmod b;\nmod c;\n");
        for (name, text) in files {
            planted.write_file(&format!("crates/one/src/{name}.rs"), &format!("//! A file.\n{text}"));
        }
        between_files(&planted.read_tree())
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

    /// Circles of folders among these files.
    fn of_folders(files: &[(&str, &str)]) -> Vec<String> {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\nmod a;\nmod b;\npub const ROOT: u8 = 1;\n");
        for (name, text) in files {
            planted.write_file(&format!("crates/one/src/{name}.rs"), &format!("//! A file.\n{text}"));
        }
        let tree = planted.read_tree();
        assert_eq!(between_files(&tree), [""; 0]);
        between_folders(&tree)
    }

    #[test]
    fn a_circle_of_folders_is_found_where_no_files_are_in_one() {
        let mut files = [
            ("a/mod", "mod high;\nmod low;"),
            ("a/high", "use crate::b::B;"),
            ("a/low", "pub struct A;"),
            ("b/mod", "mod inner;\npub use inner::B;"),
            ("b/inner", "pub struct B(crate::a::low::A);"),
        ];
        let found = of_folders(&files);
        assert_eq!(
            found,
            ["crates/one/src/a -> crates/one/src/b (B in high.rs) -> crates/one/src/a (A in inner.rs)"]
        );
        files[4].1 = "pub struct B;";
        assert_eq!(of_folders(&files), [""; 0]);
        // A file beside folders is a neighbour of theirs.
        files[3..].clone_from_slice(&[("b", "pub struct B(crate::a::low::A);"), ("c", "")]);
        assert_eq!(of_folders(&files).len(), 1);
    }

    #[test]
    fn a_circle_of_nested_folders_is_found_and_parents_are_not_in_one() {
        let mut files = [
            ("a/mod", "mod one;\nmod two;\npub struct Shared;\nuse one::One;"),
            ("a/one/mod", "mod deep;\npub use deep::One;\npub struct Two(crate::a::two::Two);"),
            ("a/one/deep", "pub struct One(crate::a::Looked);\nconst ROOT: u8 = crate::ROOT;"),
            ("a/two", "pub struct Two;"),
            ("b", ""),
        ];
        assert_eq!(of_folders(&files), [""; 0]);
        files[3].1 = "pub struct Two;\nuse super::one::One;";
        let [circle] = &of_folders(&files)[..] else { panic!("none is found") };
        assert!(
            circle.starts_with("crates/one/src/a/one -> crates/one/src/a/two.rs (Two in mod.rs)"),
            "{circle}"
        );
    }

    #[test]
    fn tests_inside_a_file_may_look_anywhere() {
        let tests = "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }";
        assert_eq!(between(&[("a", tests), ("b", "pub struct B(crate::a::A);")]), [""; 0]);
    }
}

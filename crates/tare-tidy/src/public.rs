//! Public items: what a library shows has a user outside of it, by name, or stands in the signature of what has one.
//!
//! Names are compared, not meanings: two things of one name count as used when one of them is. So nothing is reported
//! wrongly, and something may be missed.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

use crate::modules::{Modules, Named, find_roots, name_of, visit_use_names};
use crate::tree::{Crate, Tree, list_identifiers, strip_raw_prefix};

/// Something public: where it is, its name, and the names that its signature needs.
struct Shown {
    file: usize,
    name: String,
    needs: BTreeSet<String>,
}

/// Finds public items of libraries that nothing outside uses; `known` are names with the reason why they are
/// public.
pub fn without_user(tree: &Tree, known: &[(&str, &str)]) -> Vec<String> {
    let mut broken = Vec::new();
    for krate in &tree.crates {
        let library = krate.folder.join("src/lib.rs");
        let Some(root) = find_roots(krate).into_iter().find(|&root| krate.sources[root].path == library)
        else {
            continue;
        };
        let modules = Modules::from_root(krate, root);
        let mut used = outside(tree, krate, &modules);
        let shown = shown(&modules, &used);
        // Items that are used need what their signatures name.
        loop {
            let before = used.len();
            for one in &shown {
                if used.contains(&one.name) {
                    used.extend(one.needs.iter().cloned());
                }
            }
            if used.len() == before {
                break;
            }
        }
        let is_known = |name: &str| known.iter().any(|(known, _)| *known == name);
        let mut by_file: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in shown.iter().filter(|one| !used.contains(&one.name) && !is_known(&one.name)) {
            by_file.entry(&krate.sources[one.file].name).or_default().insert(&one.name);
        }
        let text = |(file, names): (&str, BTreeSet<&str>)| {
            let names: Vec<&str> = names.into_iter().collect();
            format!("{file}: {}", names.join(", "))
        };
        broken.extend(by_file.into_iter().map(text));
    }
    broken
}

/// Collects every name that occurs outside of a library: in other crates, in its own tests and programs, in
/// expansions of its macros.
fn outside(tree: &Tree, krate: &Crate, modules: &Modules<'_>) -> BTreeSet<String> {
    let own: BTreeSet<usize> = modules.all.iter().map(|module| module.file).collect();
    let others = tree.crates.iter().filter(|other| other.name != krate.name).flat_map(|other| &other.sources);
    let beside = krate.sources.iter().enumerate().filter(|(at, source)| {
        let is_in_src = source.path.starts_with(krate.folder.join("src"));
        let is_own = own.contains(at) || is_in_src && modules.is_of_tests(source);
        !is_own
    });
    let mut names = BTreeSet::new();
    for source in others.chain(beside.map(|(_, source)| source)) {
        names.extend(list_identifiers(&source.tokens));
    }
    for item in modules.all.iter().flat_map(|module| &module.items) {
        if let Item::Macro(item) = item
            && item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
        {
            names.extend(list_identifiers(&item.mac.tokens));
        }
    }
    names
}

/// Collects everything that can be reached from the root of a library through public modules and names that
/// are handed on. Below a module that nobody names, only names that are handed on are reached.
fn shown(modules: &Modules<'_>, used: &BTreeSet<String>) -> Vec<Shown> {
    let mut all = Vec::new();
    let mut reached = BTreeSet::from([0]);
    let mut handed_on: BTreeSet<(usize, String)> = BTreeSet::new();
    for (at, module) in modules.all.iter().enumerate().skip(1) {
        if !module.is_public || !module.parent.is_some_and(|parent| reached.contains(&parent)) {
            continue;
        }
        let name = module.path.last().cloned().unwrap_or_default();
        if used.contains(&name) {
            reached.insert(at);
        }
        all.push(Shown { file: module.file, name, needs: BTreeSet::new() });
    }
    for &at in &reached {
        for item in &modules.all[at].items {
            let Item::Use(item) = item else { continue };
            if !matches!(item.vis, Visibility::Public(_)) {
                continue;
            }
            visit_use_names(Vec::new(), &item.tree, &mut |_, path| {
                if let (Some(Named::Item(defined)), Some(name)) =
                    (modules.resolve_path(at, &path), path.last())
                {
                    handed_on.insert((defined, name.clone()));
                }
            });
        }
    }
    let mut types = BTreeSet::new();
    for (at, module) in modules.all.iter().enumerate() {
        for item in &module.items {
            let Some(name) = name_of(item).map(strip_raw_prefix) else { continue };
            if is_public(item) && (reached.contains(&at) || handed_on.contains(&(at, name.clone()))) {
                types.insert(name.clone());
                all.push(Shown { file: module.file, name, needs: needs(item) });
            }
        }
    }
    for module in &modules.all {
        for item in &module.items {
            if let Item::Impl(item) = item {
                methods(item, module.file, &types, &mut all);
            }
        }
    }
    all
}

/// Collects public methods of public types, and the needs of their traits.
fn methods(item: &ItemImpl, file: usize, types: &BTreeSet<String>, all: &mut Vec<Shown>) {
    let Type::Path(of) = &*item.self_ty else { return };
    let Some(of) = of.path.segments.last().map(|last| strip_raw_prefix(&last.ident)) else { return };
    if !types.contains(&of) {
        return;
    }
    if item.trait_.is_some() {
        let mut needs = Names::default();
        item.items.iter().for_each(|item| match item {
            ImplItem::Type(item) => needs.visit_type(&item.ty),
            ImplItem::Fn(item) => needs.visit_signature(&item.sig),
            _ => {}
        });
        all.push(Shown { file, name: of, needs: needs.0 });
        return;
    }
    for item in &item.items {
        let mut needs = Names::default();
        match item {
            ImplItem::Fn(item) if matches!(item.vis, Visibility::Public(_)) => {
                needs.visit_signature(&item.sig);
                all.push(Shown { file, name: strip_raw_prefix(&item.sig.ident), needs: needs.0 });
            }
            ImplItem::Const(item) if matches!(item.vis, Visibility::Public(_)) => {
                needs.visit_type(&item.ty);
                all.push(Shown { file, name: strip_raw_prefix(&item.ident), needs: needs.0 });
            }
            _ => {}
        }
    }
}

fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}

/// Collects the types in the signature of an item: private ones must not occur there.
fn needs(item: &Item) -> BTreeSet<String> {
    let mut names = Names::default();
    match item {
        Item::Const(item) => names.visit_type(&item.ty),
        Item::Static(item) => names.visit_type(&item.ty),
        Item::Type(item) => names.visit_type(&item.ty),
        Item::Fn(item) => names.visit_signature(&item.sig),
        Item::Struct(item) => {
            names.visit_generics(&item.generics);
            names.fields(&item.fields);
        }
        Item::Enum(item) => {
            names.visit_generics(&item.generics);
            item.variants.iter().for_each(|variant| names.visit_fields(&variant.fields));
        }
        Item::Trait(item) => {
            item.supertraits.iter().for_each(|bound| names.visit_type_param_bound(bound));
            item.items.iter().for_each(|item| match item {
                TraitItem::Fn(item) => names.visit_signature(&item.sig),
                other => names.visit_trait_item(other),
            });
        }
        _ => {}
    }
    names.0
}

/// Every segment of every path.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Visit<'_> for Names {
    fn visit_path(&mut self, path: &syn::Path) {
        self.0.extend(path.segments.iter().map(|segment| strip_raw_prefix(&segment.ident)));
        visit::visit_path(self, path);
    }
}

impl Names {
    /// Collects types of public fields.
    fn fields(&mut self, fields: &Fields) {
        let public = fields.iter().filter(|field| matches!(field.vis, Visibility::Public(_)));
        public.for_each(|field| self.visit_type(&field.ty));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn unused(library: &str, user: &str) -> Vec<String> {
        let planted = Planted::new();
        planted.write_package("shows", "", &format!("//! Shows.\n{library}"));
        planted.write_package("uses", "", &format!("//! Uses.\n{user}"));
        without_user(&planted.read_tree(), &[("known", "a reason")])
    }

    #[test]
    fn what_nobody_uses_is_found() {
        let library = "pub fn used() {}\npub fn alone() {}\npub fn known() {}\nfn private() {}\npub(crate) fn near() {}";
        assert_eq!(unused(library, "fn f() { shows::used() }"), ["crates/shows/src/lib.rs: alone"]);
        // In a macro, too; and what only tests of the library itself call has no user.
        let tests = format!("{library}\n#[cfg(test)]\nmod tests {{ fn t() {{ super::alone() }} }}");
        assert_eq!(unused(&tests, "fn f() { wrap!(shows::used()) }"), ["crates/shows/src/lib.rs: alone"]);
    }

    #[test]
    fn what_a_used_signature_needs_counts_as_used() {
        let library = "pub struct Far;\npub struct Near { pub far: Far, hidden: u8 }\npub fn used() -> Near { todo() }\n\
                       impl Near { pub fn method(&self) {} }\npub struct Alone(pub Gone);\npub struct Gone;";
        assert_eq!(
            unused(library, "fn f() { shows::used() }"),
            ["crates/shows/src/lib.rs: Alone, Gone, method"]
        );
    }

    #[test]
    fn modules_show_what_they_hand_on() {
        let library = "mod inner { pub struct Handed; pub struct Kept; }\npub use inner::Handed;\n\
                       pub mod quiet { pub fn below() {} }\npub mod named { pub fn alone() {} }";
        assert_eq!(unused(library, "use shows::named;"), ["crates/shows/src/lib.rs: Handed, alone, quiet"]);
    }
}

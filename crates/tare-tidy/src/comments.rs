//! Comments: the words with which none opens, whether of an item or between lines of code.
//!
//! An opening that leaves out its noun, or asks for a clause to hold on to, is read twice. A function's comment begins with
//! a verb in the third person as well, as far as its ending tells.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Lit, Meta};

use crate::tree::{Source, Tree, is_of_tests, strip_raw_prefix};

/// First words, or pairs of them, with which no comment begins.
const BANNED: [&str; 13] = [
    "what", "who", "whoever", "how", "whether", "where", "the same", "most", "of", "names", "those", "such",
    "one",
];
/// Openings that are right, and dull where every comment has them.
const DULL: [&str; 4] = ["returns", "gets", "checks if", "checks whether"];
/// Largest share of a crate's comments of functions that open in a dull way, in percent.
const MOST_DULL: usize = 15;

/// A comment or a string that breaks a rule.
#[derive(Debug)]
pub struct Broken {
    /// The file, below the workspace's folder.
    pub file: String,
    pub line: usize,
    item: String,
    words: String,
    rule: &'static str,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Broken { file, line, item, words, rule } = self;
        write!(f, "{file}:{line} {item} says \"{words}\": {rule}")
    }
}

/// Lists the comments and strings that break a rule, in the order of files.
pub fn list_broken_comments(tree: &Tree) -> Vec<Broken> {
    tree.sources().flat_map(|source| Reader::read(source).broken).collect()
}

/// Lists the crates in which too many comments of functions open alike.
pub fn list_dull_crates(tree: &Tree) -> Vec<String> {
    let mut broken = Vec::new();
    for krate in &tree.crates {
        let openings: Vec<String> =
            krate.sources.iter().flat_map(|source| Reader::read(source).of_functions).collect();
        let is_dull = |text: &&String| DULL.iter().any(|opening| begins_with(text, opening));
        let (dull, all) = (openings.iter().filter(is_dull).count(), openings.len());
        if dull * 100 > all * MOST_DULL {
            let name = &krate.name;
            broken.push(format!(
                "{name}: {dull} of {all} comments of functions begin with Returns, Gets or Checks if"
            ));
        }
    }
    broken
}

/// A kind of item, by how its comment begins.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Function,
    Other,
}

/// Collects what a file's comments and strings break.
struct Reader<'s> {
    source: &'s Source,
    broken: Vec<Broken>,
    of_functions: Vec<String>,
}

impl<'s> Reader<'s> {
    fn read(source: &'s Source) -> Reader<'s> {
        let mut reader = Reader { source, broken: Vec::new(), of_functions: Vec::new() };
        reader.comment(Kind::Other, "file", &source.syntax.attrs);
        reader.visit_file(&source.syntax);
        reader.remarks();
        reader
    }

    /// Holds an item's comment against the rules.
    fn comment(&mut self, kind: Kind, item: &str, attributes: &[Attribute]) {
        let Some((line, text)) = documentation(attributes) else { return };
        if kind == Kind::Function {
            self.of_functions.push(text.clone());
        }
        let words: Vec<&str> = text.split_whitespace().take(4).collect();
        let Some(rule) = rule(kind, &text) else { return };
        let file = self.source.name.clone();
        self.broken.push(Broken { file, line, item: item.to_owned(), words: words.join(" "), rule });
    }

    /// Holds the comments between lines of code against the rules, each by its first line.
    fn remarks(&mut self) {
        let mut in_strings = BTreeSet::new();
        list_lines_in_strings(&self.source.tokens, &mut in_strings);
        let mut is_in_remark = false;
        for (line, text) in (1..).zip(self.source.text.lines()) {
            let remark = text.trim_start().strip_prefix("// ").filter(|_| !in_strings.contains(&line));
            if let Some(remark) = remark.filter(|_| !is_in_remark)
                && let Some(rule) = rule(Kind::Other, remark)
            {
                let words: Vec<&str> = remark.split_whitespace().take(4).collect();
                let (file, item) = (self.source.name.clone(), "line".to_owned());
                self.broken.push(Broken { file, line, item, words: words.join(" "), rule });
            }
            is_in_remark = remark.is_some();
        }
    }

    fn named(&mut self, kind: Kind, name: &Ident, attributes: &[Attribute]) {
        self.comment(kind, &strip_raw_prefix(name), attributes);
    }

    /// Holds a string against the rules.
    fn string(&mut self, line: usize, text: &str) {
        if begins_with(text, "what") && text.contains(' ') && !text.trim_end().ends_with('?') {
            let words: Vec<&str> = text.split_whitespace().take(4).collect();
            let rule = "a message begins with the noun, not with \"what\"";
            let file = self.source.name.clone();
            self.broken.push(Broken { file, line, item: "string".into(), words: words.join(" "), rule });
        }
    }

    fn strings_in(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.strings_in(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.string(text.span().start().line, &text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'s> Visit<'s> for Reader<'s> {
    fn visit_item(&mut self, item: &'s syn::Item) {
        use syn::Item::*;
        let attributes = crate::modules::item_attributes(item);
        if is_of_tests(attributes) {
            return;
        }
        match item {
            Fn(item) => self.named(Kind::Function, &item.sig.ident, attributes),
            Const(item) => self.named(Kind::Other, &item.ident, attributes),
            Static(item) => self.named(Kind::Other, &item.ident, attributes),
            Struct(item) => self.named(Kind::Other, &item.ident, attributes),
            Enum(item) => self.named(Kind::Other, &item.ident, attributes),
            Union(item) => self.named(Kind::Other, &item.ident, attributes),
            Trait(item) => self.named(Kind::Other, &item.ident, attributes),
            Type(item) => self.named(Kind::Other, &item.ident, attributes),
            Mod(item) => self.named(Kind::Other, &item.ident, attributes),
            Macro(item) => self.comment(Kind::Other, "macro", &item.attrs),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'s syn::ImplItemFn) {
        if !is_of_tests(&item.attrs) {
            self.named(Kind::Function, &item.sig.ident, &item.attrs);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'s syn::TraitItemFn) {
        self.named(Kind::Function, &item.sig.ident, &item.attrs);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'s syn::ImplItemConst) {
        self.named(Kind::Other, &item.ident, &item.attrs);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &'s syn::TraitItemConst) {
        self.named(Kind::Other, &item.ident, &item.attrs);
        visit::visit_trait_item_const(self, item);
    }

    fn visit_field(&mut self, field: &'s syn::Field) {
        let name = field.ident.as_ref().map_or("field".into(), strip_raw_prefix);
        self.comment(Kind::Other, &name, &field.attrs);
    }

    fn visit_variant(&mut self, variant: &'s syn::Variant) {
        self.named(Kind::Other, &variant.ident, &variant.attrs);
        visit::visit_variant(self, variant);
    }

    /// Attributes hold no messages; their comments are read with their items.
    fn visit_attribute(&mut self, _: &'s Attribute) {}

    fn visit_lit_str(&mut self, text: &'s syn::LitStr) {
        self.string(text.span().start().line, &text.value());
    }

    fn visit_macro(&mut self, called: &'s syn::Macro) {
        self.strings_in(called.tokens.clone());
        // Functions that a macro is given.
        if let Ok(inside) = syn::parse2::<syn::File>(called.tokens.clone()) {
            for item in &inside.items {
                if let syn::Item::Fn(item) = item {
                    self.named(Kind::Function, &item.sig.ident, &item.attrs);
                }
            }
        }
    }
}

/// Joins the lines of a doc comment; the line is that on which it begins.
fn documentation(attributes: &[Attribute]) -> Option<(usize, String)> {
    let mut lines = Vec::new();
    let mut first = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { continue };
        first = first.or(Some(text.span().start().line));
        lines.push(text.value().trim().to_owned());
    }
    let text = lines.join(" ").trim().to_owned();
    first.filter(|_| !text.is_empty()).map(|first| (first, text))
}

/// Collects the lines that begin inside of a string.
fn list_lines_in_strings(tokens: &TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => list_lines_in_strings(&group.stream(), lines),
            TokenTree::Literal(literal) => {
                lines.extend(literal.span().start().line + 1..=literal.span().end().line);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// Finds the rule that a comment breaks.
fn rule(kind: Kind, text: &str) -> Option<&'static str> {
    if BANNED.iter().any(|banned| begins_with(text, banned)) {
        return Some("no comment begins so");
    }
    let is_wrong = kind == Kind::Function && !begins_like_verb(text);
    is_wrong.then_some("a function's comment begins with a verb in the third person")
}

/// Tells whether a text begins with these words, in capitals or not.
fn begins_with(text: &str, words: &str) -> bool {
    let mut found = text.split_whitespace();
    words.split(' ').all(|word| {
        found.next().is_some_and(|found| found.trim_end_matches([',', ':', '.']).to_lowercase() == word)
    })
}

/// Tells whether a text begins with a word that ends like a verb in the third person.
fn begins_like_verb(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches([',', ':', '.', ';']);
    let is_other =
        ["ss", "us", "'s"].iter().any(|end| first.ends_with(end)) || ["Its", "This"].contains(&first);
    text.starts_with(char::is_uppercase) && first.ends_with('s') && !is_other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn rules(text: &str) -> Vec<String> {
        let planted = Planted::new();
        planted.write_package("one", "", text);
        list_broken_comments(&planted.read_tree())
            .iter()
            .map(|broken| format!("{} {}", broken.item, broken.words))
            .collect()
    }

    #[test]
    fn a_comment_that_begins_with_what_is_found_on_every_item() {
        let text = "//! What it is.\n/// What it does.\npub fn f() {}\n/// What it is.\npub struct S {\n/// What it has.\n\
                    a: u8 }\n/// The same again.\nconst C: u8 = 1;\nenum E {\n/// Whether, or not.\nA }";
        let found =
            ["file What it is.", "f What it does.", "S What it is.", "a What it has.", "C The same again."];
        assert_eq!(rules(text), [&found[..], &["A Whether, or not."]].concat());
    }

    #[test]
    fn functions_begin_with_a_verb() {
        let good = "//! A file.\n/// Parses a size.\nfn f() {}\n/// Is so.\nfn g() {}\n/// Records a start.\nfn h() {}\n\
                    fn bare() {}\nwrap! {\n/// Reads a block.\nfn inside() {}\n}";
        assert_eq!(rules(good), [""; 0]);
        let bad = "//! A file.\n/// The size.\nfn f() {}\n/// This one.\nfn h() {}\n/// parses a size.\nfn i() {}\n\
                   wrap! {\n/// A block.\nfn inside() {}\n}\nimpl S {\n/// Its size.\nfn size() {} }";
        assert_eq!(
            rules(bad),
            ["f The size.", "h This one.", "i parses a size.", "inside A block.", "size Its size."]
        );
    }

    #[test]
    fn lines_between_code_begin_like_comments_of_items() {
        let text = "//! A file.\nfn f() {\n    // Where it is, it is.\n    g();\n    // It is there\n    // where it was.\n    \
                    g(\"a\n// Whoever\n\");\n    // Whoever comes.\n}\n#[cfg(test)]\nmod tests {\n// Of both.\n}\n";
        assert_eq!(rules(text), ["line Where it is, it", "line Whoever comes.", "line Of both."]);
    }

    #[test]
    fn help_and_tests_may_begin_otherwise() {
        let clap = "//! A file.\n/// Measure it\n#[derive(Debug, clap::Parser)]\nstruct A {\n/// Show all of it\na: bool }\n\
                    #[cfg(test)]\nmod tests {\n/// The size.\nfn f() { g(\"what is it\") }\n}";
        assert_eq!(rules(clap), [""; 0]);
        assert_eq!(rules(&clap.replace("Show all", "What")), ["a What of it"]);
    }

    #[test]
    fn messages_begin_with_a_noun() {
        let text = "//! A file.\nfn f() { fail(\"what was read\"); fail(format!(\"What {x} is\")); ask(\"what is it?\"); \
                    call(\"what\") }";
        assert_eq!(rules(text), ["string what was read", "string What {x} is"]);
    }

    #[test]
    fn a_crate_may_not_open_every_comment_alike() {
        let planted = Planted::new();
        let seven = "/// Parses it.\nfn f() {}\n".repeat(6) + "/// Returns it.\nfn f() {}\n";
        planted.write_package("one", "", &format!("//! A file.\n{seven}"));
        assert_eq!(list_dull_crates(&planted.read_tree()), [""; 0]);
        planted.write_package("one", "", &format!("//! A file.\n{seven}/// Checks if it is.\nfn f() {{}}\n"));
        assert_eq!(list_dull_crates(&planted.read_tree()).len(), 1);
    }
}

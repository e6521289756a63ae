//! Lines of code: those that hold more than comments, brackets, imports and declared modules, tests left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::{list_files, list_identifiers, read_text, strip_raw_prefix};

/// Counts the lines of code of the library or program in a crate's folder.
pub fn of_crate(folder: &Path) -> Result<usize, String> {
    Ok(read_files(folder)?.iter().map(|(_, lines)| lines.all.len()).sum())
}

/// Reads the files of the library or program in a crate's folder, tests left out.
pub(crate) fn read_files(folder: &Path) -> Result<Vec<(PathBuf, Lines)>, String> {
    let mut of_tests = BTreeSet::new();
    let mut files = Vec::new();
    for path in list_files(&folder.join("src"), "rs") {
        let tokens = read_text(&path)?.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        let mut lines = Lines::default();
        lines.read(tokens);
        let below = folder_of_children(&path);
        of_tests.extend(lines.test_modules.iter().map(|name| below.join(name)));
        files.push((path, lines));
    }
    files.retain(|(path, _)| !path.ancestors().any(|part| of_tests.contains(&part.with_extension(""))));
    Ok(files)
}

/// Returns the folder where the files of a file's modules are.
fn folder_of_children(path: &Path) -> PathBuf {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("mod.rs" | "lib.rs" | "main.rs") => path.parent().unwrap_or(path).to_owned(),
        _ => path.with_extension(""),
    }
}

/// Lines of a file that count, and what is read in them.
#[derive(Default)]
pub(crate) struct Lines {
    all: BTreeSet<usize>,
    /// Strings, and calls that leak, with their lines; strings by which an environment is proven are left out.
    pub(crate) strings: Vec<(usize, String)>,
    pub(crate) leaks: Vec<usize>,
    /// Modules in files of their own that are compiled for tests alone.
    test_modules: Vec<String>,
}

impl Lines {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // Lines of attributes and visibility, which count if what follows does.
        let mut before = BTreeSet::new();
        let mut is_test = false;
        let mut at = 0;
        while at < tokens.len() {
            if let Some((end, attribute)) = attribute(&tokens, at) {
                let names = list_identifiers(&attribute);
                is_test |=
                    names.contains("cfg") && attribute.to_string().replace(' ', "").contains("cfg(test");
                if !is_test && names.contains("arg") {
                    self.read_strings(attribute);
                }
                if !names.contains("doc") {
                    before.extend(tokens[at..end].iter().flat_map(spanned));
                }
                at = end;
            } else if word(&tokens, at) == "pub" {
                before.extend(spanned(&tokens[at]));
                let is_limit = matches!(tokens.get(at + 1), Some(TokenTree::Group(limit)) if limit.delimiter() == Delimiter::Parenthesis);
                at += if is_limit { 2 } else { 1 };
            } else if is_test || is_import(&tokens, at) {
                if is_test && word(&tokens, at) == "mod" && is_mark(tokens.get(at + 2), ';') {
                    self.test_modules.push(word(&tokens, at + 1));
                }
                at = end_of_item(&tokens, at);
                before.clear();
                is_test = false;
            } else {
                self.all.append(&mut before);
                let strings = self.strings.len();
                self.note(&tokens, at);
                self.count(&tokens[at]);
                if at >= 4 && word(&tokens, at - 4) == "Proof" && is_mark(tokens.get(at - 2), ':') {
                    self.strings.truncate(strings);
                }
                at += 1;
            }
        }
    }

    /// Notes a string, or a call that leaks: `::leak(…)` and `.leak()`.
    fn note(&mut self, tokens: &[TokenTree], at: usize) {
        let line = tokens[at].span().start().line;
        match &tokens[at] {
            TokenTree::Literal(literal) => {
                let string = syn::parse_str::<syn::LitStr>(&literal.to_string());
                self.strings.extend(string.ok().map(|string| (line, string.value())));
            }
            TokenTree::Ident(ident) if ident == "leak" && at > 0 => {
                let is_empty =
                    matches!(tokens.get(at + 1), Some(TokenTree::Group(group)) if group.stream().is_empty());
                let before = &tokens[at - 1];
                let is_leak = is_mark(Some(before), ':') || is_mark(Some(before), '.') && is_empty;
                self.leaks.extend(is_leak.then_some(line));
            }
            _ => {}
        }
    }

    /// Notes the strings of an attribute.
    fn read_strings(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for at in 0..tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.read_strings(group.stream()),
                _ => self.note(&tokens, at),
            }
        }
    }

    fn count(&mut self, token: &TokenTree) {
        match token {
            TokenTree::Group(group) => self.read(group.stream()),
            TokenTree::Punct(mark) if ",;?".contains(mark.as_char()) => {}
            TokenTree::Punct(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => {
                self.all.extend(spanned(token))
            }
        }
    }
}

/// Finds the end of an attribute that begins here, and its tokens.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(usize, TokenStream)> {
    if !is_mark(tokens.get(at), '#') {
        return None;
    }
    let group = if is_mark(tokens.get(at + 1), '!') { at + 2 } else { at + 1 };
    match tokens.get(group)? {
        TokenTree::Group(found) if found.delimiter() == Delimiter::Bracket => {
            Some((group + 1, found.stream()))
        }
        _ => None,
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn word(tokens: &[TokenTree], at: usize) -> String {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => strip_raw_prefix(ident),
        _ => String::new(),
    }
}

/// Tells whether a `use` or a module in a file of its own is declared here.
fn is_import(tokens: &[TokenTree], at: usize) -> bool {
    let declared = word(tokens, at);
    declared == "use" && !is_mark(at.checked_sub(1).and_then(|before| tokens.get(before)), '+')
        || declared == "mod" && is_mark(tokens.get(at + 2), ';')
}

/// Finds the token after the semicolon or the braces with which an item ends.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_mark(Some(token), ';'),
    };
    let is_use = word(tokens, at) == "use";
    let last =
        (at..tokens.len()).find(|&at| if is_use { is_mark(tokens.get(at), ';') } else { ends(&tokens[at]) });
    last.map_or(tokens.len(), |last| last + 1)
}

/// Lists the lines that a token covers.
fn spanned(token: &TokenTree) -> std::ops::RangeInclusive<usize> {
    token.span().start().line..=token.span().end().line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn code_counts_and_comments_brackets_imports_and_tests_do_not() {
        let text = "//! A file.\n\nuse a::{\n    B,\n};\n#[cfg(unix)]\npub(crate) mod c;\n/// Adds.\n#[must_use]\n\
                    pub fn f(\n    a: u8,\n) -> u8 {\n    // Why.\n    g(\n        a,\n    )\n}\n\
                    mod d {\n    const TEXT: &str = \"of two\n lines\";\n}\n#[cfg(test)]\npub mod e;\n\
                    #[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        let planted = Planted::new();
        planted.write_package("one", "", text);
        // Attribute, `fn`, parameter, answer, call, argument, `mod` and a text of two lines.
        let folder = planted.read_tree().crates[0].folder.clone();
        assert_eq!(of_crate(&folder), Ok(9));
        planted
            .write_file("crates/one/src/c.rs", "fn c() {}\n")
            .write_file("crates/one/src/e.rs", "fn e() {}\n");
        planted
            .write_file("crates/one/src/e/below.rs", "fn below() {}\n")
            .write_file("crates/one/tests/t.rs", "fn t() {}\n");
        assert_eq!(of_crate(&folder), Ok(10));
    }
}

//! The messages in the sources, which a catalogue must have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Opening of a call that says a message, and its number of texts: a count has one for 1 and one for more.
type Sign = (&'static str, usize);

const IN_RUST: [Sign; 5] =
    [("say!(", 1), ("message!(", 1), (".word(", 1), ("language.counted(", 2), ("self.counted(", 2)];
const IN_THE_PAGE: [Sign; 3] = [("say(", 1), ("message(", 1), ("counted(", 2)];

/// Collects the messages of this crate and of the program.
pub fn of_program() -> BTreeSet<String> {
    let folders = ["crates/tare-report/src", "crates/tare/src"];
    let sources = folders.iter().flat_map(|folder| sources(folder, "rs"));
    sources.flat_map(|text| said(&text, &IN_RUST)).collect()
}

/// Collects the messages of the page.
pub fn of_page() -> BTreeSet<String> {
    sources("report-ui/src", "ts").iter().flat_map(|text| said(text, &IN_THE_PAGE)).collect()
}

/// Collects the string literals of all crates, without the names of their values.
pub fn list_literals() -> BTreeSet<String> {
    let all = sources("crates", "rs");
    all.iter().flat_map(|text| texts_in(text)).map(|text| strip_value_names(&text)).collect()
}

/// Strips the names of values from a template.
pub fn strip_value_names(template: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in template.chars() {
        match c {
            '{' => inside = true,
            '}' if inside => {
                inside = false;
                out.push_str("{}");
            }
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

/// Reads the sources in a folder of the checkout, without their tests.
fn sources(folder: &str, ending: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut all = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| of == ending)
                && !["messages.rs", "tests.rs"].iter().any(|name| path.ends_with(name))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                all.push(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap().to_owned());
            }
        }
    }
    all
}

fn said(source: &str, signs: &[Sign]) -> Vec<String> {
    // Comments show how a message is said.
    let is_comment = |line: &&str| ["//", "/*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let lines = source.lines().filter(|line| !is_comment(line));
    let source = lines.collect::<Vec<_>>().join("\n");
    let mut all = Vec::new();
    for (sign, texts) in signs {
        for (at, _) in source.match_indices(sign) {
            let own = texts_in(call(&source[at + sign.len()..]));
            match (texts, own.as_slice()) {
                (1, [message, ..]) if !message.is_empty() => all.push(message.clone()),
                (2, [.., _, many]) => all.push(format!("{{count}} {many}")),
                _ => {}
            }
        }
    }
    all
}

/// Finds the arguments of a call, up to its closing parenthesis.
fn call(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Extracts the quoted texts.
fn texts_in(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('"') {
        let (mut own, mut end) = (String::new(), behind.len());
        let mut letters = behind.char_indices();
        while let Some((at, c)) = letters.next() {
            match c {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => match letters.next() {
                    Some((_, '\n')) => {
                        let after = letters.as_str();
                        let blank = after.len() - after.trim_start().len();
                        letters = skip(letters, blank);
                    }
                    Some((_, 'u')) => {
                        let digits: String =
                            letters.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                        own.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                    }
                    Some((_, 'n')) => own.push('\n'),
                    Some((_, c)) => own.push(c),
                    None => {}
                },
                c => own.push(c),
            }
        }
        all.push(own);
        rest = behind.get(end..).unwrap_or_default();
    }
    all
}

fn skip(mut letters: std::str::CharIndices<'_>, bytes: usize) -> std::str::CharIndices<'_> {
    let end = letters.as_str().len() - bytes;
    while letters.as_str().len() > end {
        letters.next();
    }
    letters
}

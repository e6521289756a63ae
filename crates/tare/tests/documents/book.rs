//! The book: its documents, their fenced blocks, and comparing or updating them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Folders that hold no documents of ours.
const NOT_OURS: [&str; 3] = ["target", "node_modules", "fuzz"];

pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Lists all Markdown files of the repository.
pub fn list_documents() -> Vec<PathBuf> {
    let mut found = below(&repository_root());
    found.sort();
    assert!(found.len() > 5, "the documents are not where they were: {found:?}");
    found
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !NOT_OURS.contains(&name.as_str()) {
                found.extend(below(&path));
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

/// Tells whether to rewrite documents instead of comparing them.
pub fn is_updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Locks the documents, because tests run in parallel.
pub fn lock_documents() -> MutexGuard<'static, ()> {
    static BOOK: Mutex<()> = Mutex::new(());
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compares a document with the expected text, or rewrites it.
pub fn compare_or_rewrite(path: &Path, expected: &str) {
    if is_updating() {
        fs::write(path, expected).unwrap();
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differing = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = differing.unwrap_or_else(|| found.lines().count().min(expected.lines().count()));
    assert!(
        found == expected,
        "{} is not what the code says, first in line {}:\n  found    {}\n  expected {}\n\
         UPDATE_DOCS=1 cargo test -p tare --test documents writes it anew",
        path.display(),
        line + 1,
        found.lines().nth(line).unwrap_or("(its end)"),
        expected.lines().nth(line).unwrap_or("(its end)"),
    );
}

/// A fenced block of a document.
#[derive(Debug)]
pub struct Fence {
    /// Text after the opening marks, e.g. `toml mine.toml`.
    pub info: String,
    /// Range of its lines, in bytes of the document.
    pub body: Range<usize>,
}

impl Fence {
    /// Splits the info string into the language and the name of the file that the block represents.
    pub fn split_info(&self) -> (&str, Option<&str>) {
        let mut words = self.info.split_ascii_whitespace();
        (words.next().unwrap_or_default(), words.next())
    }
}

/// Finds the fenced blocks of a document, in order.
pub fn find_fences(text: &str) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(info) = line.strip_prefix("```") {
            match open.take() {
                None => open = Some((info.trim().to_owned(), at + line.len())),
                Some((info, start)) => found.push(Fence { info, body: start..at }),
            }
        }
        at += line.len();
    }
    assert!(open.is_none(), "a fence stays open: {open:?}");
    found
}

/// Removes the contents of all fences from a document.
pub fn without_fences(text: &str) -> String {
    let mut left = text.to_owned();
    for fence in find_fences(text).iter().rev() {
        left.replace_range(fence.body.clone(), "");
    }
    left
}

/// Lays `body` into the fences of a document that `wanted` chooses, and keeps the document so.
pub fn keep_fences(path: &Path, mut body: impl FnMut(&Fence, &str) -> Option<String>) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let (mut expected, mut laid) = (text.clone(), 0);
    let bodies: Vec<(Fence, Option<String>)> = find_fences(&text)
        .into_iter()
        .map(|fence| {
            let new = body(&fence, &text[fence.body.clone()]);
            (fence, new)
        })
        .collect();
    for (fence, new) in bodies.into_iter().rev() {
        if let Some(new) = new {
            expected.replace_range(fence.body, &new);
            laid += 1;
        }
    }
    compare_or_rewrite(path, &expected);
    laid
}

#[test]
fn fences_are_found_and_taken_out() {
    let text = "a\n```toml x.toml\nb\nc\n```\nd\n```\n```\n";
    let found = find_fences(text);
    assert_eq!(found[0].split_info(), ("toml", Some("x.toml")));
    assert_eq!(&text[found[0].body.clone()], "b\nc\n");
    assert!(found[1].body.is_empty());
    assert_eq!(without_fences(text), "a\n```toml x.toml\n```\nd\n```\n```\n");
}

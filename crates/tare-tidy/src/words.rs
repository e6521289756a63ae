//! Words: what the house does not say, in comments and strings of Rust, in documents, and in the page.

use std::path::{Path, PathBuf};

use crate::tree::{Tree, list_files, read_text};

/// Words and phrases that are not said, and what is said instead.
const BANNED: [(&str, &str); 25] = [
    ("dearer", "slower"),
    ("dear", "expensive"),
    ("lane", "environment"),
    ("lanes", "environments"),
    ("gate shut", "condition met"),
    ("gate is shut", "condition met"),
    ("so many", "as many, or how many"),
    ("of the user's", "the user's own"),
    ("goes without saying", "is implicit"),
    ("quieten", "reduce interference"),
    ("talk between", "IPC"),
    ("takes the word", "accepts the request"),
    ("take the word", "accept the request"),
    ("look away", "ignore"),
    ("looks away", "ignores"),
    ("wish", "request"),
    ("wishes", "requests"),
    ("groundwork", "pilot"),
    ("caveat", "warning"),
    ("caveats", "warnings"),
    ("weigh", "measure"),
    ("weighs", "measures"),
    ("weighed", "measured"),
    ("weighing", "measuring"),
    ("pays for other", "is slower at"),
];

/// After `is no` these are plain English: `is no longer`.
const AFTER_NO: [&str; 16] = [
    "longer",
    "more",
    "less",
    "fewer",
    "better",
    "worse",
    "other",
    "different",
    "one",
    "smaller",
    "larger",
    "slower",
    "faster",
    "further",
    "use",
    "such",
];
/// Before `is no` these are: `there is no`.
const BEFORE_NO: [&str; 2] = ["there", "here"];

/// A word with its line; the last of a sentence has an end.
struct Word {
    text: String,
    line: usize,
    ends: bool,
}

/// Finds banned words in Rust, in documents and in the page, except in quotations: files and words, `*` for
/// all of them.
pub fn find_banned_words(tree: &Tree, quotations: &[(&str, &str)]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut look = |name: &str, text: &str| {
        for (line, found, instead) in in_text(text) {
            if !quotations.iter().any(|(file, word)| *file == name && (*word == found || *word == "*")) {
                broken.push(format!("{name}:{line} says '{found}': {instead}"));
            }
        }
    };
    for source in tree.sources() {
        look(&source.name, &prose(&source.text));
    }
    let root = &tree.root;
    let page = list_files(&root.join("report-ui/src"), "ts");
    let documents =
        list_files(&root.join("docs"), "md").into_iter().chain(list_files(&root.join("studies"), "toml"));
    for path in documents.chain(page).chain(beside(root)) {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        look(&name, &read_text(&path).unwrap_or_default());
    }
    broken
}

/// Lists the documents in the folder itself.
fn beside(root: &Path) -> Vec<PathBuf> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    crate::tree::list_paths(root).into_iter().filter(is_document).collect()
}

/// Finds banned words: line, words and replacement.
fn in_text(text: &str) -> Vec<(usize, String, &'static str)> {
    let words = words(text);
    let mut all = Vec::new();
    for at in 0..words.len() {
        let banned = BANNED.iter().find(|(phrase, _)| is_at(&words[at..], phrase));
        all.extend(banned.map(|(phrase, instead)| (words[at].line, (*phrase).to_owned(), *instead)));
        let before = at.checked_sub(1).map(|before| &words[before]).filter(|before| !before.ends);
        if is_no(before, &words[at..]) {
            let found = words[at..at + 3].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            all.push((words[at].line, found, "is not a"));
        }
    }
    all
}

/// Checks that a phrase begins here, within one sentence.
fn is_at(words: &[Word], phrase: &str) -> bool {
    let parts: Vec<&str> = phrase.split(' ').collect();
    words.len() >= parts.len()
        && parts.iter().zip(words).all(|(part, word)| *part == word.text)
        && words[..parts.len() - 1].iter().all(|word| !word.ends)
}

/// Finds `is no time` in place of `is not a time`.
fn is_no(before: Option<&Word>, words: &[Word]) -> bool {
    let [is, no, noun, ..] = words else { return false };
    let verb = ["is", "are", "was", "were"].contains(&is.text.as_str());
    verb && no.text == "no"
        && !is.ends
        && !no.ends
        && !AFTER_NO.contains(&noun.text.as_str())
        && before.is_some_and(|before| !BEFORE_NO.contains(&before.text.as_str()))
}

fn words(text: &str) -> Vec<Word> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for piece in line.split(|c: char| c.is_whitespace() || "/\"(){}[]`*|—".contains(c)) {
            let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
            if word.is_empty() {
                continue;
            }
            let ends = piece.ends_with(['.', ',', ';', ':', '!', '?']);
            all.push(Word { text: word.to_lowercase().replace('’', "'"), line: number + 1, ends });
        }
    }
    all
}

/// Keeps the comments and strings of Rust, on their lines; everything else is left out.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_prose) = piece(rest);
        let length = length.max(first.len_utf8());
        let taken = &rest[..length];
        match is_prose {
            true => prose.push_str(taken),
            false => prose.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
        rest = &rest[length..];
    }
    prose
}

/// Measures the comment, string, character or single piece of code with which a text begins, and tells
/// whether it is prose.
fn piece(text: &str) -> (usize, bool) {
    if text.starts_with("//") {
        return (text.find('\n').unwrap_or(text.len()), true);
    }
    if text.starts_with('"') {
        return (string(text), true);
    }
    if let Some(raw) = text.strip_prefix('r') {
        let marks = raw.len() - raw.trim_start_matches('#').len();
        if raw[marks..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(marks));
            let from = 1 + marks + 1;
            return (text[from..].find(&end).map_or(text.len(), |at| from + at + end.len()), true);
        }
    }
    // A character, and not a lifetime.
    let Some(character) = text.strip_prefix('\'') else { return (0, false) };
    let escaped = character.starts_with('\\');
    let from = if escaped { 2 } else { character.chars().next().map_or(0, char::len_utf8) };
    match character.get(from..).and_then(|rest| rest.find('\'')) {
        Some(0) => (1 + from + 1, false),
        Some(more) if escaped => (1 + from + more + 1, false),
        _ => (0, false),
    }
}

/// Measures a string with which a text begins.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn comments_and_strings_are_read_and_code_is_not() {
        let text =
            "//! A lane.\nlet lane = ('\"', '\\'', b\"lane\", r#\"a \"lane\"\"#); // so\n// many\nx: &'a str";
        let found: Vec<_> = in_text(&prose(text)).into_iter().map(|(line, found, _)| (line, found)).collect();
        let lane = |line| (line, "lane".to_owned());
        assert_eq!(found, [lane(1), lane(2), lane(2), (2, "so many".to_owned())]);
    }

    #[test]
    fn what_is_no_noun_is_told_from_what_is_not_there() {
        let found = |text: &str| in_text(text).len();
        assert_eq!(found("A share is no time. That was no probe"), 2);
        assert_eq!(
            found("There is no time, where there are no files, and it is no longer so; this is no"),
            0
        );
        assert_eq!(found("as many; so. Many"), 0);
    }

    #[test]
    fn a_planted_word_is_found_unless_it_is_quoted() {
        let planted = Planted::new();
        planted.write_package("one", "", "//! One.\n");
        planted
            .write_file("docs/a.md", "A word:\nthe lanes\n")
            .write_file("report-ui/src/b.ts", "const lane = 1;\n");
        let quoted = [("docs/a.md", "lanes")];
        assert_eq!(find_banned_words(&planted.read_tree(), &[]).len(), 2);
        assert_eq!(
            find_banned_words(&planted.read_tree(), &quoted),
            ["report-ui/src/b.ts:1 says 'lane': environment"]
        );
    }
}

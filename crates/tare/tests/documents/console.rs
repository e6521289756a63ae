//! Console examples: the text after `$ tare ...` in a document is the program's real output.
//!
//! A fence `console` runs in a separate folder, along with the fences of the same document whose opening
//! names a file (`toml mine.toml`), and the records `before.tare` and `after.tare`. Output that depends on
//! the machine belongs in a fence `text`, which is not run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{book, costs, examples};

/// Beginning of a line that is typed.
const PROMPT: &str = "$ ";

/// Splits a line like a shell, as far as the examples need: at blanks outside single quotes.
pub fn split_words(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    quoted
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_ascii_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// Runs a command, and returns standard output followed by standard error.
fn said(line: &str, folder: &Path) -> String {
    let words = split_words(line);
    assert_eq!(words[0], "tare", "'{line}': only tare itself can be run in an example");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command
        .args(&words[1..])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .env("XDG_STATE_HOME", folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// Runs the commands of a fence, and returns its text with the real output.
fn replayed(body: &str, folder: &Path) -> String {
    let mut shown = String::new();
    for line in body.lines().filter_map(|line| line.strip_prefix(PROMPT)) {
        shown.push_str(&format!("{PROMPT}{line}\n"));
        for line in said(line, folder).lines() {
            shown.push_str(line.trim_end());
            shown.push('\n');
        }
    }
    shown
}

#[test]
fn examples_say_what_the_program_says() {
    let _lock = book::lock_documents();
    // The record that an example reports on is itself generated.
    examples::keep_record();
    let records = costs::make_records();
    let mut run = 0;
    for path in book::list_documents() {
        let text = fs::read_to_string(&path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, lines) in &records {
            fs::write(folder.path().join(name), lines).unwrap();
        }
        for fence in book::find_fences(&text) {
            if let (_, Some(name)) = fence.split_info()
                && name.contains('.')
            {
                fs::write(folder.path().join(name), &text[fence.body.clone()]).unwrap();
            }
        }
        run += book::keep_fences(&path, |fence, body| {
            (fence.split_info().0 == "console").then(|| replayed(body, folder.path()))
        });
    }
    assert!(run > 0, "no document shows how the program is used");
}

#[test]
fn words_are_split_as_a_shell_does() {
    assert_eq!(split_words("tare run --only 'sys.*' x"), ["tare", "run", "--only", "sys.*", "x"]);
}

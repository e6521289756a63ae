//! Console examples: what a document shows after `$ tare ...` is what the program prints.
//!
//! A fence `console` is run in a folder of its own. Fences of the same document whose opening names a file
//! (`toml mine.toml`) lie in that folder, and so do the records `before.tare` and `after.tare`. What depends on the
//! machine stands in a fence `text`, which is not run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{book, costs, examples};

/// Beginning of a line that is typed.
const PROMPT: &str = "$ ";

/// Splits a line as a shell does, as far as the examples go: blanks, and single quotes around what holds them.
pub fn words(line: &str) -> Vec<String> {
    let quoted = line.split('\'').enumerate();
    quoted
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_ascii_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// What a command says: standard output, then standard error.
fn said(line: &str, folder: &Path) -> String {
    let words = words(line);
    assert_eq!(words[0], "tare", "'{line}': only tare itself can be run in an example");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command.args(&words[1..]).current_dir(folder).env("NO_COLOR", "1").env("XDG_STATE_HOME", folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// The fence as the program would have it.
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
    let _lock = book::lock();
    // The record that an example reports on is itself generated.
    examples::keep_record();
    let records = costs::records();
    let mut run = 0;
    for path in book::documents() {
        let text = fs::read_to_string(&path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, lines) in &records {
            fs::write(folder.path().join(name), lines).unwrap();
        }
        for fence in book::fences(&text) {
            if let (_, Some(name)) = fence.words()
                && name.contains('.')
            {
                fs::write(folder.path().join(name), &text[fence.body.clone()]).unwrap();
            }
        }
        run += book::keep_fences(&path, |fence, body| {
            (fence.words().0 == "console").then(|| replayed(body, folder.path()))
        });
    }
    assert!(run > 0, "no document shows how the program is used");
}

#[test]
fn words_are_split_as_a_shell_does() {
    assert_eq!(words("tare run --only 'sys.*' x"), ["tare", "run", "--only", "sys.*", "x"]);
}

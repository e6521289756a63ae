//! A verdict that is added to the list does not compile until it has an answer and a line in the table of words.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// Compiles the verdicts, their answers and their words by themselves, with a change to the verdicts.
///
/// What they take from other crates is as good as absent: nothing is written out, and no terminal is coloured.
fn compile(verdicts: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let plain = |text: &str| {
        let text = text.split("\n#[cfg(test)]").next().unwrap();
        let text = text.replace(", Serialize, Deserialize)]", ")]").replace("#[serde(rename = $name)] ", "");
        let text = text.replace("use serde::{Deserialize, Serialize};", "");
        let text = text.replace("use serde::{Serialize, Serializer};", "");
        match text.find("impl Serialize for") {
            Some(at) => text[..at].to_owned(),
            None => text,
        }
    };
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), plain(text)).unwrap();
    fs::create_dir(folder.path().join("findings")).unwrap();
    write("findings/verdict.rs", verdicts);
    write("findings/answer.rs", &source("tare-analysis/src/findings/answer.rs"));
    write("verdict_words.rs", &source("tare-report/src/verdict_words.rs"));
    write(
        "lib.rs",
        "#![allow(dead_code, unused_imports)]
        extern crate self as tare_analysis;
        extern crate self as anstyle;
        pub mod findings {
            pub mod verdict;
            pub mod answer;
            pub use self::verdict::{Shown, Side, Verdict};
        }
        pub mod language {
            macro_rules! message { ($message:literal) => { $message }; }
            pub(crate) use message;
        }
        #[derive(Clone, Copy, Debug)] pub enum AnsiColor { Red, Cyan, Yellow }
        #[derive(Clone, Copy, Debug)] pub enum Color { Ansi(AnsiColor) }
        #[derive(Clone, Copy, Debug)] pub struct Style;
        impl Style {
            pub const fn new() -> Style { Style }
            pub const fn fg_color(self, _: Option<Color>) -> Style { self }
            pub const fn bold(self) -> Style { self }
            pub const fn dimmed(self) -> Style { self }
        }
        pub mod verdict_words;
        ",
    );
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let options = ["--crate-type", "lib", "--edition", "2024", "--emit", "metadata", "lib.rs"];
    Command::new(rustc).args(options).current_dir(folder.path()).output().unwrap()
}

#[test]
fn a_verdict_without_answer_and_words_does_not_compile() {
    let verdicts = source("tare-analysis/src/findings/verdict.rs");
    let as_it_is = compile(&verdicts);
    assert!(as_it_is.status.success(), "{}", String::from_utf8_lossy(&as_it_is.stderr));
    let last = "    Inconclusive = \"inconclusive\",\n";
    let added = verdicts.replace(last, &format!("{last}    Doubtful = \"doubtful\",\n"));
    assert_ne!(added, verdicts, "there is no place for another verdict");
    let compiled = compile(&added);
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(!compiled.status.success());
    for file in ["findings/verdict.rs", "findings/answer.rs", "verdict_words.rs"] {
        let is_named = |error: &str| error.contains("Doubtful") && error.contains(&format!("{file}:"));
        assert!(said.split("error[E0004]").skip(1).any(is_named), "{file} compiles without it: {said}");
    }
}

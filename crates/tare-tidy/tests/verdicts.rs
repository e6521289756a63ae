//! A verdict that is added to the list does not compile until it has an answer, and an answer not until it has words.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The crate around them.
const LIBRARY: &str = "#![allow(dead_code, unused_imports)]
        extern crate self as tare_analysis;
        extern crate self as anstyle;
        extern crate self as libm;
        extern crate self as tare_data;
        pub mod session { pub use crate::findings::limits; pub use crate::lasting_work as lasting; }
        pub mod lasting_work;
        pub fn exp(x: f64) -> f64 { x }
        pub fn log(x: f64) -> f64 { x }
        pub mod statistics {
            pub mod signed_ranks { #[derive(Clone, Copy)] pub struct Interval { pub low: f64, pub high: f64 } }
        }
        pub mod findings {
            pub mod verdict;
            pub mod interval;
            pub mod answer;
            pub mod lasting;
            pub mod reach;
            pub mod sameness;
            pub mod limits;
            pub use self::answer::{Answer, Kind, Why};
            pub use self::verdict::{Trend, Verdict};
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
        pub mod answer_words;
        ";

/// Compiles verdicts, answers and words by themselves, with a change to the verdicts or the answers.
///
/// Other crates, of which they take a little, are as good as absent: nothing is written out, and no terminal is coloured.
fn compile(verdicts: &str, answers: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let plain = |text: &str| {
        let text = text.split("\n#[cfg(test)]").next().unwrap();
        let text = text.replace(", ::serde::Serialize, ::serde::Deserialize)]", ")]");
        let text = text.replace(", Serialize, Deserialize)]", ")]").replace("#[serde(rename = $name)] ", "");
        let text = text.replace("use serde::{Deserialize, Serialize};", "");
        let text = text.replace("use serde::{Serialize, Serializer};", "");
        let text = text.replace(", Serialize)]", ")]").replace("use serde::Serialize;", "");
        let is_plain = |line: &&str| !line.trim_start().starts_with("#[serde(");
        let text = text.lines().filter(is_plain).collect::<Vec<_>>().join("\n");
        match text.find("impl Serialize for") {
            Some(at) => text[..at].to_owned(),
            None => text,
        }
    };
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), plain(text)).unwrap();
    fs::create_dir(folder.path().join("findings")).unwrap();
    write("findings/verdict.rs", verdicts);
    write("findings/answer.rs", answers);
    for name in ["interval", "lasting", "reach", "sameness"].map(|name| format!("findings/{name}.rs")) {
        write(&name, &source(&format!("tare-analysis/src/{name}")));
    }
    write("findings/limits.rs", &source("tare-data/src/session/limits.rs"));
    write("lasting_work.rs", &source("tare-data/src/session/lasting.rs"));
    write("answer_words.rs", &source("tare-report/src/answers/table.rs"));
    let names = source("tare-data/src/names.rs");
    let named = names.find("#[macro_export]").map(|at| &names[at..]).unwrap();
    write("lib.rs", &format!("{LIBRARY}\n{named}"));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let options = ["--crate-type", "lib", "--edition", "2024", "--emit", "metadata", "lib.rs"];
    Command::new(rustc).args(options).current_dir(folder.path()).output().unwrap()
}

/// Compiles the sources with a change to one of them, and returns the errors about a match that lacks a name.
fn find_gaps(verdicts: (&str, &str), answers: (&str, &str), name: &str) -> Vec<String> {
    let change = |path: &str, (from, to): (&str, &str)| {
        let text = source(path);
        assert!(text.contains(from), "{path} has no place for another");
        text.replacen(from, to, 1)
    };
    let compiled = compile(
        &change("tare-analysis/src/findings/verdict.rs", verdicts),
        &change("tare-analysis/src/findings/answer.rs", answers),
    );
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert_eq!(compiled.status.success(), name.is_empty(), "{said}");
    said.split("error[E0004]").skip(1).filter(|error| error.contains(name)).map(str::to_owned).collect()
}

#[test]
fn a_verdict_without_answer_and_an_answer_without_words_do_not_compile() {
    let same = ("{", "{");
    assert!(find_gaps(same, same, "").is_empty());
    let verdict = "    Inconclusive = \"inconclusive\",\n";
    let added = format!("{verdict}    Doubtful = \"doubtful\",\n");
    let gaps = find_gaps((verdict, &added), same, "Doubtful");
    assert!(gaps.iter().any(|gap| gap.contains("findings/answer.rs:")), "{gaps:?}");
    let answer = "    /// Nothing was compared.\n";
    let gaps = find_gaps(same, (answer, &format!("    Doubtful = \"doubtful\",\n{answer}")), "Doubtful");
    assert!(gaps.iter().any(|gap| gap.contains("answer_words.rs:")), "{gaps:?}");
}

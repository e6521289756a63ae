//! Everyday words: names that people have for layers and tools, and commands and options of other tools, each with the ways on.

use std::sync::LazyLock;

use serde::Deserialize;

/// Several words for one thing, and the ways on from it, the nearest first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Name {
    /// In small letters, with a dash for a space.
    pub words: Vec<String>,
    /// The thing, as in "it is ...".
    #[serde(default = "describe_layer")]
    pub about: String,
    #[serde(default)]
    pub environments: Vec<String>,
    /// Environment of it on Windows itself.
    pub on_windows: Option<String>,
    #[serde(default)]
    pub studies: Vec<String>,
    pub article: Option<String>,
    /// Further lines to type.
    #[serde(default)]
    pub lines: Vec<String>,
}

/// Words of another tool, and what to type or to know here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Habit {
    pub words: Vec<String>,
    pub instead: String,
}

impl Habit {
    /// Finds the way on from a word of another tool.
    pub fn find_instead<'a>(habits: &'a [Habit], word: &str) -> Option<&'a str> {
        let known = habits.iter().find(|habit| habit.words.iter().any(|known| known == word))?;
        Some(&known.instead)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Everyday {
    #[serde(rename = "name")]
    pub names: Vec<Name>,
    #[serde(rename = "command")]
    pub commands: Vec<Habit>,
    /// Options that have another name here; an empty one is left out, and its value is a word.
    pub renamed: Vec<Habit>,
    #[serde(rename = "option")]
    pub options: Vec<Habit>,
}

/// The table.
pub static EVERYDAY: LazyLock<Everyday> = LazyLock::new(|| {
    toml::from_str(include_str!("everyday.toml")).expect("it comes along, and a test reads it")
});

fn describe_layer() -> String {
    "a layer that tare has under other names".to_owned()
}

//! A command line, taken apart: options with their values, the words that belong to none, and those after `--`.

use clap::{Arg, Command};
use tare_data::session::specification::NATIVE;
use tare_data::shell;

/// Separator before the words of commands, and the one between two commands.
const BEFORE: &str = "--";
pub const BETWEEN: &str = "---";
/// Option that names environments.
pub const IN: &str = "--in";

/// The words of a subcommand.
#[derive(Clone)]
pub struct Line {
    name: String,
    /// Words before `--`.
    given: Vec<String>,
    /// Places among them that hold no option and no option's value.
    loose: Vec<usize>,
    /// Words after `--`, where that stands.
    after: Option<Vec<String>>,
    /// An option before the first loose word that the subcommand does not have.
    has_unknown: bool,
}

impl Line {
    /// Takes the words after a subcommand's name apart, by the options that it has.
    pub fn read(command: &Command, words: &[String]) -> Line {
        let end = words.iter().position(|word| word == BEFORE);
        let given = &words[..end.unwrap_or(words.len())];
        let (mut loose, mut at, mut has_unknown) = (Vec::new(), 0, false);
        while let Some(word) = given.get(at) {
            at += 1;
            if !is_option(word) {
                loose.push(at - 1);
                continue;
            }
            let most = count_values(command, word);
            has_unknown |= loose.is_empty() && most.is_none();
            let most = most.unwrap_or(0);
            at += given[at..].iter().take(most).take_while(|value| !is_option(value)).count();
        }
        let after = end.map(|end| words[end + 1..].to_vec());
        Line { name: command.get_name().to_owned(), given: given.to_vec(), loose, after, has_unknown }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lists the words that belong to no option.
    pub fn loose(&self) -> Vec<&str> {
        self.loose.iter().map(|at| self.given[*at].as_str()).collect()
    }

    /// Tells whether an option that the subcommand does not have comes first: then what follows may be its value.
    pub fn has_unknown_option(&self) -> bool {
        self.has_unknown
    }

    pub fn has_commands(&self) -> bool {
        self.after.is_some()
    }

    /// Returns the words after `--`, where that stands.
    pub fn words_after(&self) -> Option<&[String]> {
        self.after.as_deref()
    }

    pub fn has_option(&self, option: &str) -> bool {
        self.given.iter().any(|word| word.split('=').next() == Some(option))
    }

    /// Lists the words before `--`, up to a loose one if such a place is named.
    pub fn given_before(&self, loose: Option<usize>) -> &[String] {
        let end = loose.and_then(|place| self.loose.get(place).copied());
        &self.given[..end.unwrap_or(self.given.len())]
    }

    /// Finds the value of an option.
    pub fn value_of(&self, option: &str) -> Option<&str> {
        self.given.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((name, value)) if name == option => Some(value),
            _ if word == option => self.given.get(at + 1).map(String::as_str),
            _ => None,
        })
    }

    /// Lists the environments of `--in`.
    pub fn environments(&self) -> Vec<&str> {
        self.value_of(IN).unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect()
    }

    /// Lists the words from the first loose one on, which may be a command's, options and all.
    pub fn words_from_loose(&self) -> &[String] {
        self.loose.first().map_or(&[], |first| &self.given[*first..])
    }

    /// Writes the line with other words in place of the loose ones.
    pub fn with_loose(&self, words: &[&str]) -> Vec<String> {
        let words = words.iter().map(|word| (*word).to_owned());
        self.end_with([vec![self.name.clone()], words.collect(), self.without_loose()].concat())
    }

    /// Writes the line with these environments, and without loose words.
    pub fn with_environments(&self, environments: &[String]) -> Vec<String> {
        let mut names: Vec<String> = self.environments().into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            names.push(NATIVE.to_owned());
        }
        names.extend(environments.iter().flat_map(|names| names.split(',')).map(str::to_owned));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let mut others = self.without_loose();
        if let Some(at) = others.iter().position(|word| word == IN) {
            others.drain(at..(at + 2).min(others.len()));
        }
        others.retain(|word| !word.starts_with("--in="));
        self.end_with([vec![self.name.clone(), IN.to_owned(), names.join(",")], others].concat())
    }

    /// Writes the line with another value of `--in`.
    pub fn with_value_of_in(&self, old: &str, new: &str) -> Vec<String> {
        let renamed =
            self.environments().into_iter().map(|name| if name == old { new } else { name }.to_owned());
        let renamed: Vec<String> = renamed.collect();
        let bare = Line { loose: Vec::new(), ..self.clone() };
        let mut words = bare.with_environments(&[]);
        words[2] = renamed.join(",");
        words
    }

    /// Writes the line with commands, each a list of words, after the options and `--`. `kept` is how many words before `--`
    /// stay: those behind are the commands' own. A command that already follows `--` stays the only one.
    pub fn with_commands(&self, commands: &[&[String]], options_behind_too: bool) -> Vec<String> {
        if self.has_commands() {
            return self.with_loose(&[]);
        }
        let kept = match (options_behind_too, self.loose.first()) {
            (false, Some(first)) => self.given[..*first].to_vec(),
            _ => self.without_loose(),
        };
        let mut words = [vec![self.name.clone()], kept, vec![BEFORE.to_owned()]].concat();
        words.extend(commands.join(&BETWEEN.to_owned()));
        words
    }

    /// Takes the first loose word for one that stays where it is, as options do.
    pub fn behind_first(&self) -> Line {
        Line { loose: self.loose.iter().skip(1).copied().collect(), ..self.clone() }
    }

    fn without_loose(&self) -> Vec<String> {
        let kept = self.given.iter().enumerate().filter(|(at, _)| !self.loose.contains(at));
        kept.map(|(_, word)| word.clone()).collect()
    }

    fn end_with(&self, mut words: Vec<String>) -> Vec<String> {
        if let Some(after) = &self.after {
            words.push(BEFORE.to_owned());
            words.extend(after.iter().cloned());
        }
        words
    }
}

/// Shows words as the line to type.
pub fn show_line<W: AsRef<str>>(words: &[W]) -> String {
    // A list of names, a pattern of records and the separators need no quotes.
    format!("tare {}", shell::join_words(words))
}

/// Tells whether a word begins an option; a single dash and a number do not.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != BETWEEN && word.parse::<f64>().is_err()
}

/// Counts the words that an option takes as its values, at most; none where there is no such option.
fn count_values(command: &Command, word: &str) -> Option<usize> {
    let values = |argument: &Arg| match argument.get_action().takes_values() {
        true => argument.get_num_args().map_or(1, |range| range.max_values()),
        false => 0,
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        return find_long(command, name).map(|argument| if value.is_some() { 0 } else { values(argument) });
    }
    let mut letters = word.chars().skip(1);
    while let Some(letter) = letters.next() {
        match command.get_arguments().find(|argument| argument.get_short() == Some(letter)).map(values)? {
            0 => {}
            // Attached: -w3.
            _ if letters.next().is_some() => return Some(0),
            most => return Some(most),
        }
    }
    Some(0)
}

/// Finds an option by its long name.
pub fn find_long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(name) || aliases.contains(&name)
    })
}

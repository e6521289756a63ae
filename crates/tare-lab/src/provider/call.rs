//! The words of a call: a command in place of the agent, started by the tiny program.

use std::cell::Cell;
use std::path::Path;

use tare_probes::tiny::{BEGAN, ENDED, FILE, TINY};

/// The command of a call.
#[derive(Debug)]
pub(crate) struct CallCommand {
    words: Vec<String>,
    /// By which the host knows that the words around the command are this call's.
    pub token: String,
    /// Set once a provider has taken the words.
    taken: Cell<bool>,
}

impl CallCommand {
    pub fn new(words: &[String], token: String) -> CallCommand {
        CallCommand { words: words.to_vec(), token, taken: Cell::new(false) }
    }

    /// Tells whether a provider has taken the words; one that has not has started something else.
    pub fn is_taken(&self) -> bool {
        self.taken.get()
    }

    /// Takes the words that run inside, where the agent has this path, and the tiny program lies beside it.
    pub fn take_words(&self, agent: &str) -> Vec<String> {
        let tiny = Path::new(agent).with_file_name(FILE).to_string_lossy().into_owned();
        self.take([tiny.clone(), self.token.clone()].to_vec(), tiny)
    }

    /// Takes the words that run where no file of this machine is seen: a shell speaks in the program's place. Its words are put
    /// together inside, so that a launcher which prints its own is not taken for it.
    pub fn take_words_by_shell(&self) -> Vec<String> {
        let script = format!(
            "t=$1; shift; echo {BEGAN:?}\"$t\"; \"$@\"; s=$?; echo {ENDED:?}\"$t - $(printf %x $s)\"; exit $s"
        );
        self.take(["sh", "-c", &script, "sh", &self.token].map(str::to_owned).to_vec(), "true".to_owned())
    }

    fn take(&self, mut before: Vec<String>, tiny: String) -> Vec<String> {
        self.taken.set(true);
        let is_tiny = |at: usize, word: &String| at == 0 && word == TINY;
        let words = self.words.iter().enumerate();
        before.extend(words.map(|(at, word)| if is_tiny(at, word) { tiny.clone() } else { word.clone() }));
        before
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tare_probes::tiny::{Heard, Listening};

    use super::*;

    fn call(words: &[&str]) -> CallCommand {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        CallCommand::new(&words, "77".into())
    }

    #[test]
    fn a_call_goes_by_way_of_the_tiny_program() {
        assert_eq!(call(&["@tiny"]).take_words("/tare"), ["/tiny", "77", "/tiny"]);
        assert_eq!(call(&["ls", "@tiny"]).take_words("/a/agent"), ["/a/tiny", "77", "ls", "@tiny"]);
    }

    #[test]
    fn a_shell_speaks_where_no_file_is_seen() {
        let words = call(&["sh", "-c", "echo a b; exit 3"]).take_words_by_shell();
        assert!(!words.iter().any(|word| word.contains("@tare-began 77")), "{words:?}");
        let done = Command::new("/bin/sh").args(&words[1..]).output().unwrap();
        let mut listening = Listening::for_token("77".into());
        listening.push(&done.stdout);
        assert_eq!((listening.heard, listening.output.bytes), (Heard::Ended(None, 3), 4));
        assert_eq!(done.status.code(), Some(3));
        assert_eq!(call(&["@tiny"]).take_words_by_shell().last().unwrap(), "true");
    }
}

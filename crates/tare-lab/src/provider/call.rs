//! The words of a call: a command in place of the agent.

use std::cell::Cell;

use tare_probes::agent::called::CALLED;

/// First word that stands for tare itself, wherever it is inside.
pub const ITSELF: &str = "@tare";

/// The command of a call, and the way in which it is run.
#[derive(Debug)]
pub(crate) struct CallCommand {
    words: Vec<String>,
    /// True where the agent runs it, and divides the call.
    is_divided: bool,
    /// Set once a provider has taken the words.
    taken: Cell<bool>,
}

impl CallCommand {
    pub fn new(words: &[String], is_divided: bool) -> CallCommand {
        CallCommand { words: words.to_vec(), is_divided, taken: Cell::new(false) }
    }

    /// Tells whether a provider has taken the words; one that has not has started something else.
    pub fn is_taken(&self) -> bool {
        self.taken.get()
    }

    /// Takes the words that run inside, where the agent has this path.
    pub fn take_words(&self, agent: &str) -> Vec<String> {
        self.taken.set(true);
        let by_agent = [agent, CALLED].map(str::to_owned).into_iter().filter(|_| self.is_divided);
        let itself = |word: &String| if word == ITSELF { agent.to_owned() } else { word.clone() };
        let (first, others) = self.words.split_at(1.min(self.words.len()));
        by_agent.chain(first.iter().map(itself)).chain(others.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divided_call_goes_by_way_of_the_agent() {
        let words = |words: &[&str], is_divided| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            CallCommand::new(&words, is_divided).take_words("/tare")
        };
        assert_eq!(words(&["@tare", "agent-applet"], false), ["/tare", "agent-applet"]);
        assert_eq!(words(&["@tare", "x"], true), ["/tare", "agent-call", "/tare", "x"]);
        assert_eq!(words(&["true", "@tare"], false), ["true", "@tare"]);
    }
}

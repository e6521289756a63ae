//! Commands that are also measured as calls: a study with both.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::study::user_command::UserCommand;
use crate::study::{Study, StudyCase, calls};

/// Least time for a session with calls.
const BUDGET: Duration = Duration::from_secs(180);

impl Study {
    /// Adds the call of each command, as `words` gives it: enter, run it, leave.
    #[must_use]
    pub fn with_calls(mut self, words: impl Fn(&UserCommand) -> Vec<String>) -> Study {
        for command in self.commands.values() {
            let json = serde_json::to_string(&words(command)).expect("texts always serialise");
            self.cases.push(StudyCase {
                probe: calls::PROBE.name.to_owned(),
                parameters: BTreeMap::from([(calls::COMMAND.to_owned(), toml::Value::String(json))]),
                places: Vec::new(),
                peers: Vec::new(),
                margin: None,
                short: BTreeMap::new(),
                reference: BTreeMap::new(),
                seconds: None,
                decide: Vec::new(),
            });
        }
        self.least_rounds = Some(calls::LEAST_FIRST_CALLS);
        self.budget = self.budget.max(BUDGET);
        self
    }
}

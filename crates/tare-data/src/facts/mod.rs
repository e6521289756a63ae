//! Facts of an environment, as sorted keys and texts that can be compared side by side, and steps that gave none.

pub mod keys;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of an environment, e.g. `kernel.release` = `6.18.44`, `clock.source` = `tsc`.
///
/// Keys are dotted, lower case, the family first. A fact that could not be read is absent, never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<String, String>);

impl Facts {
    /// Notes a fact; an empty text is not one.
    pub fn add_fact(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.insert(key.into(), value);
        }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub fn get_integer(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }
}

/// Everything that a process found out about where it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    pub facts: Facts,
    pub lost: Vec<Lost>,
    pub took_ms: u64,
}

/// A step without a complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub step: &'static str,
    pub how: HowLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowLost {
    /// No process could be started for it.
    NoProcess,
    /// A signal ended it: a filter of system calls kills by SIGSYS.
    Signal(i32),
    /// The deadline passed.
    Late,
    /// The deadline passed, and its process cannot be ended: it waits in a file system that does not answer.
    Stuck,
    /// All time was used up before it began.
    NotReached,
}

impl HowLost {
    /// Describes the loss, in words that can follow the name of the step.
    pub fn describe(self) -> String {
        match self {
            HowLost::NoProcess => "no process could be started".to_owned(),
            HowLost::Signal(signal) => format!("ended by signal {signal}"),
            HowLost::Late => "no answer in time".to_owned(),
            HowLost::Stuck => "no answer, and its process cannot be ended".to_owned(),
            HowLost::NotReached => "no time was left".to_owned(),
        }
    }
}

//! Facts of an environment, as sorted keys and texts that can be compared side by side.

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

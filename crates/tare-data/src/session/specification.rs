//! A specification: how a person and a record name an environment, `provider:instance?key=value&key=value`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Provider of this machine itself, with no layer in between: the usual baseline.
pub const NATIVE: &str = "native";

/// A provider, an optional instance of it (a host name, a distribution, a runtime) and options. A record has it as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specification {
    pub provider: String,
    pub instance: Option<String>,
    pub options: BTreeMap<String, String>,
}

/// A text that does not specify an environment, and its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecificationError {
    pub text: String,
    pub cause: String,
}

impl Specification {
    /// Makes a specification of a provider alone, without an instance or options.
    pub fn from_provider(provider: impl Into<String>) -> Self {
        Specification { provider: provider.into(), instance: None, options: BTreeMap::new() }
    }

    /// Sets an option, whatever it was before.
    #[must_use]
    pub fn with_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(key.into(), value.into());
        self
    }

    /// Looks up the value of an option; none where it was not given.
    pub fn get_option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }
}

impl FromStr for Specification {
    type Err = SpecificationError;

    /// Parses `gvisor?platform=ptrace`, `oci:crun`, `ssh:user@host?port=2222`.
    fn from_str(text: &str) -> Result<Self, SpecificationError> {
        let refused = |cause: String| SpecificationError { text: text.to_owned(), cause };
        let (head, tail) = text.split_once('?').unwrap_or((text, ""));
        let (provider, instance) = match head.split_once(':') {
            Some((_, "")) => return Err(refused(format!("nothing follows ':' in '{head}'"))),
            Some((provider, instance)) => (provider, Some(instance.to_owned())),
            None => (head, None),
        };
        if provider.is_empty() {
            return Err(refused("it does not name a provider".into()));
        }
        let mut options = BTreeMap::new();
        for pair in tail.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| refused(format!("'{pair}' is not key=value")))?;
            if options.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(refused(format!("'{key}' is given twice")));
            }
        }
        Ok(Specification { provider: provider.to_owned(), instance, options })
    }
}

impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        if let Some(instance) = &self.instance {
            write!(f, ":{instance}")?;
        }
        for (i, (key, value)) in self.options.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl Serialize for Specification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads the text of a record. Records are foreign data, and one with a damaged specification can still be reported on: that
/// text becomes the name of a provider, which nobody knows when it is to be entered.
impl<'de> Deserialize<'de> for Specification {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(text.parse().unwrap_or_else(|_| Specification::from_provider(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_reads_back_as_it_was_written() {
        for text in ["native", "oci:crun", "gvisor?overlay=none&platform=ptrace", "ssh:me@host?port=2222"] {
            let specification: Specification = text.parse().unwrap();
            assert_eq!(specification.to_string(), text);
            let json = serde_json::to_string(&specification).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Specification>(&json).unwrap(), specification);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for text in ["", "oci:", ":x", "gvisor?platform", "gvisor?a=1&a=2"] {
            let refused = text.parse::<Specification>().unwrap_err();
            assert_eq!(refused.text, text);
        }
    }

    #[test]
    fn what_a_record_has_is_kept_as_it_is_there() {
        for text in ["", "oci:", "gvisor?platform", "gvisor?a=1&a=2"] {
            let recorded: Specification = serde_json::from_value(text.into()).unwrap();
            assert_eq!(recorded, Specification::from_provider(text));
            assert_eq!(recorded.to_string(), text);
        }
    }

    #[test]
    fn an_option_is_added_or_replaced() {
        let with =
            |text: &str| text.parse::<Specification>().unwrap().with_option("slower", "5%").to_string();
        assert_eq!(with("native"), "native?slower=5%");
        assert_eq!(with("gvisor?platform=ptrace"), "gvisor?platform=ptrace&slower=5%");
        assert_eq!(with("native?slower=1%"), "native?slower=5%");
    }
}

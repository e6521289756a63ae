//! A specification: how a person names an environment, `provider:instance?key=value&key=value`.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::LabError;

/// A provider, an optional instance of it (a host name, a distribution, a runtime) and options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specification {
    pub provider: String,
    pub instance: Option<String>,
    pub options: BTreeMap<String, String>,
}

impl Specification {
    /// Parses `gvisor?platform=ptrace`, `oci:crun`, `ssh:user@host?port=2222`.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let refused = |cause: String| {
            LabError::usage(format!("cannot read the environment '{text}'"))
                .because(cause)
                .hint("write NAME or provider:instance?key=value&key=value")
        };
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

    /// The value of an option, if it was given.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_reads_back_as_it_was_written() {
        for text in ["native", "oci:crun", "gvisor?overlay=none&platform=ptrace", "ssh:me@host?port=2222"] {
            assert_eq!(Specification::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for text in ["", "oci:", "gvisor?platform", "gvisor?a=1&a=2"] {
            assert!(Specification::parse(text).is_err(), "{text}");
        }
    }
}

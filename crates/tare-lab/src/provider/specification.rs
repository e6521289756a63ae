//! A specification: how a person names an environment, `provider:target?key=value&key=value`.

use std::collections::BTreeMap;
use std::fmt;

/// A provider, an optional target (a host name, a distribution, a runtime) and options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specification {
    pub provider: String,
    pub target: Option<String>,
    pub options: BTreeMap<String, String>,
}

impl Specification {
    /// Reads `gvisor?platform=ptrace`, `oci:crun`, `ssh:user@host?port=2222`. Says what is wrong otherwise.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (head, tail) = text.split_once('?').unwrap_or((text, ""));
        let (provider, target) = match head.split_once(':') {
            Some((_, "")) => return Err(format!("'{text}' names no target after ':'")),
            Some((provider, target)) => (provider, Some(target.to_owned())),
            None => (head, None),
        };
        if provider.is_empty() {
            return Err(format!("'{text}' names no provider"));
        }
        let mut options = BTreeMap::new();
        for pair in tail.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("'{pair}' in '{text}' is not key=value"))?;
            if options.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(format!("'{key}' stands twice in '{text}'"));
            }
        }
        Ok(Specification { provider: provider.to_owned(), target, options })
    }

    /// The value of an option, if it was given.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }
}

impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        if let Some(target) = &self.target {
            write!(f, ":{target}")?;
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

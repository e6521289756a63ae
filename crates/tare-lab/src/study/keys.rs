//! Keys of a TOML file: which one was probably meant.

use crate::nearest::nearest;

/// From serde's "unknown field `x`, expected one of `a`, `b`": the nearest of those expected.
pub(crate) fn unknown_key_hint(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, expected) = rest.split_once("`, expected")?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    Some(match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known here are {}", known.join(", ")),
    })
}

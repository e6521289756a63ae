//! Keys of a TOML file: which one was probably meant.

use crate::error::LabError;
use crate::nearest::find_nearest;

/// Explains why a file is not read, and what to do: the nearest key where one is unknown, else `otherwise`.
pub(crate) fn not_read(
    error: LabError,
    cause: &toml::de::Error,
    otherwise: impl FnOnce() -> String,
) -> LabError {
    let hint = unknown_key_hint(cause.message()).unwrap_or_else(otherwise);
    error.with_cause(cause.to_string().trim_end()).with_hint(hint)
}

/// Finds the nearest expected key in serde's "unknown field `x`, expected one of `a`, `b`".
fn unknown_key_hint(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, expected) = rest.split_once("`, expected")?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    Some(match find_nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known here are {}", known.join(", ")),
    })
}

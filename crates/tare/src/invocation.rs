//! The invocation: the words that this program was called with, and when.

use tare_lab::session::peers::redacted;

/// The arguments after the program's name, without secrets.
pub fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| redacted(&word.to_string_lossy())).collect()
}

/// The time of day, RFC 3339 with offset.
pub fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

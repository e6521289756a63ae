//! Secrets in what was typed: no record holds them.

/// Scheme of tare's peer: `tare://HOST:PORT/#SECRET`.
pub const TARE: &str = "tare://";

/// Removes a secret from a word of a command line.
pub fn redact_secret(word: &str) -> String {
    match word.find(TARE).and_then(|at| Some(at + word[at..].find('#')?)) {
        Some(at) => format!("{}#...", &word[..at]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_left_out_and_nothing_else() {
        assert_eq!(redact_secret("--peer=tare://h:7/#secret"), "--peer=tare://h:7/#...");
        assert_eq!(redact_secret("tare://h:7/?secret-file=/f"), "tare://h:7/?secret-file=/f");
        assert_eq!(redact_secret("file#1"), "file#1");
    }
}

//! Secrets in what was typed: no record holds them.

/// Scheme of tare's peer: `tare://HOST:PORT/#SECRET`.
pub const TARE: &str = "tare://";

/// Removes a secret from a word of a command line.
pub fn redacted(word: &str) -> String {
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
        assert_eq!(redacted("--peer=tare://h:7/#secret"), "--peer=tare://h:7/#...");
        assert_eq!(redacted("tare://h:7/?secret-file=/f"), "tare://h:7/?secret-file=/f");
        assert_eq!(redacted("file#1"), "file#1");
    }
}

//! A target: a reader of foreign data, with inputs to begin with and with rules for its answers.

/// A reader of foreign data.
pub struct Target {
    pub name: &'static str,
    /// Good inputs, which are mutated.
    pub corpus: fn() -> Vec<Vec<u8>>,
    /// Words that mean something in these inputs.
    pub words: &'static [&'static str],
    /// Runs an input. Gives the way in which it was answered, in few enough different texts that a new one is worth
    /// keeping its input; or the rule that the answer broke.
    pub run: fn(&[u8]) -> Result<String, String>,
}

/// Removes the numbers of a message: the same answer about another line is not a new one.
pub(crate) fn without_numbers(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).take(60).collect()
}

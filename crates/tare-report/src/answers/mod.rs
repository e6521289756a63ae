//! Answers in words: the table of their names and colours, and the signs behind them.

#[cfg(test)]
mod lasting;
pub mod outcomes;
pub mod signs;
pub mod table;

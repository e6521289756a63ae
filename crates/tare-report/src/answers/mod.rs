//! Answers in words: the table of their names and colours, and the signs behind them.

pub mod signs;
pub mod table;

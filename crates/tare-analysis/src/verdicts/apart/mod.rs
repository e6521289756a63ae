//! Judgements beside the table: of a cost that was planted, and of commands that did not take turns.

pub mod commands;
pub mod planted;

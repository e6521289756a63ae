//! The tables of the terminal: answers, every metric in columns, a user's own commands, the bill of a command.

pub(super) mod answers;
pub mod bill;
pub(super) mod cells;
pub(super) mod columns;
pub(super) mod kinds;
pub(super) mod own_commands;
pub(crate) mod shown;

//! Here: the layers that a process runs in, its limits and what to change, for people and for programs.

mod command;
mod costs;
mod first;
mod json;
mod terminal;
mod words;

use tare_analysis::here::Where;
use tare_analysis::here::changes::Change;
use tare_analysis::here::command::Split;
use tare_analysis::here::costs::Cost;
use tare_analysis::here::costs::pair::Pair;
use tare_analysis::here::limits::Limits;
use tare_data::facts::Surroundings;
use tare_data::session::demand::RanTwice;

pub use self::json::{Earlier, SCHEMA, VERSION, parse_here_json, render_here_json};
pub use self::terminal::render_here_terminal;
pub use self::words::describe_limits;
pub(crate) use self::words::{describe_limit, describe_setting, join_layers, name_product};

/// Everything that is shown of a process's surroundings.
pub struct Here<'a> {
    pub surroundings: &'a Surroundings,
    pub found: &'a Where,
    pub limits: &'a Limits,
    pub costs: &'a [Cost],
    pub changes: &'a [Change],
    /// Comparison with another place, whose document was given.
    pub pair: Option<&'a Pair>,
    /// A command that was asked for, with its split time.
    pub command: Option<(&'a RanTwice, &'a Split)>,
}

#[cfg(test)]
mod tests;

//! `tare self`: completions, manual pages and licences.

mod completions;
mod licences;
mod man;

use crate::args::itself::{Itself, ItselfCommand};
use crate::command_error::CommandError;
use crate::exit::Exit;

pub fn run_itself(args: Itself) -> Result<Exit, CommandError> {
    match args.command {
        ItselfCommand::Completions(completions) => completions::run_completions(completions),
        ItselfCommand::Man(man) => man::run_man(man),
        ItselfCommand::Licences => licences::run_licences(),
    }
}

//! `tare environment`: prepares or removes the files that an environment needs once.

use std::path::Path;

use tare_lab::environments;
use tare_report::text::plain_line;

use crate::args::{Environment, EnvironmentAction};
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{paths, ui};

pub fn run_environment(args: Environment) -> Result<Exit, CommandError> {
    let programs = paths::find_programs()?;
    match args.action {
        EnvironmentAction::Prepare { environment } => {
            let named = environments::parse_environment(&environment)?;
            if let Some(preparation) = named.preparation() {
                (preparation.prepare)(&named.specification, &programs, &mut ui::print_note)?;
            }
            match named.check_ready(&programs) {
                Ok(_) => ui::print_output(format!("{environment} is ready\n"))?,
                Err(not_ready) => ui::print_output(format!(
                    "{environment} is not ready yet: {}\n",
                    plain_line(&not_ready.reason)
                ))?,
            }
        }
        EnvironmentAction::Remove { environment } => {
            let named = environments::parse_environment(&environment)?;
            if let Some(preparation) = named.preparation() {
                (preparation.remove)(&named.specification, &programs)?;
            }
            ui::print_output(format!("nothing is prepared for {environment} any more\n"))?;
        }
    }
    let kept = size_bytes(&programs.prepared);
    ui::print_output(format!("{} holds {:.1} MB\n", programs.prepared.display(), kept as f64 / 1e6))?;
    Ok(Exit::Done)
}

/// Adds up the sizes of all files below a folder. Unreadable ones count as 0.
fn size_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => size_bytes(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

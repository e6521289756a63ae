//! `tare fleet query`: queries the tables of a fleet with the installed DuckDB.

use std::path::Path;
use std::process::Command;

use tare_data::shell::join_words;
use tare_lab::error::{ErrorKind, LabError};
use tare_paths::door::{Door, Kind};

use super::gathered::{cell_store_path, gather_records};
use super::merging::trial_store_path;
use super::report::write_store;
use super::whole_path::open_typed;
use crate::args::fleet::FleetQuery;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

const PROGRAM: &str = "duckdb";

pub fn run_fleet_query(args: &FleetQuery) -> Result<Exit, CommandError> {
    let fleet = open_typed(&args.folder)?;
    if !is_fresh(&fleet) {
        write_store(&fleet, &gather_records(&fleet, &[])?.stored)?;
    }
    let folder = args.folder.canonicalize().map_err(LabError::storage_error("look at", &args.folder))?;
    let words = words(&folder, &args.question)?;
    if args.print {
        ui::print_output(join_words(&words) + "\n")?;
        return Ok(Exit::Done);
    }
    match Command::new(&words[0]).args(&words[1..]).status() {
        Ok(ended) if ended.success() => Ok(Exit::Done),
        Ok(_) => Ok(Exit::Usage),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            ui::print_output(join_words(&words) + "\n")?;
            Err(LabError::new(ErrorKind::Environment, "duckdb is not installed")
                .with_hint("run the line above where it is installed; duckdb.org offers a single binary")
                .into())
        }
        Err(error) => {
            Err(LabError::new(ErrorKind::Environment, "cannot start duckdb").with_cause(error).into())
        }
    }
}

/// Tells whether the table of cells is newer than the last record. It is the last file that a report writes.
fn is_fresh(fleet: &Door) -> bool {
    let changed = |path: &Path| fleet.look_at(path).map(|about| about.changed).ok();
    let Some(written) = changed(&cell_store_path().join("0000.parquet")) else { return false };
    if fleet.look_at(&trial_store_path()).is_err() {
        return false;
    }
    let inside = |name: &'static str| {
        let entries = fleet.list_entries(Path::new(name)).unwrap_or_default().into_iter();
        entries.filter(|(_, kind)| *kind == Kind::Folder).map(move |(entry, _)| Path::new(name).join(entry))
    };
    let mut folders = inside("cells").chain(inside("pairs"));
    folders.all(|folder| changed(&folder).is_some_and(|changed| changed <= written))
}

/// Builds the DuckDB command: the query, after views of only those tables that it mentions. A view of another
/// table would make DuckDB open every file.
fn words(folder: &Path, question: &str) -> Result<Vec<String>, LabError> {
    // Names of files come from nodes that are checked by their letters; the folder's own may hold anything.
    let Some(path) = folder.to_str() else {
        return Err(LabError::usage_error("the folder's name is not UTF-8")
            .with_hint("rename it: SQL only has UTF-8"));
    };
    // The names of folders are for others: the files have every column.
    let files = |pattern: &str| {
        let quoted = path.replace('\'', "''");
        format!("select * from read_parquet('{quoted}/store/{pattern}', hive_partitioning = false)")
    };
    let tables = [("cells", files("cells/*.parquet")), ("trials", files("trials/*/*.parquet"))];
    let asked = question.to_ascii_lowercase();
    let named = tables.iter().filter(|(name, _)| asked.contains(name));
    let views = named.map(|(name, select)| format!("create view {name} as {select}"));
    let said = views.chain([question.to_owned()]).flat_map(|sql| ["-c".to_owned(), sql]);
    Ok([PROGRAM.to_owned()].into_iter().chain(said).collect())
}

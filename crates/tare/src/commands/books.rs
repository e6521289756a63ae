//! Books of prices for `tare here`: makes one of this machine, joins several, and reads one.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use tare_analysis::here::book::{Book, LONGEST, Month, join_books, make_entry, parse_book};
use tare_data::encoding::encode_hex;
use tare_data::facts::Facts;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::host::programs::{Found, command};
use tare_record::input::read_text;

use crate::args;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{invocation, ui};

/// Files that tell this machine from others: systemd's number, or that of this boot.
const NUMBERS: [&str; 3] = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id"];
/// Text that is hashed with it, so that the hash is found in no other list.
const SALT: &str = "a machine in a price book of tare: ";
/// Bytes of the hash that are kept: enough to tell some thousands apart, too few to find a number by.
const HASH_BYTES: usize = 4;

/// Makes a book in a file that is not there yet: of this machine, or of others that are named.
pub fn make_book(file: &Path, args: &args::Here) -> Result<Exit, CommandError> {
    let book = match args.join.as_slice() {
        [] => Book::from_entries(vec![measure_entry(args.starts)?]),
        books => join_books(books.iter().map(|book| read_book(book)).collect::<Result<_, _>>()?),
    };
    let text = book.to_text();
    let written = OpenOptions::new().write(true).create_new(true).open(file);
    written.and_then(|mut written| written.write_all(text.as_bytes())).map_err(|e| {
        let what = format!("cannot write {}", file.display());
        LabError::new(ErrorKind::Storage, what).with_cause(e)
    })?;
    for entry in &book.entries {
        ui::print_output(format!(
            "{} under {}, Linux {}: {} prices of {} machines in {} sessions\n",
            entry.family,
            entry.under,
            entry.kernel,
            entry.cycles.len() + entry.ns.len(),
            entry.machines.len(),
            entry.sessions
        ))?;
    }
    Ok(Exit::Done)
}

/// Reads a book of at most as many bytes as one may have.
pub fn read_book(file: &Path) -> Result<Book, LabError> {
    let what = || format!("cannot use {} as a book of prices", file.display());
    let text =
        read_text(file, LONGEST as u64).map_err(|e| LabError::new(ErrorKind::Usage, what()).with_cause(e))?;
    parse_book(&text).map_err(|mistake| {
        LabError::new(ErrorKind::Usage, what())
            .with_cause(mistake)
            .with_hint("tare here --make-book FILE makes one")
    })
}

/// Finds the month of this machine's clock.
pub fn find_month() -> Month {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Month::from_unix_seconds(since.as_secs())
}

/// Measures this machine in fresh starts of this program.
fn measure_entry(starts: u32) -> Result<tare_analysis::here::book::Entry, LabError> {
    let program = Found::own(&invocation::find_binary()?);
    let facts: Vec<Facts> = (0..starts).map(|_| start_once(&program)).collect::<Result<_, _>>()?;
    let hash = hash_machine().into_iter().next().ok_or_else(|| {
        LabError::new(ErrorKind::Environment, "nothing tells this machine from others")
            .with_hint("systemd-machine-id-setup gives it a number")
    })?;
    make_entry(&facts, hash, find_month()).map_err(|refusal| {
        LabError::new(ErrorKind::Environment, "no prices are made here").with_cause(refusal.describe())
    })
}

fn start_once(program: &Found) -> Result<Facts, LabError> {
    let failed = || LabError::new(ErrorKind::Environment, "tare here gave no answer");
    let output = command(program).args(["here", "--json"]).output();
    let output = output.map_err(|e| failed().with_cause(e))?;
    let mut document: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| failed().with_cause(e))?;
    serde_json::from_value(document["facts"].take()).map_err(|e| failed().with_cause(e))
}

/// Computes the hashes of the numbers by which this machine can be told from others, those that last first.
pub fn hash_machine() -> Vec<String> {
    let read = |file: &&str| Some(std::fs::read_to_string(file).ok()?.trim().to_owned());
    let numbers = NUMBERS.iter().filter_map(read).filter(|number| !number.is_empty());
    let hash = |number| encode_hex(&Sha256::digest(format!("{SALT}{number}"))[..HASH_BYTES]);
    numbers.map(hash).collect()
}

//! Importers: other tools' outputs as figures, each format recognised by the file's contents.
//!
//! A file is untrusted: its size is bounded, nothing in it is believed but figures, and a mismatch is
//! refused with its position. An importer is one file, and two lines here.

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::imported::{Imported, Source};

use crate::entry::LONGEST_WRITTEN;
use crate::entry::{Entry, to_line};

mod crystaldiskmark;
mod dd;
mod fio;
mod hyperfine;
mod iperf3;
mod json;
mod netperf;
mod not_kept;
mod output;
mod phoronix;
mod prelude;
mod sockperf;
mod sysbench;
mod text;
mod unixbench;

pub use output::{Importer, MOST_FIGURES, ToolOutput};
pub use text::{LONGEST_SOURCE, Position, Refusal, Text};

/// Every importer, in the order in which they are tried: the most specific come first.
pub static IMPORTERS: &[&Importer] = &[
    &fio::IMPORTER,
    &iperf3::IMPORTER,
    &hyperfine::IMPORTER,
    &sysbench::IMPORTER,
    &unixbench::IMPORTER,
    &crystaldiskmark::IMPORTER,
    &sockperf::IMPORTER,
    &netperf::IMPORTER,
    &phoronix::IMPORTER,
    &dd::IMPORTER,
];

pub fn find_importer(text: &Text) -> Option<&'static Importer> {
    IMPORTERS.iter().copied().find(|importer| (importer.recognises)(text))
}

/// Reads a file. `name` is shown as its origin; `environment` is where the tool ran, as the user states it.
pub fn import_file(bytes: &[u8], name: &str, environment: Option<&str>) -> Result<Imported, Refusal> {
    if bytes.len() as u64 > LONGEST_SOURCE {
        let position = Position { line: 1, column: 1, byte: 0 };
        return Err(Refusal { position, cause: format!("the file is longer than {LONGEST_SOURCE} bytes") });
    }
    let text = Text::decode(bytes)?;
    let importer = match find_importer(&text) {
        Some(importer) => importer,
        None => return Err(unknown(&text)),
    };
    let reading = (importer.read)(&text)?;
    if reading.figures.is_empty() {
        return Err(
            text.refuse_end(format!("this looks like {}, but there is no figure in it", importer.name))
        );
    }
    let sha256 = encode_hex(&Sha256::digest(bytes));
    let imported = Imported {
        tool: reading.tool.to_owned(),
        version: reading.version,
        parameters: reading.parameters,
        environment: environment.map(text::fit_into_record),
        source: Source { name: text::fit_into_record(name), bytes: bytes.len() as u64, sha256 },
        figures: reading.figures,
        not_kept: Vec::new(),
    };
    let imported = Imported { not_kept: not_kept::list_not_kept(&text, &imported), ..imported };
    // Every line written must be readable: a longer one would be taken for damage.
    let entry = Entry::Imported(imported);
    if to_line(&entry).len() > LONGEST_WRITTEN {
        return Err(
            text.refuse_end(format!("the figures fill more than {LONGEST_WRITTEN} bytes of a record"))
        );
    }
    match entry {
        Entry::Imported(imported) => Ok(imported),
        _ => unreachable!("it was made above"),
    }
}

/// Refuses a text that no importer recognises: broken JSON is refused where it breaks.
fn unknown(text: &Text) -> Refusal {
    if let Some(Err(refusal)) = json::check_json(text) {
        return refusal;
    }
    let starts = |beginning: &str| text.lines().any(|line| line.starts_with(beginning));
    let is_terse = |line: &str| line.split(';').nth(1).is_some_and(|version| version.starts_with("fio-"));
    if starts("fio-") || text.lines().any(|line| line.contains(": (groupid=") || is_terse(line)) {
        let cause = "fio's text is not read; write JSON: fio --output-format=json";
        return Refusal { position: text.position_at(0), cause: cause.into() };
    }
    let known: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    let cause = format!("no known output begins here; known are those of {}", known.join(", "));
    Refusal { position: text.position_at(0), cause }
}

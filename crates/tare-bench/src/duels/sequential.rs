//! file.seq and dd: one file from beginning to end, in every block size, written and read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::names::{Case, parse_size};
use tare_data::request::Amount;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Placement, Site};
use crate::ratio::Requirement;
use crate::tool;

/// Every block size of the definition.
const BLOCKS: [&str; 8] = ["512", "4KiB", "32KiB", "64KiB", "256KiB", "1MiB", "2MiB", "16MiB"];
/// Bytes of the file: a multiple of every block. It fits the cache, where the cost of the loop is not hidden.
const SIZE: &str = "128MiB";
const QUICK_SIZE: &str = "32MiB";

/// Operation on the file.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Write,
    WriteSync,
    Read,
}

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let operations = [Operation::Write, Operation::WriteSync, Operation::Read];
    let duel = |operation, block| Box::new(Sequential { operation, block, ready: None }) as Box<dyn Duel>;
    operations.into_iter().flat_map(|operation| BLOCKS.map(|block| duel(operation, block))).collect()
}

struct Sequential {
    operation: Operation,
    block: &'static str,
    ready: Option<Ready>,
}

struct Ready {
    case: Case,
    /// dd's file, in the folder in which tare's files are.
    file: PathBuf,
    bytes: u64,
}

impl Sequential {
    fn dd(&self, ready: &Ready) -> Result<Command, String> {
        let block = parse_size(self.block).ok_or("a block size that is none")?;
        let mut command = Command::new(tool::find_program("dd")?);
        let path = ready.file.display();
        match self.operation {
            Operation::Read => command.arg(format!("if={path}")).arg("of=/dev/null"),
            _ => command.arg("if=/dev/zero").arg(format!("of={path}")),
        };
        command.arg(format!("bs={block}")).arg(format!("count={}", ready.bytes / block));
        if self.operation == Operation::WriteSync {
            command.arg("conv=fdatasync");
        }
        Ok(command)
    }
}

impl Duel for Sequential {
    fn name(&self) -> String {
        let operation = match self.operation {
            Operation::Write => "write",
            Operation::WriteSync => "write+fdatasync",
            Operation::Read => "read warm",
        };
        format!("file.seq {operation} {}", self.block)
    }

    fn describe_tool(&self) -> String {
        match self.operation {
            Operation::Write => "dd if=/dev/zero".into(),
            Operation::WriteSync => "dd if=/dev/zero conv=fdatasync".into(),
            Operation::Read => "dd of=/dev/null".into(),
        }
    }

    fn placement(&self) -> Placement {
        Placement::Pinned
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "rate", unit: "MB/s", required: Requirement::AtLeast(0.98) }]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("dd")?;
        let size = if site.setting.quick { QUICK_SIZE } else { SIZE };
        let (op, sync) = match self.operation {
            Operation::Write => ("write", "none"),
            Operation::WriteSync => ("write", "fdatasync"),
            Operation::Read => ("read", "none"),
        };
        let parameters = [
            ("bs", self.block),
            ("op", op),
            ("sync", sync),
            ("cache", "warm"),
            ("size", size),
            ("data", "zero"),
            ("loop", "dd"),
        ];
        let case = make_case("file.seq", &parameters)?;
        let bytes = parse_size(size).ok_or("a size that is none")?;
        self.ready = Some(Ready { case, file: site.agent.probe_folder().join("dd"), bytes });
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let ready = self.ready.as_ref().ok_or("not prepared")?;
        // Pages that the other side left dirty must not be written during this one's time.
        rustix::fs::sync();
        let ran = site.agent.run_trial(&ready.case, Amount::Operations { batch: 1, batches: 1 })?;
        Ok(vec![ran.metric_value("rate")? / 1e6])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let ready = self.ready.as_ref().ok_or("not prepared")?;
        if self.operation == Operation::Read {
            lay_out(&ready.file, ready.bytes, self.block).map_err(|e| format!("a file to read: {e}"))?;
        } else {
            rustix::fs::sync();
        }
        let ended = tool::run_program(&mut self.dd(ready)?, site.setting.patience());
        // A file that is there would be truncated on dd's time.
        fs::remove_file(&ready.file).map_err(|e| format!("removing a file: {e}"))?;
        let (bytes, seconds) = closing_line(&ended?.errors)?;
        if bytes != ready.bytes {
            return Err(format!("dd copied {bytes} bytes of {}", ready.bytes));
        }
        Ok(vec![bytes as f64 / seconds / 1e6])
    }
}

/// Makes a file as tare does before it reads one: written in the same pieces, in which the kernel caches it, written
/// out, and read once.
fn lay_out(path: &Path, bytes: u64, block: &str) -> io::Result<()> {
    let piece = parse_size(block).unwrap_or_default().max(1 << 20).min(bytes);
    let piece = vec![0; piece as usize];
    let mut file = File::create(path)?;
    for _ in 0..bytes / piece.len() as u64 {
        file.write_all(&piece)?;
    }
    file.sync_data()?;
    fs::read(path).map(drop)
}

/// Reads bytes and seconds of `33554432 bytes (34 MB, 32 MiB) copied, 0.0431625 s, 777 MB/s`.
fn closing_line(errors: &str) -> Result<(u64, f64), String> {
    let line = errors.lines().find(|line| line.contains(" copied, ")).ok_or("dd said nothing of a copy")?;
    let bytes = line.split(' ').next().and_then(|bytes| bytes.parse().ok()).ok_or("dd named no bytes")?;
    let seconds = tool::number_after(line, " copied, ")?;
    if seconds <= 0.0 { Err("dd took no time".into()) } else { Ok((bytes, seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_is_read_in_all_its_forms() {
        let whole = "3000+0 records in\n12288000 bytes (12 MB, 12 MiB) copied, 0.0431625 s, 285 MB/s\n";
        assert_eq!(closing_line(whole), Ok((12_288_000, 0.0431625)));
        assert_eq!(closing_line("100 bytes copied, 1.2e-05 s, 8 MB/s"), Ok((100, 1.2e-5)));
        assert!(closing_line("dd: failed to open").is_err());
        assert!(closing_line("0 bytes copied, 0 s, 0 B/s").is_err());
    }
}

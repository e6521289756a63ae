//! The other side: foreign programs, run to their end with a deadline, and the numbers in what they print.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tare_lab::host::programs::{self, Ended};

/// The path of a program, or that it is not installed.
pub fn find(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(system).collect();
    let programs = programs::Programs { folders, ..Default::default() };
    programs.find(name).ok_or_else(|| format!("{name} is not installed"))
}

/// Runs a program and gives what it printed; an error when it failed, with its last words.
pub fn run(command: &mut Command, patience: Duration) -> Result<Ended, String> {
    let name = Path::new(command.get_program()).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    // Numbers with points, messages that can be read by program.
    command.env("LC_ALL", "C");
    let ended = programs::run(command, patience).map_err(|e| format!("{name}: {e}"))?;
    if ended.status.success() {
        return Ok(ended);
    }
    let last = [&ended.errors, &ended.output].into_iter().flat_map(|text| text.lines().rev());
    let last = last.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Err(format!("{name} ended with {}: {last}", ended.status))
}

/// The first number after a label.
pub fn number_after(text: &str, label: &str) -> Result<f64, String> {
    let rest = text.split_once(label).map(|(_, rest)| rest.trim_start());
    let digits = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let number: Option<f64> = rest.and_then(digits);
    number.filter(|number| number.is_finite()).ok_or_else(|| format!("no number after '{label}'"))
}

/// A program's version: the first line that it prints when asked.
pub fn version(name: &str, question: &[&str]) -> Option<String> {
    programs::version(&find(name).ok()?, question).ok().filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_after_their_labels() {
        let text = "CPU speed:\n    events per second:  1512.34\nMEAN_LATENCY=25.80\nx 1.5e3s";
        assert_eq!(number_after(text, "events per second:"), Ok(1512.34));
        assert_eq!(number_after(text, "MEAN_LATENCY="), Ok(25.8));
        assert_eq!(number_after(text, "x "), Ok(1500.0));
        assert!(number_after(text, "CPU speed:").is_err());
        assert!(number_after(text, "nothing").is_err());
    }
}

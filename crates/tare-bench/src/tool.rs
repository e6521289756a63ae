//! The other side: foreign programs, run to their end with a deadline, and the numbers in their output.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// Longest that a program may take to print its version.
const VERSION: Duration = Duration::from_secs(5);

/// Output of a program that ran to its end.
pub struct Ended {
    pub output: String,
    pub errors: String,
}

/// Finds a program, or explains that it is not installed.
pub fn find_program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(system);
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let found = folders.map(|folder| folder.join(name)).find(is_program);
    found.ok_or_else(|| format!("{name} is not installed"))
}

/// Runs a program and returns its output; an error when it failed, with its last words.
pub fn run_program(command: &mut Command, patience: Duration) -> Result<Ended, String> {
    let name = Path::new(command.get_program()).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    // Numbers with points, messages that can be read by program.
    command.env("LC_ALL", "C");
    let Output { status, stdout, stderr } = output(command, patience).map_err(|e| format!("{name}: {e}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (output, errors) = (text(stdout), text(stderr));
    if status.success() {
        return Ok(Ended { output, errors });
    }
    let last = [&errors, &output].into_iter().flat_map(|text| text.lines().rev());
    let last = last.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Err(format!("{name} ended with {status}: {last}"))
}

/// Runs a program to its end with nothing on its standard input; kills it, and its children, when the time is up.
fn output(command: &mut Command, patience: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn()?;
    let group = Pid::from_child(&child);
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(patience) {
        Ok(output) => output,
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("its end was not seen")),
        Err(RecvTimeoutError::Timeout) => {
            let _ = kill_process_group(group, Signal::KILL);
            // Reaped before it is reported, so that nothing of it runs during the next run.
            let _ = ended.recv();
            let what = format!("gave no answer in {} s", patience.as_secs_f64());
            Err(io::Error::new(io::ErrorKind::TimedOut, what))
        }
    }
}

/// Parses the JSON that a program printed; warnings may precede it.
pub fn parse_json(name: &str, output: &str) -> Result<Value, String> {
    let json = output.find('{').map_or("", |at| &output[at..]);
    serde_json::from_str(json).map_err(|e| format!("{name}'s JSON: {e}"))
}

/// Finds the first number after a label.
pub fn number_after(text: &str, label: &str) -> Result<f64, String> {
    let rest = text.split_once(label).map(|(_, rest)| rest.trim_start());
    let digits = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    let number: Option<f64> = rest.and_then(digits);
    number.filter(|number| number.is_finite()).ok_or_else(|| format!("no number after '{label}'"))
}

/// Asks a program for its version: the first line that it prints.
pub fn read_version(name: &str, question: &[&str]) -> Option<String> {
    let ended = output(Command::new(find_program(name).ok()?).args(question), VERSION).ok()?;
    let printed = [ended.stdout, ended.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_to_its_end_or_to_its_deadline() {
        let shell =
            |script: &str, patience| run_program(Command::new("/bin/sh").args(["-c", script]), patience);
        let ended = shell("echo out; echo err >&2", VERSION).unwrap();
        assert_eq!((ended.output.as_str(), ended.errors.as_str()), ("out\n", "err\n"));
        assert!(shell("echo reason >&2; exit 3", VERSION).is_err_and(|reason| reason.ends_with(": reason")));
        let late = shell("sleep 1000", Duration::from_millis(50));
        assert!(late.is_err_and(|reason| reason.contains("no answer")));
    }

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

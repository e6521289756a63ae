//! The probes of UnixBench's index and UnixBench's own programs, where somebody has built them.
//!
//! UnixBench is under the GPL: nothing here fetches or builds it. Its programs print `COUNT|value|base|unit` and
//! `TIME|seconds`; a base of 1 is a count a second, of 60 a minute, of 0 a figure as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::names::Case;
use tare_data::request::Amount;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Site};
use crate::ratio::Requirement;
use crate::tool;

/// A program of UnixBench's and the probe that measures the same.
struct Test {
    name: &'static str,
    probe: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    metric: &'static str,
    /// Divisor that converts the metric to UnixBench's unit.
    divisor: f64,
    unit: &'static str,
    program: &'static str,
    /// `%t` is replaced by the seconds, `%d` for a folder.
    arguments: &'static [&'static str],
    within: f64,
}

const fn plain(
    name: &'static str,
    probe: &'static str,
    metric: &'static str,
    program: &'static str,
    within: f64,
) -> Test {
    Test {
        name,
        probe,
        parameters: &[],
        metric,
        divisor: 1.0,
        unit: "lps",
        program,
        arguments: &["%t"],
        within,
    }
}

const fn copy(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
) -> Test {
    let plain = plain(name, "file.copy", "rate", "fstime", 0.05);
    Test { parameters, divisor: 1024.0, unit: "KBps", arguments, ..plain }
}

static TESTS: [Test; 9] = [
    plain("cpu.dhrystone", "cpu.dhrystone", "rate", "dhry2reg", 0.25),
    Test {
        unit: "MWIPS",
        arguments: &[],
        ..plain("cpu.whetstone", "cpu.whetstone", "mwips", "whetstone-double", 0.25)
    },
    plain("sys.mix", "sys.mix", "turns", "syscall", 0.05),
    plain("ipc.pipe", "ipc.pipe", "rate", "pipe", 0.05),
    Test { parameters: &[("pin", "none")], ..plain("ipc.context", "ipc.context", "rate", "context1", 0.05) },
    plain("proc.spawn", "proc.spawn", "rate", "spawn", 0.05),
    copy(
        "file.copy 1KiB",
        &[("bs", "1KiB"), ("size", "2000KiB")],
        &["-c", "-t", "%t", "-d", "%d", "-b", "1024", "-m", "2000"],
    ),
    copy(
        "file.copy 256",
        &[("bs", "256"), ("size", "500KiB")],
        &["-c", "-t", "%t", "-d", "%d", "-b", "256", "-m", "500"],
    ),
    copy(
        "file.copy 4KiB",
        &[("bs", "4KiB"), ("size", "8000KiB")],
        &["-c", "-t", "%t", "-d", "%d", "-b", "4096", "-m", "8000"],
    ),
];

pub fn list_duels(folder: Option<&Path>) -> Vec<Box<dyn Duel>> {
    let duel = |test| Box::new(UnixBench { test, folder: folder.map(Path::to_owned), ready: None });
    TESTS.iter().map(|test| duel(test) as Box<dyn Duel>).collect()
}

struct UnixBench {
    test: &'static Test,
    folder: Option<PathBuf>,
    ready: Option<(Case, Amount, PathBuf)>,
}

impl UnixBench {
    /// Finds the program in pgms/ below the folder, or in the folder itself.
    fn program(&self) -> Result<PathBuf, String> {
        let folder =
            self.folder.as_ref().ok_or("no UnixBench: --unixbench FOLDER or $UNIXBENCH names one")?;
        let candidates = [folder.join("pgms").join(self.test.program), folder.join(self.test.program)];
        let found = candidates.into_iter().find(|path| path.is_file());
        let found =
            found.ok_or_else(|| format!("no program {} in {}", self.test.program, folder.display()))?;
        found.canonicalize().map_err(|e| format!("{}: {e}", found.display()))
    }
}

impl Duel for UnixBench {
    fn name(&self) -> String {
        self.test.name.into()
    }

    fn describe_tool(&self) -> String {
        let arguments = self.test.arguments.join(" ").replace("%t", "SECONDS").replace("%d", "FOLDER");
        format!("UnixBench {} {arguments}", self.test.program).trim_end().to_owned()
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "rate", unit: self.test.unit, required: Requirement::Within(self.test.within) }]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        self.program()?;
        let case = make_case(self.test.probe, self.test.parameters)?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let folder = site.agent.probe_folder().join("unixbench");
        fs::create_dir(&folder).map_err(|e| format!("a folder for UnixBench: {e}"))?;
        self.ready = Some((case, amount, folder));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, amount, _) = self.ready.as_ref().ok_or("not prepared")?;
        Ok(vec![site.agent.run_trial(case, *amount)?.metric_value(self.test.metric)? / self.test.divisor])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (_, _, folder) = self.ready.as_ref().ok_or("not prepared")?;
        let seconds = site.setting.seconds();
        let mut command = Command::new(self.program()?);
        command.current_dir(folder);
        for argument in self.test.arguments {
            match *argument {
                "%t" => command.arg(seconds.to_string()),
                "%d" => command.arg(folder),
                other => command.arg(other),
            };
        }
        let ended = tool::run_program(&mut command, site.setting.patience())?;
        Ok(vec![result(&format!("{}\n{}", ended.output, ended.errors), seconds.into())?])
    }
}

/// Reads the last figure that a program printed, a second, a minute or as it is; over `requested_s` where it
/// printed no time.
fn result(printed: &str, requested_s: f64) -> Result<f64, String> {
    let fields = |label: &str| {
        let line = printed.lines().rev().find_map(|line| line.trim().strip_prefix(label))?;
        Some(line.split('|').map(str::trim).collect::<Vec<_>>())
    };
    let number = |text: Option<&&str>| text.and_then(|text| text.parse::<f64>().ok());
    let count = fields("COUNT|").ok_or("it printed no COUNT")?;
    let (value, base) = (number(count.first()), number(count.get(1)));
    let (value, base) = (value.ok_or("its COUNT is not a number")?, base.ok_or("its COUNT has no base")?);
    if base == 0.0 {
        return Ok(value);
    }
    let elapsed_s = fields("TIME|").and_then(|time| number(time.first())).unwrap_or(requested_s);
    if elapsed_s > 0.0 { Ok(value * base / elapsed_s) } else { Err("it took no time".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_rates() {
        assert_eq!(result("COUNT|1000|1|lps\nTIME|2.0\n", 5.0), Ok(500.0));
        assert_eq!(result("COUNT|1000|1|lps\n", 5.0), Ok(200.0));
        assert_eq!(result("COUNT|100|60|lpm\nTIME|30\n", 5.0), Ok(200.0));
        assert_eq!(result("Write done\nCOUNT|1|0|KBps\nCOUNT|812345|0|KBps\nTIME|2.0\n", 5.0), Ok(812_345.0));
        assert!(result("Dhrystone time: \n", 5.0).is_err());
        assert!(result("COUNT|x|1|lps", 5.0).is_err());
    }
}

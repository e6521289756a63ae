//! Loop of `proc.shell`: see its description.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{Access, AtFlags, CWD};
use tare_data::generator::Generator;
use tare_paths::door::Door;

use crate::carried::applets;
use crate::probe::prelude::*;
use crate::variables::inherited_variables;

pub(super) fn measure_proc_shell(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parallel = trial.parameters().get_integer_within("parallel", 1..=MOST_PARALLEL)?;
    let folder = trial.folder()?;
    let directory = folder.path();
    files::check_room(folder, parallel * ROOM_A_SCRIPT)?;
    let text = text();
    write(folder, applets::DATA, &text)?;
    let program =
        std::path::absolute(trial.program()).map_err(|e| broken_failure("this program's path", e))?;
    let is_host = trial.parameters().one_of("variant", &[("host", true), ("carried", false)])?;
    let variant = if is_host { Variant::host(folder)? } else { Variant::Carried { program: &program } };
    check_once(&variant, folder, &text)?;
    trial.repeat(|operations, report| {
        let mut stopwatch = Stopwatch::default();
        let mut well = 0;
        stopwatch.start();
        for _ in 0..operations {
            let status = variant.run_all(directory, parallel)?;
            well += u64::from(status.success());
        }
        stopwatch.stop();
        prove_count("runs that ended well", well, operations)?;
        report.add_throughput("run", operations, &stopwatch);
        Ok(())
    })
}

/// Scripts side by side beyond this are a slip of the pen.
const MOST_PARALLEL: u64 = 1_024;
/// Bytes of the line in which wc counts.
const LONGEST_COUNT: u64 = 4096;
/// Files of one script, with their blocks.
const ROOM_A_SCRIPT: u64 = 128 << 10;
/// Programs that the script calls.
const PROGRAMS: [&str; 7] = ["sh", "sort", "od", "grep", "tee", "wc", "rm"];
/// Folders in which they are searched for.
const FOLDERS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"];
/// Script line that removes its files, as the carried script does; `$1` numbers them.
const SCRIPT: &str = "sort >sort.$1 <sort.src\n\
                      od sort.$1 | sort -n >od.$1\n\
                      grep the sort.$1 | tee grep.$1 | wc >wc.$1\n";
const REMOVE: &str = "rm sort.$1 grep.$1 od.$1 wc.$1\n";
/// Starts `$1` scripts side by side and waits; ends badly when one of them did.
const SCRIPTS: &str = "i=1; pids=\n\
                       while [ $i -le $1 ]; do sh script.sh $i & pids=\"$pids $!\"; i=$((i+1)); done\n\
                       for pid in $pids; do wait $pid || exit 1; done\n";

enum Variant<'a> {
    Host { shell: String },
    Carried { program: &'a Path },
}

impl Variant<'_> {
    /// Finds the environment's own programs, all of which must be there, and writes the scripts.
    fn host(folder: &Door) -> Result<Self, Failure> {
        let find = |name: &&str| {
            let paths = FOLDERS.iter().map(|folder| format!("{folder}/{name}"));
            paths
                .into_iter()
                .find(|p| rustix::fs::accessat(CWD, p, Access::EXEC_OK, AtFlags::empty()).is_ok())
        };
        let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| find(name).is_none()).collect();
        if !missing.is_empty() {
            let reason = format!("no {} in the environment", missing.join(", "));
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        write(folder, "keep.sh", SCRIPT.as_bytes())?;
        write(folder, "script.sh", [SCRIPT, REMOVE].concat().as_bytes())?;
        write(folder, "scripts.sh", SCRIPTS.as_bytes())?;
        Ok(Variant::Host { shell: find(&"sh").unwrap_or_default() })
    }

    fn command(&self, host: [&str; 2], carried: &[&str]) -> Command {
        match self {
            Variant::Host { shell } => {
                let mut command = crate::starting::command(shell);
                command.args(host);
                command
            }
            Variant::Carried { program } => {
                let mut command = crate::starting::command(program);
                command.arg(applets::APPLET).args(carried);
                command
            }
        }
    }

    fn run_all(&self, directory: &Path, parallel: u64) -> Result<ExitStatus, Failure> {
        let count = parallel.to_string();
        run_script(self.command(["scripts.sh", &count], &["scripts", &count]), directory)
    }
}

fn run_script(mut command: Command, directory: &Path) -> Result<ExitStatus, Failure> {
    command
        .current_dir(directory)
        // Every environment gets an equal one: its own locale would make sort several times slower.
        .env_clear()
        .envs(inherited_variables())
        .env("PATH", FOLDERS.join(":"))
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .status()
        .map_err(|e| broken_failure("starting the scripts", e))
}

/// Runs one script that leaves its files, and checks what it counted.
fn check_once(variant: &Variant<'_>, folder: &Door, text: &[u8]) -> Result<(), Failure> {
    let status = run_script(variant.command(["keep.sh", "0"], &["script", "0", "keep"]), folder.path())?;
    if !status.success() {
        return Err(broken_failure("the script", status));
    }
    let counted = folder.read_bytes(Path::new(&applets::list_script_files("0")[3]), LONGEST_COUNT);
    let counted = counted.map_err(|e| broken_failure("reading what the script counted", e))?;
    let counted = String::from_utf8_lossy(&counted);
    let found = counted.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
    let expected = text.split(|&b| b == b'\n').filter(|line| applets::has_word(line)).count();
    prove_count("lines that the script found", found.unwrap_or(0), expected as u64)
}

fn write(folder: &Door, name: &str, content: &[u8]) -> Result<(), Failure> {
    let file = files::create_file(folder, name, OFlags::empty())?;
    File::from(file).write_all(content).map_err(|e| broken_failure(&format!("writing {name}"), e))
}

const LINES: usize = 362;
const BYTES: usize = 8_546;

/// Builds the text: words in a fixed order, so that every version of every program sorts the same.
fn text() -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "scale", "weighs", "the", "layer", "under", "a", "program", "with", "grain", "and", "beam", "pan",
        "tare", "gross", "other", "net",
    ];
    let mut generator = Generator::for_part(1, "proc.shell");
    let mut text = Vec::with_capacity(BYTES);
    for line in 0..LINES {
        // Lines of nearly equal length that fill the text to the byte.
        let end = (line + 1) * BYTES / LINES - 1;
        while text.len() < end {
            let word = WORDS[generator.draw_below(WORDS.len() as u64) as usize].as_bytes();
            let room = end - text.len();
            text.extend_from_slice(&word[..word.len().min(room)]);
            if text.len() < end {
                text.push(b' ');
            }
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::proc_shell::PROBE;

    #[test]
    fn the_text_has_the_size_of_the_definition() {
        let text = text();
        assert_eq!((text.len(), text.iter().filter(|&&b| b == b'\n').count()), (BYTES, LINES));
        assert!(text.split(|&b| b == b'\n').any(applets::has_word));
    }

    #[test]
    fn the_hosts_own_programs_do_the_same_work() {
        let mut request = make_trial_request(&PROBE, &[("variant", "host"), ("parallel", "2")]);
        request.amount = tare_data::request::Amount::Operations { batch: 2, batches: 1 };
        match run_trial(&request) {
            Ok(batches) => assert_eq!(batches.len(), 2),
            Err(missing) => assert_eq!(missing.kind, FailureKind::NotSupported, "{missing}"),
        }
    }
}

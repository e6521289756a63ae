//! Running the program under test in a separate folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::refusals::find_tare;

/// The program, with a folder that holds its state, its scratch and its records.
pub struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    pub fn new() -> Program {
        // Beside the program under test: on a disk, while /tmp may be in memory.
        let parent = Path::new(env!("CARGO_BIN_EXE_tare")).parent().unwrap();
        Program { folder: tempfile::Builder::new().prefix("commands-").tempdir_in(parent).unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn tare_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(find_tare());
        command.args(arguments.first()).current_dir(self.folder.path());
        command.env("XDG_STATE_HOME", self.path("state")).env("NO_COLOR", "1").stdin(Stdio::null());
        // The locale of the tests' caller may lack the signs of tables.
        command.env("LC_ALL", "C.UTF-8");
        // Before what follows --, which is a command of its own.
        if matches!(arguments, ["run", ..] | ["ladder", ..]) {
            command.arg("--scratch").arg(self.folder.path());
        }
        command.args(arguments.iter().skip(1));
        command
    }

    pub fn run_tare(&self, arguments: &[&str]) -> Said {
        Said::from_output(self.tare_command(arguments).output().unwrap())
    }

    /// Cleans, and asserts that nothing of this folder was left. A loop device whose image is gone is another test's, whose session has
    /// just been killed.
    pub fn clean_nothing(&self) {
        let said = self.run_tare(&["clean"]);
        let is_right = |line: &str| line == "nothing was left behind" || line.contains(" loop device /dev/");
        assert!(!said.out.is_empty() && said.out.lines().all(is_right), "{said:?}");
    }

    /// Lists the leftovers in the folder, apart from records, empty state folders and the note on started
    /// sessions.
    pub fn list_remains(&self) -> Vec<PathBuf> {
        let files =
            |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().map(|e| e.unwrap().path());
        let kept = |path: &PathBuf| {
            path.ends_with("state")
                || path.ends_with("begun")
                || path.ends_with("records")
                || path.extension().is_some_and(|e| e == "tare" || e == "html")
        };
        let all = files(self.folder.path().to_owned()).chain(files(self.path("state/tare")));
        all.filter(|path| !kept(path)).collect()
    }

    /// Lists the processes that run a copy of the program from this folder, or use the folder as their root.
    pub fn list_processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|e| e.path());
        entries
            .filter(|path| {
                let link = |name: &str| std::fs::read_link(path.join(name)).unwrap_or_default();
                let command = std::fs::read(path.join("cmdline")).unwrap_or_default();
                let named = String::from_utf8_lossy(&command).contains(folder);
                named || ["exe", "root"].iter().any(|name| link(name).starts_with(folder))
            })
            .map(|path| path.display().to_string())
            .collect()
    }

    /// Lists the loop devices on files of this folder, including removed ones.
    pub fn loop_devices(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        let devices = std::fs::read_dir("/sys/block").unwrap().filter_map(Result::ok);
        let files = devices.filter_map(|d| std::fs::read_to_string(d.path().join("loop/backing_file")).ok());
        files.filter(|file| file.starts_with(folder)).collect()
    }

    /// Mounts below this folder.
    pub fn list_mounts(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
        table.lines().filter(|line| line.contains(folder)).map(str::to_owned).collect()
    }
}

/// Output and exit code of the program.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn from_output(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    pub fn parse_json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

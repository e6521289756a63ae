//! The user's commands: how a study describes them, the case they become, and the files they carry along.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::names::Parameters;
use tare_data::request::{LONGEST_CARRIED_NAME, MOST_CARRIED};
use tare_probes::descriptions::{LONGEST_TIMEOUT_S, USER, is_name};

use crate::duration;
use crate::error::LabError;
use crate::platform;

const MOST_FILES: usize = 1000;
/// Deepest folder that is carried along.
const DEEPEST: usize = 16;
/// Limit on the bytes of a case's parameters: with them a request still fits its line.
const LONGEST_PARAMETERS: usize = 1400;
/// Hex digits of the hash of what is carried along: enough to tell versions of files apart.
const HASH_DIGITS: usize = 16;

/// Time-out that follows from the baseline's runs.
pub const BY_BASELINE: &str = "by baseline";

/// `[probe.NAME]`: a command that is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserCommand {
    /// The program and its arguments; `@tare` as the program is tare itself.
    pub command: Vec<String>,
    /// Title in a report, in place of its name.
    #[serde(default)]
    pub title: String,
    /// An existing folder in which it runs, in place of a fresh one.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Run once in each start of an environment, not timed.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Runs at the beginning of each trial that are not timed, except that the first is shown as such.
    #[serde(default = "default_warmup")]
    pub warmup: u32,
    /// True when its output is discarded unread.
    #[serde(default)]
    pub discard_output: bool,
    /// True when any exit code will do.
    #[serde(default)]
    pub ignore_failure: bool,
    /// Run before each run, in the same folder, not timed.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Run after each run, not timed.
    #[serde(default)]
    pub clean: Vec<String>,
    /// Files and folders that each run finds in its folder, relative to the study's file.
    #[serde(default)]
    pub carry: Vec<String>,
    /// Variables of its environment, which has no others but PATH, HOME and LANG.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    #[serde(default = "default_timeout")]
    pub timeout: String,
    /// The exit code of a run that did its work.
    #[serde(default)]
    pub expect_exit: i32,
    /// `own` unless given.
    #[serde(default)]
    pub places: Vec<String>,
    /// Margin, where it differs from the study's.
    pub margin: Option<f64>,
}

/// A file on its way into every environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedFile {
    /// Name of the command that needs it.
    pub command: String,
    /// Path below the folder that the command runs in.
    pub name: String,
    pub executable: bool,
    pub bytes: Vec<u8>,
}

fn default_timeout() -> String {
    "60s".into()
}

fn default_warmup() -> u32 {
    1
}

impl Default for UserCommand {
    fn default() -> Self {
        UserCommand {
            command: Vec::new(),
            title: String::new(),
            folder: None,
            setup: Vec::new(),
            warmup: default_warmup(),
            discard_output: false,
            ignore_failure: false,
            prepare: Vec::new(),
            clean: Vec::new(),
            carry: Vec::new(),
            environment: BTreeMap::new(),
            timeout: default_timeout(),
            expect_exit: 0,
            places: Vec::new(),
            margin: None,
        }
    }
}

pub(crate) fn case_name(name: &str) -> String {
    format!("{USER}{name}")
}

impl UserCommand {
    /// Builds the parameters of the case, and the files that its runs need. `folder` is that of the study's
    /// file.
    pub fn make_case(&self, name: &str, folder: &Path) -> Result<(Parameters, Vec<CarriedFile>), LabError> {
        let wrong = |why: String| LabError::usage_error(format!("cannot use [probe.{name}]")).with_cause(why);
        if !is_name(name) {
            return Err(wrong(
                "its name has other characters than a-z, 0-9, - and _, or more than 22".into(),
            ));
        }
        if self.command.is_empty() || self.command[0].is_empty() {
            return Err(wrong("its command has no words".into()).with_hint("command = [\"make\", \"-j4\"]"));
        }
        let timeout_s = match self.timeout.as_str() {
            BY_BASELINE => Some(0.0),
            given => duration::parse_positive_duration(given).map(|timeout| timeout.as_secs_f64()),
        };
        let is_by_baseline = self.timeout == BY_BASELINE;
        let timeout_s = timeout_s
            .filter(|s| is_by_baseline || (1.0..=LONGEST_TIMEOUT_S as f64).contains(s))
            .ok_or_else(|| {
                wrong(format!("its timeout '{}' is not a time from 1s to {LONGEST_TIMEOUT_S}s", self.timeout))
            })?;
        let files = self.files(name, folder)?;
        let inside = self.folder.as_deref().unwrap_or(Path::new(""));
        let inside = inside.to_str().filter(|path| path.is_empty() || path.starts_with('/'));
        let inside = inside.ok_or_else(|| wrong("its folder is not an absolute path in UTF-8".into()))?;
        if !inside.is_empty() && !files.is_empty() {
            return Err(wrong("files are carried into a fresh folder, and it names one".into()));
        }
        let json = |words: &[String]| serde_json::to_string(words).expect("texts always serialise");
        let variables = serde_json::to_string(&self.environment).expect("texts always serialise");
        let parameters = BTreeMap::from([
            ("name", name.to_owned()),
            ("command", json(&self.command)),
            ("title", self.title.clone()),
            ("folder", inside.to_owned()),
            ("setup", json(&self.setup)),
            ("warmup", self.warmup.to_string()),
            ("output", if self.discard_output { "null" } else { "pipe" }.to_owned()),
            ("prepare", json(&self.prepare)),
            ("clean", json(&self.clean)),
            ("environment", variables),
            ("carry", format!("{}:{}", files.len(), hash(&files))),
            ("copies", String::new()),
            ("neighbour", "none".to_owned()),
            ("timeout_s", timeout_s.ceil().to_string()),
            (
                "expect_exit",
                if self.ignore_failure { "any".to_owned() } else { self.expect_exit.to_string() },
            ),
        ]);
        let count = |value: &String| value.escape_debug().count();
        let length: usize = parameters.values().map(count).sum();
        if length > LONGEST_PARAMETERS {
            let of_path = self.environment.get("PATH").map_or(0, count);
            let wrong = wrong(format!("its words take {length} bytes, and may take {LONGEST_PARAMETERS}"));
            return Err(match of_path > LONGEST_PARAMETERS / 2 {
                true => wrong.with_hint(format!("PATH takes {of_path} of them: a shorter one makes room")),
                false => wrong.with_hint("put them into a script, and carry the script"),
            });
        }
        let parameters = parameters.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Ok((Parameters(parameters), files))
    }

    fn files(&self, command: &str, folder: &Path) -> Result<Vec<CarriedFile>, LabError> {
        let mut files = Vec::new();
        for name in &self.carry {
            let path = Path::new(name);
            let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            let cannot = || LabError::usage_error(format!("cannot carry '{name}' along"));
            if name.is_empty() || !plain {
                return Err(cannot()
                    .with_cause("it is not a path below the study's folder")
                    .with_hint("put it next to the study's file"));
            }
            read(command, folder, name, 0, &mut files)
                .map_err(|e| cannot().with_cause(e).with_hint("paths are relative to the study's file"))?;
        }
        let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
        if files.len() > MOST_FILES || bytes > MOST_CARRIED {
            let what = format!("[probe.{command}] carries {} files with {bytes} bytes", files.len());
            return Err(LabError::usage_error(what)
                .with_cause(format!("a session carries at most {MOST_FILES} files with {MOST_CARRIED} bytes"))
                .with_hint("share a folder instead: places = [\"/its/path\"]"));
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files.dedup_by(|a, b| a.name == b.name);
        Ok(files)
    }
}

/// Reads a file, or all files of a folder; stops before it has read far more than may be carried.
fn read(
    command: &str,
    folder: &Path,
    name: &str,
    depth: usize,
    files: &mut Vec<CarriedFile>,
) -> std::io::Result<()> {
    let path = folder.join(name);
    if !path.canonicalize()?.starts_with(folder.join(".").canonicalize()?) {
        return Err(std::io::Error::other(format!("{name} is a link that leads out of the study's folder")));
    }
    let about = path.metadata()?;
    if about.is_dir() {
        if depth > DEEPEST {
            return Err(std::io::Error::other("its folders are too deep"));
        }
        for entry in path.read_dir()? {
            let entry = entry?.file_name();
            let entry = entry.to_str().ok_or_else(|| std::io::Error::other("a name is not UTF-8"))?;
            if files.len() <= MOST_FILES {
                read(command, folder, &format!("{name}/{entry}"), depth + 1, files)?;
            }
        }
        return Ok(());
    }
    if name.len() > LONGEST_CARRIED_NAME {
        return Err(std::io::Error::other(format!("{name} has more than {LONGEST_CARRIED_NAME} characters")));
    }
    if !about.is_file() || about.len() > MOST_CARRIED {
        return Err(std::io::Error::other(format!("{name} is not a file of at most {MOST_CARRIED} bytes")));
    }
    let executable = platform::is_executable(&about);
    files.push(CarriedFile {
        command: command.into(),
        name: name.into(),
        executable,
        bytes: tare_record::input::read_bytes(&path, MOST_CARRIED)?,
    });
    Ok(())
}

/// Hashes names, modes and contents: with other files a case is another case.
fn hash(files: &[CarriedFile]) -> String {
    let mut digest = Sha256::new();
    for file in files {
        digest.update(format!("{}\0{}\0{}\0", file.name, file.executable, file.bytes.len()));
        digest.update(&file.bytes);
    }
    if files.is_empty() { String::new() } else { encode_hex(&digest.finalize())[..HASH_DIGITS].to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> UserCommand {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_command_becomes_a_case_whose_files_are_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/a.c"), "int a;").unwrap();
        std::fs::write(folder.path().join("build.sh"), "#!/bin/sh\n").unwrap();
        let build = command("command = ['./build.sh']\ncarry = ['build.sh', 'src']\ntimeout = '2m'");
        let (parameters, files) = build.make_case("build", folder.path()).unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["build.sh", "src/a.c"]);
        assert_eq!(parameters.get_text("timeout_s").unwrap(), "120");
        assert_eq!(parameters.get_text("command").unwrap(), "[\"./build.sh\"]");
        let before = parameters.get_text("carry").unwrap().to_owned();
        assert!(before.starts_with("2:"), "{before}");
        std::fs::write(folder.path().join("src/a.c"), "int b;").unwrap();
        let (after, _) = build.make_case("build", folder.path()).unwrap();
        assert_ne!(before, after.get_text("carry").unwrap(), "another source is another case");
    }

    #[test]
    fn a_link_out_of_the_studys_folder_is_not_followed() {
        let (parent, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("shadow"), "root:x").unwrap();
        let folder = parent.path();
        std::fs::create_dir(folder.join("src")).unwrap();
        std::fs::write(folder.join("b"), "b").unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        link(&outside.path().join("shadow"), "a");
        link(outside.path(), "src/out");
        link(&folder.join("b"), "inside");
        for name in ["a", "src"] {
            let text = format!("command = ['x']\ncarry = ['{name}']");
            let error = command(&text).make_case("b", folder).unwrap_err();
            assert!(error.to_string().contains("leads out of the study's folder"), "{error}");
        }
        let (_, files) = command("command = ['x']\ncarry = ['inside']").make_case("b", folder).unwrap();
        assert_eq!(files[0].bytes, b"b");
    }

    #[test]
    fn what_cannot_be_carried_or_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, why) in [
            ("b", "command = []", "no words"),
            ("B", "command = ['x']", "other characters"),
            ("b", "command = ['x']\ntimeout = '2h'", "not a time from 1s"),
            ("b", "command = ['x']\ncarry = ['../x']", "not a path below"),
            ("b", "command = ['x']\ncarry = ['missing']", "No such file"),
            ("b", &format!("command = ['{}']", "x".repeat(1500)), "may take"),
        ] {
            let error = command(text).make_case(name, folder.path()).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        let text = format!("command = ['x']\nenvironment = {{ PATH = '{}' }}", "/mnt/c/x:".repeat(200));
        let error = command(&text).make_case("b", folder.path()).unwrap_err();
        assert!(
            error.hint.as_deref().is_some_and(|hint| hint.starts_with("PATH takes 1800 of them")),
            "{error}"
        );
    }
}

//! Distributions of WSL: what wsl.exe prints about them, and copies of them that a session makes and removes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_data::facts::keys::RUNTIME_VERSION;

use tare_data::facts::Facts;

use crate::host::mounts::Mount;
use crate::host::programs::{self, Found, Programs};
use crate::owned::MARK;

/// Under this name, or here, as every WSL mounts the first drive unless configured otherwise.
const PROGRAMS: [&str; 2] = ["wsl.exe", "/mnt/c/Windows/System32/wsl.exe"];
const SHELLS: [&str; 2] = ["cmd.exe", "/mnt/c/Windows/System32/cmd.exe"];
/// Time that wsl.exe has for a question: the first one starts its service.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// Time that writing a distribution out, or reading one in, may take: some GB through an archive.
const COPY_WAIT: Duration = Duration::from_secs(30 * 60);
/// Limit on the distributions that are read of a list.
const MOST: usize = 256;
/// Limit on .wslconfig, a page of settings, in bytes.
const LONGEST_CONFIG: usize = 64 * 1024;

/// A distribution as `wsl.exe --list --verbose` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    pub name: String,
    /// In the language of that Windows.
    pub state: String,
    /// 1 or 2.
    pub version: u8,
    /// True for the one that `wsl.exe` enters without a name.
    pub default: bool,
}

/// Finds wsl.exe on the path, or where Windows keeps it.
pub fn find_wsl(programs: &Programs) -> Option<Found> {
    programs.find_first(&PROGRAMS)
}

pub fn list_distributions(program: &Found) -> io::Result<Vec<Distribution>> {
    programs::run_for_output(programs::command(program).args(["--list", "--verbose"]), ANSWER_WAIT)
        .map(|text| parse(&text))
}

/// Finds the distribution that wsl.exe enters without a name; none without WSL.
pub fn find_default_distribution(programs: &Programs) -> Option<String> {
    let listed = list_distributions(&find_wsl(programs)?).ok()?;
    listed.into_iter().find(|distribution| distribution.default).map(|distribution| distribution.name)
}

/// Reads the table: columns NAME, STATE and VERSION apart by at least two spaces, headings in any language, a
/// star before the default. Other lines are passed over.
fn parse(text: &str) -> Vec<Distribution> {
    text.lines().filter_map(row).take(MOST).collect()
}

fn row(line: &str) -> Option<Distribution> {
    let line = line.trim_end();
    let default = line.trim_start().starts_with("* ");
    let line = line.trim_start().trim_start_matches("* ").trim_start();
    let (rest, version) = line.rsplit_once(char::is_whitespace)?;
    let version = version.parse().ok().filter(|version| [1, 2].contains(version))?;
    // A name may hold single spaces, and so may a state.
    let (name, state) = rest.split_once("  ").or_else(|| rest.split_once(char::is_whitespace))?;
    let plain = !name.is_empty() && !name.chars().any(char::is_control);
    let [name, state] = [name, state].map(|part| part.trim().to_owned());
    plain.then_some(Distribution { name, state, version, default })
}

/// Records facts of WSL itself: versions of its parts, and the user's settings for it.
pub fn note_wsl(facts: &mut Facts, program: &Found, programs: &Programs) {
    // The WSL that came with Windows itself does not know the question.
    if let Ok(text) = programs::run_for_output(programs::command(program).arg("--version"), ANSWER_WAIT) {
        // `Name: version`, the name in any language: they are known by their place, and Windows comes last.
        let versions: Vec<&str> =
            text.lines().filter_map(|line| line.rsplit(": ").next()).map(str::trim).collect();
        for (key, version) in [(RUNTIME_VERSION, versions.first()), ("wsl.kernel", versions.get(1))] {
            facts.add_fact(key, version.copied().unwrap_or_default());
        }
        facts.add_fact("wsl.windows", versions.get(2..).and_then(<[_]>::last).copied().unwrap_or_default());
    }
    let profile = windows_folder(programs, "USERPROFILE");
    let config = profile.and_then(|folder| fs::read(folder.join(".wslconfig")).ok()).unwrap_or_default();
    note_config(facts, &String::from_utf8_lossy(&config[..config.len().min(LONGEST_CONFIG)]));
}

/// Notes the settings of .wslconfig, `[section]` and `key=value`, as `wsl.config.SECTION.KEY`.
fn note_config(facts: &mut Facts, text: &str) {
    let mut section = String::new();
    let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_lowercase();
        } else if let Some((key, value)) =
            line.split_once('=').filter(|(key, _)| plain(key.trim()) && plain(&section))
        {
            facts.add_fact(format!("wsl.config.{section}.{}", key.trim().to_lowercase()), value.trim());
        }
    }
}

/// Reads a folder of Windows from an environment variable there, as a path here.
pub fn windows_folder(programs: &Programs, variable: &str) -> Option<PathBuf> {
    let shell = find_windows_shell(programs)?;
    let question = format!("echo %{variable}%");
    let mut command = programs::command(&shell);
    // In a folder of Windows' own it complains about no other.
    command.args(["/d", "/c", &question]).current_dir(shell.parent()?);
    let answer = programs::run_for_output(&mut command, ANSWER_WAIT).ok()?;
    let path = answer.lines().next()?.trim();
    // On Windows itself it is the same path.
    let itself = Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let here = || translate_path(programs, "-u", Path::new(path)).ok().map(PathBuf::from);
    itself.or_else(here).filter(|path| path.is_absolute() && path.is_dir())
}

/// Finds the shell of Windows.
pub fn find_windows_shell(programs: &Programs) -> Option<Found> {
    programs.find_first(&SHELLS)
}

/// Asks wslpath, which every distribution has, what a path is called here (`-u`) or on Windows (`-w`).
pub fn translate_path(programs: &Programs, to: &str, path: &Path) -> io::Result<String> {
    let program = programs.find("wslpath").ok_or_else(|| io::Error::other("wslpath was not found"))?;
    let answer = programs::run_for_output(programs::command(&program).arg(to).arg(path), ANSWER_WAIT)?;
    let first = answer.lines().next().map(str::trim).filter(|path| !path.is_empty());
    first.map(str::to_owned).ok_or_else(|| io::Error::other("wslpath printed nothing"))
}

/// Recognises the mount of a Windows drive: drvfs in WSL1, 9P or virtiofs in WSL2.
pub fn is_drive(mount: &Mount) -> bool {
    match mount.filesystem.as_str() {
        "drvfs" => true,
        "9p" | "virtiofs" => {
            mount.options.contains("drvfs")
                || mount.source.starts_with("drvfs")
                || mount.source.get(1..2) == Some(":")
        }
        _ => false,
    }
}

/// Writes a distribution out and reads it in again under another name and version, in a folder on a drive of
/// Windows. The archive is gone afterwards; the folder and the name are the caller's to own, as what runs meanwhile is
/// by its `mark`.
pub fn copy_distribution(
    program: &Found,
    from: &str,
    to: &str,
    version: u8,
    folder: &Path,
    mark: &str,
) -> io::Result<()> {
    // Without a path: wsl.exe works in this folder too, and writes paths differently.
    let archive = format!("{to}.tar");
    let run = |arguments: &[&str]| {
        programs::run_for_output(
            programs::command(program).args(arguments).current_dir(folder).env(MARK, mark),
            COPY_WAIT,
        )
    };
    let done = run(&["--export", from, &archive]).and_then(|_| {
        run(&["--import", to, &format!("{to}-disk"), &archive, "--version", &version.to_string()])
    });
    let _ = fs::remove_file(folder.join(&archive));
    done.map(drop)
}

/// Removes a distribution with all that is in it. None when there is none of that name.
pub fn unregister_distribution(program: &Found, name: &str) -> io::Result<Option<()>> {
    if list_distributions(program)?.iter().all(|distribution| distribution.name != name) {
        return Ok(None);
    }
    // A distribution that does not run cannot be stopped, and need not be.
    let _ = programs::run_for_output(programs::command(program).args(["--terminate", name]), ANSWER_WAIT);
    programs::run_for_output(programs::command(program).args(["--unregister", name]), ANSWER_WAIT)
        .map(|_| Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  NAME              STATE            VERSION\r\n\
                         * Ubuntu-24.04      Wird ausgeführt  2\r\n  My own one        Stopped          1\r\n";

    #[test]
    fn a_table_is_read_in_any_language() {
        let [ubuntu, own] = parse(TABLE).try_into().unwrap();
        let expected = ["Ubuntu-24.04", "Wird ausgeführt"].map(str::to_owned);
        assert_eq!(([ubuntu.name, ubuntu.state], ubuntu.version, ubuntu.default), (expected, 2, true));
        assert_eq!((own.name.as_str(), own.version, own.default), ("My own one", 1, false));
    }

    #[test]
    fn hostile_tables_are_read_as_far_as_they_are_tables() {
        for end in (0..TABLE.len()).filter(|end| TABLE.is_char_boundary(*end)) {
            assert!(parse(&TABLE[..end]).len() <= 2);
        }
        for text in [
            "",
            "*",
            "* ",
            "* 2",
            "2",
            "a 2",
            "  a  3",
            "\u{1b}[2J  x  1",
            "* * * 1",
            "\u{fffd}  \u{fffd}  9",
        ] {
            assert!(parse(text).len() <= 1, "{text:?}");
        }
        assert_eq!(parse("\u{1b}[2J  x  1"), []);
        assert_eq!(parse(&"  a  b  1\n".repeat(100_000)).len(), MOST);
    }

    #[test]
    fn settings_become_facts() {
        let mut facts = Facts::default();
        note_config(
            &mut facts,
            "[wsl2]\r\nmemory = 4GB\n# processors=1\nnetworkingMode=mirrored\n[\n=\nx y=1\n",
        );
        let all: Vec<(&str, &str)> =
            facts.0.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(all, [("wsl.config.wsl2.memory", "4GB"), ("wsl.config.wsl2.networkingmode", "mirrored")]);
    }

    #[test]
    fn drives_of_windows_are_known_among_mounts() {
        let mount = |point: &str, filesystem: &str, source: &str, options: &str| Mount {
            number: "0:1".into(),
            root: "/".into(),
            point: point.into(),
            filesystem: filesystem.into(),
            source: source.into(),
            options: options.into(),
        };
        assert!(is_drive(&mount("/mnt/c", "drvfs", "C:", "rw")));
        assert!(is_drive(&mount("/mnt/c", "9p", "C:\\", "rw,aname=drvfs;path=C:\\")));
        assert!(!is_drive(&mount("/", "ext4", "/dev/sdc", "rw")));
    }
}

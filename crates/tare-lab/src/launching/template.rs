//! Templates of launchers: a file in TOML that says how to enter a sandbox, and how to tell that one is inside.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::error::LabError;
use crate::provider::KernelFacts;

/// Longest file that is read as a template.
const LONGEST: u64 = 64 << 10;
/// Limits on the number of words in a list, and on the bytes of a word.
const MOST_WORDS: usize = 64;
const LONGEST_WORD: usize = 2000;

/// Words in braces that are replaced at a start.
const FILLED: [&str; 10] =
    ["folder", "own", "turns", "name", "mark", "agent", "far", "root", "instance", "profile"];

/// Lists the words in braces of a text.
fn list_placeholders(text: &str) -> Vec<&str> {
    let pieces = text.split('{').skip(1).filter_map(|piece| Some(piece.split_once('}')?.0));
    pieces.filter(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())).collect()
}

/// A launcher, as its file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Name on the command line.
    pub name: String,
    /// Heading of its card in a report, in about five words.
    pub title: String,
    pub summary: String,
    pub stands_for: String,
    /// True where tare's own tests enter it.
    #[serde(default)]
    pub tested: bool,
    /// Words that come before the command.
    pub enter: Vec<String>,
    /// The program that is asked for its version; the first word unless given.
    #[serde(default)]
    pub program: Option<String>,
    #[serde(default = "default_version")]
    pub version: Vec<String>,
    /// Further programs that must be there.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Files and folders of this machine that must be there, each with the meaning of its absence.
    #[serde(default)]
    pub present: BTreeMap<String, String>,
    /// Command that installs it.
    pub install: String,
    /// The way in which the agent gets there; found out unless given.
    #[serde(default)]
    pub far: Option<Far>,
    /// Words that copy `{agent}` to `{far}`.
    #[serde(default)]
    pub copy: Vec<String>,
    /// True where it wants a terminal.
    #[serde(default)]
    pub terminal: bool,
    /// True where it enters a root folder that tare makes, as `{root}`.
    #[serde(default)]
    pub root: bool,
    #[serde(default)]
    pub kernel: Kernel,
    /// True where its processes descend from the launcher and stay on its processor.
    #[serde(default = "default_descends")]
    pub descends: bool,
    /// Folders that the environment shares with this machine.
    #[serde(default)]
    pub shares: Shares,
    /// Signs of being inside, each of which must hold.
    #[serde(default)]
    pub inside: Vec<Sign>,
    /// Meaning of a name after a colon, where one can be given.
    #[serde(default)]
    pub instance: Option<String>,
    /// Profiles by name, whose words stand for `{profile}`.
    #[serde(default)]
    pub profile: BTreeMap<String, Profile>,
    /// The profile that is used unless one is named.
    #[serde(default)]
    pub usual_profile: Option<String>,
    /// Variables of the launcher, in addition to those of this program.
    #[serde(default)]
    pub variable: BTreeMap<String, String>,
    /// Programs that it leaves running for later calls, by name or path.
    #[serde(default)]
    pub leaves: Vec<String>,
    /// Folders in the folder of a start.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Files in the folder of a start, as `{folder}/NAME`.
    #[serde(default)]
    pub file: BTreeMap<String, String>,
    /// Kinds of namespaces among the signs of being inside.
    #[serde(skip)]
    namespaces: OnceLock<Vec<&'static str>>,
}

/// A named set of words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub about: String,
    pub words: Vec<String>,
}

tare_data::named! {
    /// The way in which the agent gets into an environment.
    pub enum Far {
        /// Its path here is visible inside.
        Path = "path",
        /// It is sent through standard input to a shell.
        Stdin = "stdin",
        /// It is copied by a command of the template.
        Copy = "copy",
    }
}

/// The kernel that a launcher's processes run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    #[default]
    Machine,
    Supervised,
    Own,
}

impl Kernel {
    pub(crate) fn facts(self) -> KernelFacts {
        match self {
            Kernel::Machine => KernelFacts::OF_RUNTIME,
            Kernel::Supervised => KernelFacts::TRACED,
            Kernel::Own => KernelFacts::OWN,
        }
    }
}

/// The folders of this machine that are seen inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shares {
    /// All that a look from inside can write.
    #[default]
    Folders,
    Nothing,
}

/// A difference to this machine that shows that a process is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    Mnt,
    Pid,
    Net,
    Ipc,
    Uts,
    User,
    Cgroup,
    /// Another root folder.
    Root,
    /// More system call filters.
    Seccomp,
    /// Privileges that cannot grow.
    Privileges,
    /// Another kernel.
    Kernel,
}

impl Sign {
    /// Returns the kind of namespace, for signs that are one.
    pub(super) fn namespace(self) -> Option<&'static str> {
        Some(match self {
            Sign::Mnt => "mnt",
            Sign::Pid => "pid",
            Sign::Net => "net",
            Sign::Ipc => "ipc",
            Sign::Uts => "uts",
            Sign::User => "user",
            Sign::Cgroup => "cgroup",
            Sign::Root | Sign::Seccomp | Sign::Privileges | Sign::Kernel => return None,
        })
    }
}

fn default_version() -> Vec<String> {
    vec!["--version".into()]
}

fn default_descends() -> bool {
    true
}

impl Template {
    /// Parses a template; `named` is what an error calls it.
    pub fn parse_template(text: &str, named: &str) -> Result<Template, LabError> {
        let wrong = |cause: String| {
            LabError::usage_error(format!("cannot use the launcher {named}"))
                .with_cause(cause)
                .with_hint("docs/guide/my-sandbox.md has every key")
        };
        let template: Template = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        template.check().map_err(wrong)?;
        Ok(template)
    }

    /// Reads a template from a file that the user named.
    pub fn read_template(path: &Path) -> Result<Template, LabError> {
        let bytes = tare_record::input::read_bytes(path, LONGEST)
            .map_err(LabError::storage_error("read the launcher", path))?;
        Template::parse_template(&String::from_utf8_lossy(&bytes), &path.display().to_string())
    }

    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || self.name.len() > 22 || !self.name.chars().all(plain) {
            return Err("its name has other characters than a-z, 0-9 and -, or more than 22".into());
        }
        for (key, text) in
            [("title", &self.title), ("summary", &self.summary), ("stands_for", &self.stands_for)]
        {
            if text.is_empty() || text.contains('\n') && key == "title" {
                return Err(format!("{key} is empty, or has several lines"));
            }
        }
        if self.enter.first().is_none_or(String::is_empty) {
            return Err("enter has no words".into());
        }
        let profiles = self.profile.values().map(|profile| &profile.words);
        for words in [&self.enter, &self.copy, &self.version, &self.needs, &self.leaves, &self.folders]
            .into_iter()
            .chain(profiles)
        {
            if words.len() > MOST_WORDS || words.iter().any(|word| word.len() > LONGEST_WORD) {
                return Err(format!(
                    "a list has more than {MOST_WORDS} words, or a word of more than {LONGEST_WORD} bytes"
                ));
            }
        }
        let filled = self.enter.iter().chain(&self.copy).chain(self.variable.values());
        if let Some(unknown) =
            filled.flat_map(|text| list_placeholders(text)).find(|word| !FILLED.contains(word))
        {
            return Err(format!("{{{unknown}}} stands for nothing; known are {{{}}}", FILLED.join("}, {")));
        }
        let is_known = |name: &String| self.profile.contains_key(name);
        if self.profile.is_empty() != self.usual_profile.is_none() || !self.usual_profile.iter().all(is_known)
        {
            return Err("usual_profile must name one of its profiles, where there are any".into());
        }
        if (self.far == Some(Far::Copy)) == self.copy.is_empty() {
            return Err("far = \"copy\" and the words of copy go together".into());
        }
        if self.variable.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err("a variable's name is empty or contains '='".into());
        }
        if self
            .file
            .keys()
            .chain(&self.folders)
            .any(|name| name.is_empty() || name.starts_with('.') || name.contains('/'))
        {
            return Err("the name of a file or folder is a plain name".into());
        }
        Ok(())
    }

    /// Lists the kinds of namespaces that must differ inside.
    pub(crate) fn list_namespaces(&self) -> &[&'static str] {
        self.namespaces.get_or_init(|| self.inside.iter().filter_map(|sign| sign.namespace()).collect())
    }

    /// Returns the name of the program that is looked for.
    pub(crate) fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(&self.enter[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "name = 'box'\ntitle = 'a box of mine'\nsummary = 's'\nstands_for = 'x'\n\
                         install = 'make box'\nenter = ['box', '--']\n";

    #[test]
    fn a_template_needs_six_keys() {
        let template = Template::parse_template(LEAST, "box").unwrap();
        assert_eq!((template.program(), template.far, template.tested), ("box", None, false));
    }

    #[test]
    fn a_wrong_template_is_refused_with_its_reason() {
        for (more, why) in [
            ("nonsense = 1", "unknown field"),
            ("variable.X = '{folder}/{profil}'", "{profil} stands for nothing"),
            ("far = 'copy'", "go together"),
            ("copy = ['cp']", "go together"),
            ("usual_profile = 'x'", "usual_profile"),
            ("inside = ['moon']", "unknown variant"),
            ("[file]\n'../x' = 'y'", "plain name"),
            ("[profile.x]\nabout = 'a'\nwords = []", "usual_profile"),
        ] {
            let refused = Template::parse_template(&format!("{LEAST}{more}\n"), "box").unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
        let refused = Template::parse_template(&LEAST.replace("'box'\n", "'a b'\n"), "box").unwrap_err();
        assert!(refused.to_string().contains("other characters"), "{refused}");
    }
}

//! WSL: a distribution, entered with wsl.exe from Windows or from another distribution.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;
use tare_data::facts::keys::WSL_VERSION;

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;

use crate::host::mounts;
use crate::host::wsl_distributions::{self, Distribution};
use crate::nearest::find_nearest;
use crate::owned::MARK;
use crate::owned::Owned;
use crate::owned::PREFIX;
use crate::platform::LINUX_AGENT;
use crate::provider::prelude::*;

/// Time that starting a distribution and sending the agent into it may take: WSL2 boots in some seconds.
const UPLOAD_WAIT: Duration = Duration::from_secs(90);
/// Time limit for a distribution to translate a path.
const PATH_WAIT: Duration = Duration::from_secs(20);

choice! {
    enum Version: "version",
        "the version of WSL that it is to run in; where it is of the other one, only a copy can"
    {
        Any = "any",
        One = "1",
        Two = "2",
    }
}

choice! {
    enum Copied: "clone",
        "yes: a copy is exported, imported under a name of the session's and removed at its end, so that both \
         versions stand side by side; takes minutes and the distribution's size three times over"
    {
        No = "no",
        Yes = "yes",
    }
}

const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "/var/tmp",
    "folder in the distribution, on its own disk, in which the place 'own' is made",
);
const STORE: OptionDescription = OptionDescription::new_text(
    "store",
    "",
    "folder on a drive of Windows, as a path here, in which a copy is kept; %LOCALAPPDATA% unless given",
);
const USER: OptionDescription = OptionDescription::new_text(
    "user",
    "",
    "the agent's user inside, where it is not the distribution's usual one; root can drop caches",
);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "wsl",
    instance: Some("distribution"),
    parse: |specification| Ok(Box::new(Wsl::of(specification)?)),
    summary: "a distribution of WSL, named after ':' as wsl.exe lists it",
    short_description: "another distribution of WSL",
    stands_for: "WSL1 and WSL2 themselves, where tare runs on Windows, or in a distribution of either, and reaches \
                 the others by wsl.exe. From Windows it needs the tare for Linux beside tare.exe, as tare-x86_64, and \
                 folders of Windows are places in a distribution as wslpath names them there; that way was tried \
                 under Wine with a stand-in for wsl.exe, and never on Windows. Your own distributions are never \
                 converted: version=1 or 2 is a condition, and clone=yes measures a copy. From a distribution, drives \
                 of Windows are places by their path (--place own,/mnt/c/Users/me/x) where the other one mounts them \
                 at the same path; the session's share is not on one, and is missing. WSL1 lacks parts of a kernel \
                 (io_uring, perf, dropping caches, control groups): those cells are missing, with their reasons.",
    options: &[Version::OPTION, Copied::OPTION, FOLDER, STORE, USER],
    descends: false,
    kernel: KernelFacts::OWN,
    roots: Roots::Own("a distribution runs its own programs"),
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["wsl.exe".into(), "powershell.exe".into()],
        mounts: Some("the usual mounts of Windows in a distribution"),
        writes: Some("a distribution of Windows, unregistered afterwards"),
        ..Footprint::from_starts(
            "a distribution, or one that is made for the session; Windows is asked for its versions",
        )
    },
};

#[derive(Clone)]
struct Wsl {
    /// The whole specification, for messages.
    text: String,
    /// As wsl.exe lists it; none where the specification names none.
    distribution: Option<String>,
    version: Version,
    clone: Copied,
    folder: String,
    store: Option<PathBuf>,
    user: Option<String>,
}

impl Version {
    fn number(self) -> Option<u8> {
        match self {
            Version::Any => None,
            Version::One => Some(1),
            Version::Two => Some(2),
        }
    }
}

impl Wsl {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        Ok(Wsl {
            text: specification.to_string(),
            distribution: specification.instance.clone().filter(|name| !name.starts_with('-')),
            version: Version::from_specification(specification)?,
            clone: Copied::from_specification(specification)?,
            folder: FOLDER.plain_folder(specification)?,
            store: STORE.read_non_empty(specification).map(PathBuf::from),
            user: USER.read_non_empty(specification),
        })
    }

    /// Finds the named distribution in the list of wsl.exe.
    fn chosen(&self, program: &Found) -> Result<Distribution, NotReady> {
        let named =
            |reason: String| NotReady { reason, command: Some("wsl.exe --list --verbose".to_owned()) };
        let name = self.distribution.as_deref();
        let name = name.ok_or_else(|| named("no distribution is named: write wsl:NAME".to_owned()))?;
        let all = wsl_distributions::list_distributions(program)
            .map_err(|e| NotReady::from_reason(format!("wsl.exe: {e}")))?;
        let near = find_nearest(name, all.iter().map(|found| found.name.as_str())).map(str::to_owned);
        // Windows does not distinguish letters by their case.
        all.into_iter().find(|found| found.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            named(match near {
                Some(near) => format!("there is no distribution '{name}'; did you mean '{near}'?"),
                None => format!("there is no distribution '{name}'"),
            })
        })
    }

    /// Chooses whether to enter the distribution itself or a copy of it.
    fn entered(&self, found: &Distribution, programs: &Programs) -> Result<Entered, NotReady> {
        let wanted = self.version.number().unwrap_or(found.version);
        match self.clone {
            Copied::Yes => {
                let store = self.store(programs)?;
                Ok(Entered::Copy { from: found.name.clone(), version: wanted, store })
            }
            Copied::No if wanted == found.version => Ok(Entered::Itself(found.name.clone())),
            Copied::No => {
                let (name, version) = (self.distribution.as_deref().unwrap_or_default(), found.version);
                Err(NotReady {
                    reason: format!("{name} is of version {version}, and tare converts no distribution"),
                    command: Some(format!("tare run --in 'wsl:{name}?version={wanted}&clone=yes'")),
                })
            }
        }
    }

    /// Finds the folder on a Windows drive where copies are kept.
    fn store(&self, programs: &Programs) -> Result<PathBuf, NotReady> {
        let none = "no folder of Windows is found for the copy: name one with store=/mnt/c/...";
        let store = match &self.store {
            None => wsl_distributions::windows_folder(programs, "LOCALAPPDATA")
                .ok_or_else(|| NotReady::from_reason(none))?,
            Some(path) => path.clone(),
        };
        match store.is_absolute() && store.is_dir() {
            true => Ok(store),
            false => {
                Err(NotReady::from_reason(format!("there is no folder {} for the copy", store.display())))
            }
        }
    }
}

enum Entered {
    Itself(String),
    Copy { from: String, version: u8, store: PathBuf },
}

impl Environment for Wsl {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = wsl_distributions::find_wsl(programs).ok_or_else(|| {
            NotReady::from_reason(
                "wsl.exe was not found: this is for Windows, and for tare inside a distribution of WSL",
            )
        })?;
        let brought = LINUX_AGENT.map(|architecture| agent_for(programs, architecture)).transpose()?;
        let (agent, identity) = brought.unzip();
        let found = self.chosen(&program)?;
        let entered = self.entered(&found, programs)?;
        let mut facts = Facts::default();
        facts.add_fact("runtime.path", program.to_string_lossy());
        facts.add_fact("wsl.distribution", found.name);
        facts.add_fact("wsl.state", found.state);
        match &entered {
            Entered::Itself(_) => facts.add_fact(WSL_VERSION, found.version.to_string()),
            Entered::Copy { version, .. } => {
                facts.add_fact(WSL_VERSION, version.to_string());
                facts.add_fact("wsl.copy", "yes");
            }
        }
        wsl_distributions::note_wsl(&mut facts, &program, programs);
        let line = Line { program, agent, options: self.clone(), entered };
        Ok(Ready::new(facts, move |workspace| line.enter(workspace)).with_agent(identity))
    }
}

/// Extracts a network mode, the first word of a line: nat, mirrored, consomme and so on. The last was virtioproxy until June 2026.
fn read_network_mode(output: &str) -> String {
    let word: String = output.chars().take_while(char::is_ascii_alphanumeric).take(32).collect();
    if word == "virtioproxy" { "consomme".to_owned() } else { word }
}

struct Line {
    program: Found,
    /// The tare for distributions, where this program is for Windows.
    agent: Option<PathBuf>,
    options: Wsl,
    entered: Entered,
}

impl Line {
    fn enter(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let name = self.distribution(workspace)?;
        let base = format!("{}/{PREFIX}{}", self.options.folder, workspace.session_mark());
        let mode = self.arrive(&name, &base, workspace)?;
        let own = format!("{base}/{}", workspace.name());
        // Without quotes that Windows would take for its own: interoperability makes one line of all words.
        let script = format!(
            "mkdir -m 700 {own} || exit 1; trap 'rm -rf {own}' EXIT; trap 'exit 1' HUP INT TERM; \
             {base}/agent {}",
            tare_probes::agent::AGENT
        );
        let mut outside = Facts::default();
        outside.add_fact("wsl.network_mode", mode);
        let mut places = BTreeMap::from([("own".to_owned(), own)]);
        for (place, path) in workspace.shares() {
            if let Some(inside) = self.inside(&name, path, workspace) {
                mounts::note_file_system(&mut outside, place, path);
                places.insert(place.clone(), inside);
            }
        }
        Ok(Entrance { command: self.command(&name, &["sh", "-c", &script]), host: None, places, outside })
    }

    /// Translates a path to the distribution's path for the same folder, if it can see it. Asks once per
    /// session.
    fn inside(&self, distribution: &str, path: &Path, workspace: &dyn Workspace) -> Option<String> {
        if LINUX_AGENT.is_none() {
            // From one distribution to another: a drive is mounted at the same path.
            let is_drive = mounts::find_mount(path).as_ref().is_some_and(wsl_distributions::is_drive);
            return is_drive.then(|| path.to_string_lossy().into_owned());
        }
        let path = path.to_string_lossy().replace('\\', "/");
        let digest = Sha256::digest(format!("{distribution}\0{path}"));
        let known = format!("wsl-path-{}", encode_hex(&digest[..6]));
        if let Some(inside) = workspace.recall(&known) {
            return Some(inside);
        }
        let mut command = self.command(distribution, &["wslpath", "-a", "-u", &path]);
        let answer = programs::run_for_output(command.env(MARK, workspace.mark()), PATH_WAIT).ok()?;
        let inside = answer.trim().to_owned();
        workspace.remember(&known, &inside);
        inside.starts_with('/').then_some(inside)
    }

    /// Runs a program in a distribution: without a login shell, standard streams passed on.
    fn command(&self, distribution: &str, words: &[&str]) -> Command {
        let mut command = programs::command(&self.program);
        command.args(self.words(distribution, words));
        command
    }

    fn words(&self, distribution: &str, words: &[&str]) -> Vec<String> {
        let user: Vec<&str> = self.options.user.iter().flat_map(|user| ["--user", user]).collect();
        let all = [&["--distribution", distribution][..], &user, &["--exec"], words];
        all.concat().into_iter().map(str::to_owned).collect()
    }

    /// Returns the name of the distribution to enter: the named one, or the session's copy of it.
    fn distribution(&self, workspace: &mut dyn Workspace) -> Result<String, LabError> {
        let (from, version, store) = match &self.entered {
            Entered::Copy { from, version, store } => (from, *version, store),
            Entered::Itself(name) => {
                // It may have been converted or removed by its owner since the session began.
                let found = self.options.chosen(&self.program).map_err(|not| self.failed(not.reason))?;
                return match self.options.version.number().unwrap_or(found.version) == found.version {
                    true => Ok(name.clone()),
                    false => Err(self.failed(format!("it is of version {}", found.version))),
                };
            }
        };
        let copy = format!("{PREFIX}{}-{}", workspace.session_mark(), self.digest());
        let made = format!("wsl-copied-{}", self.digest());
        if workspace.recall(&made).is_some() {
            return Ok(copy);
        }
        // Under the session's own name: nothing else is ever removed.
        let folder = store.join(format!("{PREFIX}{}", workspace.session_mark()));
        workspace.own_for_session(Owned::Folder(folder.clone()))?;
        fs::create_dir_all(&folder).map_err(|e| self.failed(format!("{}: {e}", folder.display())))?;
        workspace.own_for_session(Owned::Distribution(copy.clone()))?;
        let mark = workspace.mark().to_owned();
        wsl_distributions::copy_distribution(&self.program, from, &copy, version, &folder, &mark)
            .map_err(|e| self.failed(format!("copying it: {e}")))?;
        workspace.remember(&made, "");
        Ok(copy)
    }

    /// Sends the agent, once a session; returns the network mode, where the distribution knows it.
    fn arrive(
        &self,
        distribution: &str,
        base: &str,
        workspace: &mut dyn Workspace,
    ) -> Result<String, LabError> {
        let arrived = format!("wsl-sent-{}", self.digest());
        if let Some(mode) = workspace.recall(&arrived) {
            return Ok(mode);
        }
        if let Entered::Itself(_) = self.entered {
            workspace.own_for_session(Owned::DistributionFolder {
                distribution: distribution.to_owned(),
                user: self.options.user.clone(),
                folder: base.to_owned(),
            })?;
        }
        let agent = self.agent.as_deref().unwrap_or(workspace.agent());
        let agent = File::open(agent).and_then(|file| file.metadata().map(|data| (file, data.len())));
        let (agent, size_bytes) = agent.map_err(|e| self.failed(format!("the agent: {e}")))?;
        let script = format!(
            "umask 077; mkdir {base} || exit 1; cat > {base}/agent && chmod 700 {base}/agent && \
             test $(wc -c < {base}/agent) -eq {size_bytes} || exit 1; wslinfo --networking-mode 2>/dev/null || true"
        );
        let mut command = self.command(distribution, &["sh", "-c", &script]);
        // By its mark it is found and ended, should this process be killed meanwhile, before what it made is removed.
        command.env(MARK, workspace.mark());
        let answer = programs::ask_with(&mut command, Stdio::from(agent), UPLOAD_WAIT);
        let mode = read_network_mode(&answer.map_err(|e| self.failed(format!("sending the agent: {e}")))?);
        workspace.remember(&arrived, &mode);
        Ok(mode)
    }

    /// Distinguishes this way from others of the session.
    fn digest(&self) -> String {
        encode_hex(&Sha256::digest(&self.options.text)[..6])
    }

    fn failed(&self, cause: impl Into<Cause>) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot enter {}", self.options.text))
            .with_cause(cause)
            .with_hint("wsl.exe --list --verbose shows all distributions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_one_name_whatever_wsl_calls_it() {
        let modes = ["nat\n", "mirrored", "consomme\r\n", "virtioproxy\n", "none", "", "wsl1"];
        let read = modes.map(read_network_mode);
        assert_eq!(read, ["nat", "mirrored", "consomme", "consomme", "none", "", "wsl1"]);
    }

    #[test]
    fn a_user_is_named_and_a_distribution_is_not_a_flag() {
        let of = |text: &str| Wsl::of(&text.parse().unwrap()).unwrap();
        let (options, entered) = (of("wsl:Ubuntu?user=root"), Entered::Itself("Ubuntu".to_owned()));
        let line = Line { program: Found::own(Path::new("/wsl.exe")), agent: None, options, entered };
        assert_eq!(
            line.words("Ubuntu", &["true"]),
            ["--distribution", "Ubuntu", "--user", "root", "--exec", "true"]
        );
        for text in ["wsl", "wsl:--shutdown"] {
            assert_eq!(of(text).distribution, None, "{text}");
        }
    }
}

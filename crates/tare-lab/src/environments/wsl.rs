//! WSL: a distribution beside the one that tare runs in, by wsl.exe and Windows' interoperability.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tare_data::encoding::hex;
use tare_data::facts::Facts;

use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::programs::{self, Programs};
use crate::host::wsl_distributions::{self, Distribution};
use crate::nearest::nearest;
use crate::ownership::owned::MARK;
use crate::ownership::owned::Owned;
use crate::ownership::owned::PREFIX;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// Time that starting a distribution and sending the agent into it may take: WSL2 boots in some seconds.
const UPLOAD_WAIT: Duration = Duration::from_secs(90);

const VERSION: OptionDescription = OptionDescription {
    key: "version",
    default: "any",
    values: &["any", "1", "2"],
    about: "the version of WSL that it is to run in; where it is of the other one, only a copy can",
};
const CLONE: OptionDescription = OptionDescription {
    key: "clone",
    default: "no",
    values: &["no", "yes"],
    about: "yes: a copy is written out, read in under a name of the session's and taken away at its end, so that \
            both versions stand side by side; takes minutes and the distribution's size three times over",
};
const FOLDER: OptionDescription = OptionDescription {
    key: "folder",
    default: "/var/tmp",
    values: &[],
    about: "folder in the distribution, on its own disk, in which the place 'own' is made",
};
const STORE: OptionDescription = OptionDescription {
    key: "store",
    default: "",
    values: &[],
    about: "folder on a drive of Windows, as a path here, in which a copy is kept; %LOCALAPPDATA% unless given",
};
const USER: OptionDescription = OptionDescription {
    key: "user",
    default: "",
    values: &[],
    about: "who the agent is inside, where it is not the distribution's usual user; root can drop caches",
};

pub struct Wsl;

impl Provider for Wsl {
    fn name(&self) -> &'static str {
        "wsl"
    }

    fn summary(&self) -> &'static str {
        "another distribution of WSL, named after ':' as wsl.exe lists it"
    }

    fn stands_for(&self) -> &'static str {
        "WSL1 and WSL2 themselves, where tare runs in a distribution of either and reaches the others by wsl.exe. \
         A distribution of the user's is never converted: version=1 or 2 is a condition, and clone=yes measures a \
         copy. Drives of Windows are places by their path (--place own,/mnt/c/Users/me/x) where the distribution \
         mounts them at the same path; the session's share is not on one, and is a gap. WSL1 lacks parts of a kernel \
         (io_uring, perf, dropping caches, control groups): those cells are gaps with their reasons."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[VERSION, CLONE, FOLDER, STORE, USER]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &[]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program = wsl_distributions::program(programs).ok_or_else(|| {
            NotReady::because("there is no wsl.exe: this is for tare inside a distribution of WSL")
        })?;
        let found = chosen(specification, &program)?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("wsl.distribution", found.name);
        facts.note("wsl.state", found.state);
        let wanted = VERSION.value(specification);
        if CLONE.value(specification) == "yes" {
            store(specification, programs).map_err(NotReady::because)?;
            facts.note(
                "wsl.version",
                if wanted == "any" { found.version.to_string() } else { wanted.to_owned() },
            );
            facts.note("wsl.copy", "yes");
        } else if wanted != "any" && wanted != found.version.to_string() {
            return Err(NotReady {
                reason: format!(
                    "{} is of version {}, and tare converts no distribution",
                    target(specification)?,
                    found.version
                ),
                command: Some(format!(
                    "tare run --in 'wsl:{}?version={wanted}&clone=yes'",
                    target(specification)?
                )),
            });
        } else {
            facts.note("wsl.version", found.version.to_string());
        }
        wsl_distributions::note_wsl(&mut facts, &program, programs);
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = wsl_distributions::program(workspace.programs())
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "there is no wsl.exe"))?;
        let folder = FOLDER.value(specification);
        if !super::ssh::is_plain(folder) {
            let what = format!("wsl: 'folder' cannot be '{folder}'");
            return Err(LabError::new(ErrorKind::Usage, what).hint("give an absolute path of plain letters"));
        }
        let line = Line { program, specification };
        let name = line.distribution(workspace)?;
        let base = format!("{folder}/{PREFIX}{}", workspace.session_mark());
        let mode = line.arrive(&name, &base, workspace)?;
        let own = format!("{base}/{}", workspace.name());
        // Without quotes that Windows would take for its own: interoperability makes one line of all words.
        let script = format!(
            "mkdir -m 700 {own} || exit 1; trap 'rm -rf {own}' EXIT; trap 'exit 1' HUP INT TERM; \
             {base}/agent {}",
            tare_probes::agent::AGENT
        );
        let mut outside = Facts::default();
        outside.note("wsl.network_mode", mode);
        let mut places = BTreeMap::from([("own".to_owned(), own)]);
        for (place, path) in workspace.shares() {
            if mounts::holding(path).as_ref().is_some_and(wsl_distributions::is_drive) {
                mounts::note(&mut outside, place, path);
                places.insert(place.clone(), path.to_string_lossy().into_owned());
            }
        }
        Ok(Entrance { command: line.command(&name, &["sh", "-c", &script]), host: None, places, outside })
    }
}

fn target(specification: &Specification) -> Result<&str, NotReady> {
    let target = specification.target.as_deref().filter(|target| !target.starts_with('-'));
    target.ok_or_else(|| NotReady {
        reason: "no distribution is named: write wsl:NAME".to_owned(),
        command: Some("wsl.exe --list --verbose".to_owned()),
    })
}

/// The distribution that is named, as wsl.exe lists it.
fn chosen(specification: &Specification, program: &Path) -> Result<Distribution, NotReady> {
    let name = target(specification)?;
    let all = wsl_distributions::list(program).map_err(|e| NotReady::because(format!("wsl.exe: {e}")))?;
    let near = nearest(name, all.iter().map(|found| found.name.as_str())).map(str::to_owned);
    // Windows does not tell letters apart by their case.
    all.into_iter().find(|found| found.name.eq_ignore_ascii_case(name)).ok_or_else(|| NotReady {
        reason: match near {
            Some(near) => format!("there is no distribution '{name}'; did you mean '{near}'?"),
            None => format!("there is no distribution '{name}'"),
        },
        command: Some("wsl.exe --list --verbose".to_owned()),
    })
}

/// Folder on a drive of Windows in which copies are kept.
fn store(specification: &Specification, programs: &Programs) -> Result<PathBuf, String> {
    let store = match STORE.value(specification) {
        "" => wsl_distributions::windows_folder(programs, "LOCALAPPDATA")
            .ok_or("no folder of Windows is found for the copy: name one with store=/mnt/c/...")?,
        path => PathBuf::from(path),
    };
    match store.is_absolute() && store.is_dir() {
        true => Ok(store),
        false => Err(format!("there is no folder {} for the copy", store.display())),
    }
}

/// The word that a line begins with, as long as a network mode is.
fn word(output: &str) -> String {
    output.chars().take_while(char::is_ascii_alphanumeric).take(32).collect()
}

/// A way into a distribution.
struct Line<'a> {
    program: PathBuf,
    specification: &'a Specification,
}

impl Line<'_> {
    /// Runs a program in a distribution: no shell of the user's, standard streams passed on.
    fn command(&self, distribution: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.words(distribution, words));
        command
    }

    fn words(&self, distribution: &str, words: &[&str]) -> Vec<String> {
        let user = USER.value(self.specification);
        let user = if user.is_empty() { &[][..] } else { &["--user", user][..] };
        let all = [&["--distribution", distribution][..], user, &["--exec"], words];
        all.concat().into_iter().map(str::to_owned).collect()
    }

    /// The distribution to enter: the one that is named, or the session's copy of it.
    fn distribution(&self, workspace: &mut dyn Workspace) -> Result<String, LabError> {
        let found = chosen(self.specification, &self.program).map_err(|not| self.failed(not.reason))?;
        let wanted = VERSION.value(self.specification).parse().unwrap_or(found.version);
        if CLONE.value(self.specification) != "yes" {
            // It may have been converted by its owner since the session began.
            return match wanted == found.version {
                true => Ok(found.name),
                false => Err(self.failed(format!("it is of version {}", found.version))),
            };
        }
        let copy = format!("{PREFIX}{}-{}", workspace.session_mark(), self.digest());
        let made = workspace.session_folder().join(format!("wsl-copied-{}", self.digest()));
        if made.exists() {
            return Ok(copy);
        }
        let store = store(self.specification, workspace.programs()).map_err(|e| self.failed(e))?;
        // Under the session's own name: nothing else is ever taken away.
        let folder = store.join(format!("{PREFIX}{}", workspace.session_mark()));
        workspace.own_for_session(Owned::Folder(folder.clone()))?;
        fs::create_dir_all(&folder).map_err(|e| self.failed(format!("{}: {e}", folder.display())))?;
        workspace
            .own_for_session(Owned::Distribution { program: self.program.clone(), name: copy.clone() })?;
        let mark = workspace.mark().to_owned();
        wsl_distributions::copy(&self.program, &found.name, &copy, wanted, &folder, &mark)
            .map_err(|e| self.failed(format!("copying it: {e}")))?;
        fs::write(&made, "").map_err(|e| self.failed(format!("{}: {e}", made.display())))?;
        Ok(copy)
    }

    /// Sends the agent, once a session; returns the network mode, where the distribution knows it.
    fn arrive(
        &self,
        distribution: &str,
        base: &str,
        workspace: &mut dyn Workspace,
    ) -> Result<String, LabError> {
        let arrived = workspace.session_folder().join(format!("wsl-sent-{}", self.digest()));
        if let Ok(mode) = fs::read_to_string(&arrived) {
            return Ok(mode);
        }
        if CLONE.value(self.specification) != "yes" {
            let words = self.words(distribution, &["rm", "-rf", base]);
            let what = format!("folder {base} in {distribution}");
            workspace.own_for_session(Owned::Foreign {
                what,
                program: self.program.clone(),
                words,
                namespace: None,
            })?;
        }
        let agent =
            File::open(workspace.agent()).and_then(|file| file.metadata().map(|data| (file, data.len())));
        let (agent, size_bytes) = agent.map_err(|e| self.failed(format!("the agent: {e}")))?;
        let script = format!(
            "umask 077; mkdir {base} || exit 1; cat > {base}/agent && chmod 700 {base}/agent && \
             test $(wc -c < {base}/agent) -eq {size_bytes} || exit 1; wslinfo --networking-mode 2>/dev/null || true"
        );
        let mut command = self.command(distribution, &["sh", "-c", &script]);
        // By its mark it is found and ended, should this process be killed meanwhile, before what it made is removed.
        command.env(MARK, workspace.mark());
        let mode = match programs::run_with(&mut command, Stdio::from(agent), UPLOAD_WAIT) {
            Ok(ended) if ended.status.success() => word(&ended.output),
            Ok(ended) => {
                return Err(self.failed(format!(
                    "sending the agent: {} ({})",
                    ended.first_line(),
                    ended.status
                )));
            }
            Err(e) => return Err(self.failed(format!("sending the agent: {e}"))),
        };
        fs::write(&arrived, &mode).map_err(|e| self.failed(format!("{}: {e}", arrived.display())))?;
        Ok(mode)
    }

    /// Tells this way from others of the session.
    fn digest(&self) -> String {
        hex(&Sha256::digest(self.specification.to_string())[..6])
    }

    fn failed(&self, cause: impl std::fmt::Display) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot enter {}", self.specification))
            .because(cause)
            .hint("wsl.exe --list --verbose says what there is")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_and_a_target_is_no_flag() {
        let specification = Specification::parse("wsl:Ubuntu?user=root").unwrap();
        let line = Line { program: "/wsl.exe".into(), specification: &specification };
        assert_eq!(
            line.words("Ubuntu", &["true"]),
            ["--distribution", "Ubuntu", "--user", "root", "--exec", "true"]
        );
        for text in ["wsl", "wsl:--shutdown"] {
            assert!(target(&Specification::parse(text).unwrap()).is_err(), "{text}");
        }
    }
}

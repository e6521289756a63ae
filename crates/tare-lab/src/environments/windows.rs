//! Windows itself, from a WSL distribution whose kernel starts Windows programs.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::host::mounts;
use crate::host::private_folder;
use crate::host::wsl_distributions;
use crate::owned::{Owned, PREFIX};
use crate::provider::agent_for_windows;
use crate::provider::prelude::*;

const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "",
    "folder on a drive of Windows, as a path here, in which the agent and the place 'own' are; %LOCALAPPDATA% unless given",
);

/// Time limit for Windows to start its shell.
const ANSWER_WAIT: Duration = Duration::from_secs(20);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "windows",
    instance: None,
    parse: |specification| {
        Ok(Box::new(Windows { folder: FOLDER.read_non_empty(specification).map(PathBuf::from) }))
    },
    summary: "Windows itself, from a distribution of WSL",
    short_description: "Windows, from a distribution of WSL",
    stands_for: "Windows, beside WSL1 and WSL2 in one session: tare runs in one distribution, wsl:NAME is another, and \
                 windows is what both run on. Needs tare.exe beside this program, which is sent to a drive of Windows. \
                 Folders are seen as wslpath names them there: drives and network shares by themselves, and those of \
                 the distribution as \\\\wsl.localhost\\NAME\\path. What Windows has no word for (fork, system calls by number) \
                 is a gap. It was tried with Wine in the place of Windows, and never on Windows.",
    options: &[FOLDER],
    // Windows starts it, on a processor of its choice.
    descends: false,
    kernel: KernelFacts::OWN,
    roots: Roots::Own("Windows shows all programs the same files"),
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["cmd.exe".into(), "wslpath".into()],
        writes: Some("a folder on a drive of Windows, with the agent, removed afterwards"),
        ..Footprint::from_starts("the agent for Windows, which Windows runs")
    },
};

struct Windows {
    folder: Option<PathBuf>,
}

impl Environment for Windows {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        starts_programs(programs).map_err(|why| {
            NotReady::from_reason(format!("{why}: this is for tare in a distribution of WSL"))
        })?;
        if !cfg!(target_arch = "x86_64") {
            return Err(NotReady::from_reason("tare for Windows is not built for this processor"));
        }
        let (agent, identity) = agent_for_windows(programs)?;
        let folder =
            self.folder.clone().or_else(|| wsl_distributions::windows_folder(programs, "LOCALAPPDATA"));
        let folder = folder.filter(|path| path.is_absolute() && path.is_dir()).ok_or_else(|| {
            NotReady::from_reason(
                "no folder of Windows is found for the agent: name one with folder=/mnt/c/...",
            )
        })?;
        let programs = programs.clone();
        let enter = move |workspace: &mut dyn Workspace| enter(&agent, &folder, &programs, workspace);
        Ok(Ready::new(Facts::default(), enter).with_agent(Some(identity)))
    }
}

/// Fails if the kernel does not start Windows programs, which a distribution can turn off.
fn starts_programs(programs: &Programs) -> Result<(), String> {
    let shell = wsl_distributions::find_windows_shell(programs).ok_or("cmd.exe was not found")?;
    let mut command = programs::command(&shell);
    command.args(["/d", "/c", "ver"]).current_dir(shell.parent().unwrap_or(Path::new("/")));
    programs::run_for_output(&mut command, ANSWER_WAIT)
        .map(drop)
        .map_err(|e| format!("{}: {e}", shell.display()))
}

fn enter(
    agent: &Path,
    folder: &Path,
    programs: &Programs,
    workspace: &mut dyn Workspace,
) -> Result<Entrance, LabError> {
    let base = folder.join(format!("{PREFIX}{}", workspace.session_mark()));
    let sent = base.join("tare.exe");
    if !base.exists() {
        workspace.own_for_session(Owned::Folder(base.clone()))?;
        private_folder::make_private_folder(&base)
            .map_err(LabError::storage_error("make the folder", &base))?;
    }
    if !sent.exists() {
        // Under its name only when it is whole: Windows starts what is there.
        let part = base.join("part");
        fs::copy(agent, &part).map_err(LabError::storage_error("write", &part))?;
        fs::rename(&part, &sent).map_err(LabError::storage_error("write", &sent))?;
    }
    // Empty again when the start is over, and removed with the folder that it is in.
    let own = base.join(workspace.name());
    private_folder::make_private_folder(&own).map_err(LabError::storage_error("make the folder", &own))?;
    let mut outside = Facts::default();
    let mut places = BTreeMap::new();
    let shares = workspace.shares().iter().map(|(name, path)| (name.as_str(), path));
    for (name, path) in [("own", &own)].into_iter().chain(shares) {
        let there = wsl_distributions::translate_path(programs, "-w", path).map_err(|e| {
            LabError::new(ErrorKind::Environment, "cannot enter windows")
                .with_cause(format!("no Windows path for {}: {e}", path.display()))
        })?;
        mounts::note_file_system(&mut outside, name, path);
        places.insert(name.to_owned(), there);
    }
    let mut command = programs::command(&Found::own(&sent));
    // A folder that Windows has: others it replaces by its own, with a warning.
    command.arg(tare_probes::agent::AGENT).current_dir(&base);
    Ok(Entrance { command, host: None, places, outside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elsewhere_than_in_wsl_it_says_what_is_missing() {
        let windows = Windows { folder: None };
        let not_ready = windows.check_ready(&Programs::default()).unwrap_err();
        assert!(not_ready.reason.ends_with("this is for tare in a distribution of WSL"), "{not_ready:?}");
    }
}

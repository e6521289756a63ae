//! Containers of WSL itself, entered with wslc.exe from Windows or from a distribution, in Docker's words.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use tare_data::shell::quote_word;

use crate::host::mounts;
use crate::host::private_folder;
use crate::host::wsl_distributions;
use crate::owned::{EngineName, EngineThing, MARK, Owned, PREFIX};
use crate::platform::LINUX_AGENT;
use crate::provider::images::{EMPTY_ARCHIVE, check_image_name};
use crate::provider::prelude::*;
use crate::provider::root::RootFolder;

/// Time that wslc.exe has for a question: the first one boots its virtual machine.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
/// Folders inside: that of the agent, the place `own` and the shares.
const PROGRAM: &str = "/tare";
const OWN: &str = "/own";
const SHARES: &str = "/shares";

const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "",
    "folder on a drive of Windows, as a path here, in which the agent is; %LOCALAPPDATA% unless given",
);

const NAME: &str = "wslc";

pub static PROVIDER: fn() -> Provider = provider! {
    name: NAME,
    instance: Some("image"),
    parse: |specification| Ok(Box::new(Container::from_specification(specification)?)),
    summary: "a container of WSL, by wslc.exe; an image's programs with wslc:IMAGE",
    short_description: "container of WSL by wslc.exe",
    stands_for: "the containers that come with WSL since version 2.9.3 (June 2026), in a virtual machine of their own beside \
                 that of the distributions. tare enters them from Windows, with the tare for Linux beside tare.exe, and from a \
                 distribution. The place 'own' is the container's own disk; shares are folders of Windows, by virtiofs. It \
                 was tried with a stand-in for wslc.exe that knows its words, and never on Windows.",
    options: &[FOLDER],
    descends: false,
    kernel: KernelFacts::OWN,
    roots: Roots::Own("a container of WSL sees the folders of Windows alone"),
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["wslc.exe".into(), "cmd.exe".into(), "wslpath".into()],
        writes: Some(
            "a folder on a drive of Windows with the agent, containers and an empty image, removed afterwards",
        ),
        ..Footprint::from_starts("a container of WSL; before, wslc.exe is asked for its version")
    },
};

#[derive(Clone)]
struct Container {
    image: Option<String>,
    folder: Option<PathBuf>,
}

impl Container {
    fn from_specification(specification: &Specification) -> Result<Container, LabError> {
        let image = specification.instance.clone();
        let image = image.map(|image| check_image_name(image, NAME)).transpose()?;
        Ok(Container { image, folder: FOLDER.read_non_empty(specification).map(PathBuf::from) })
    }
}

impl Environment for Container {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn has_image(&self) -> bool {
        self.image.is_some()
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = programs.find_first(EngineName::Wslc.programs()).ok_or_else(|| NotReady {
            reason: "wslc.exe was not found: this is for Windows with WSL 2.9.3 or later".to_owned(),
            command: Some("wsl.exe --update".to_owned()),
        })?;
        let version = ask(programs::command(&program).arg("version"))
            .map_err(|e| NotReady::from_reason(format!("wslc.exe: {e}")))?;
        let mut facts = note_runtime(&program, version.trim_start_matches("wslc "));
        if let Some(image) = &self.image {
            facts.add_fact("image.id", find_image(&program, image)?);
        }
        if let Some(wsl) = wsl_distributions::find_wsl(programs) {
            let mut all = Facts::default();
            wsl_distributions::note_wsl(&mut all, &wsl, programs);
            all.0.into_iter().filter(|(key, _)| key.starts_with("wsl.")).for_each(|(key, value)| {
                facts.add_fact(key, value);
            });
        }
        let brought = LINUX_AGENT.map(|architecture| agent_for(programs, architecture)).transpose()?;
        let (agent, identity) = brought.unzip();
        let folder =
            self.folder.clone().or_else(|| wsl_distributions::windows_folder(programs, "LOCALAPPDATA"));
        let folder = folder.filter(|path| path.is_absolute() && path.is_dir()).ok_or_else(|| {
            NotReady::from_reason("no folder of Windows is found for the agent: name one with folder=")
        })?;
        let way = Way { program, agent, folder, image: self.image.clone(), programs: programs.clone() };
        Ok(Ready::new(facts, move |workspace| way.enter(workspace)).with_agent(identity))
    }
}

/// Way into containers of WSL, found out once.
struct Way {
    program: Found,
    /// The tare for Linux, where this program is for Windows.
    agent: Option<PathBuf>,
    folder: PathBuf,
    image: Option<String>,
    programs: Programs,
}

impl Way {
    fn enter(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let base = self.folder.join(format!("{PREFIX}{}", workspace.session_mark()));
        self.bring_agent(&base, workspace)?;
        let image = match &self.image {
            Some(image) => image.clone(),
            None if workspace.inside().root != RootFolder::Empty => {
                return Err(self
                    .refuse("a container of WSL takes no folder as its root")
                    .with_hint("name an image: wslc:IMAGE"));
            }
            None => self.make_image(&base, workspace)?,
        };
        let name = workspace.name().to_owned();
        workspace.record_owned(own(EngineThing::Container, &name))?;
        let mut command = programs::command(&self.program);
        // Windows complains about a folder that it does not have.
        command.current_dir(&base);
        command.args(["run", "--interactive", "--rm", "--name", &name, "--hostname", "tare"]);
        command.arg("--network=none").arg(format!("--env={MARK}={}", workspace.mark()));
        // The engine makes the folder on the way to mounting something below it.
        command.arg(format!("--mount=type=tmpfs,destination={OWN}/.tare,tmpfs-size=4096"));
        command.arg(self.bind(&base.join("bin"), PROGRAM)?);
        let mut outside = Facts::default();
        let mut places = BTreeMap::from([("own".to_owned(), OWN.to_owned())]);
        for (place, path) in workspace.shares() {
            let inside = format!("{SHARES}/{place}");
            mounts::note_file_system(&mut outside, place, path);
            command.arg(self.bind(path, &inside)?);
            places.insert(place.clone(), inside);
        }
        if self.image.is_some() {
            // Nothing is fetched unasked, and an image's own user and program are not those of a session.
            command.args(["--pull=never", "--user=0:0", "--entrypoint="]);
            self.bind_work(workspace, &mut command)?;
        }
        command.arg(image).args(workspace.words_inside(&format!("{PROGRAM}/tare")));
        Ok(Entrance { command, host: None, places, outside })
    }

    /// Copies the agent to a drive of Windows, once a session: containers of WSL see nothing else.
    fn bring_agent(&self, base: &Path, workspace: &mut dyn Workspace) -> Result<(), LabError> {
        let bin = base.join("bin");
        let sent = bin.join("tare");
        if sent.exists() {
            return Ok(());
        }
        workspace.own_for_session(Owned::Folder(base.to_owned()))?;
        for folder in [base, &bin] {
            private_folder::make_private_folder(folder)
                .map_err(LabError::storage_error("make the folder", folder))?;
        }
        // Under its name only when it is whole.
        let part = bin.join("part");
        let agent = self.agent.as_deref().unwrap_or(workspace.agent());
        fs::copy(agent, &part).map_err(LabError::storage_error("write", &part))?;
        fs::rename(&part, &sent).map_err(LabError::storage_error("write", &sent))
    }

    /// Makes the session's empty image.
    fn make_image(&self, base: &Path, workspace: &mut dyn Workspace) -> Result<String, LabError> {
        let image = format!("{PREFIX}{}", workspace.session_mark());
        let (archive, made) = (base.join("image.tar"), base.join("image-made"));
        if made.exists() {
            return Ok(image);
        }
        workspace.own_for_session(own(EngineThing::Image, &image))?;
        fs::write(&archive, EMPTY_ARCHIVE).map_err(LabError::storage_error("write", &archive))?;
        let mut command = programs::command(&self.program);
        command.args(["import", &self.see_path(&archive)?, &image]).current_dir(base);
        ask(command.env(MARK, workspace.session_mark()))
            .map_err(|e| self.refuse(format!("it cannot make an image: {e}")))?;
        fs::write(&made, "").map_err(LabError::storage_error("write", &made))?;
        Ok(image)
    }

    /// Shows a folder of Windows inside. Quotes are left out: from a distribution Windows gets all words as one line.
    fn bind(&self, path: &Path, inside: &str) -> Result<String, LabError> {
        let there = self.see_path(path)?;
        match there.contains([',', '"']) {
            true => Err(self.refuse(format!("the path {there} has a comma or a quote"))),
            false => Ok(format!("--mount=type=bind,source={there},destination={inside}")),
        }
    }

    /// Binds the folder that commands work in, under its own path, where it may be written to.
    fn bind_work(&self, workspace: &dyn Workspace, command: &mut Command) -> Result<(), LabError> {
        let Some(work) = &workspace.inside().work else { return Ok(()) };
        let Some(path) = work.folder.to_str().filter(|_| work.shared && cfg!(unix)) else {
            return Err(self
                .refuse(format!("it cannot show {} without writing there", work.folder.display()))
                .with_hint("share it for writing with --work share, or run tare from another folder"));
        };
        command.arg(self.bind(&work.folder, path)?);
        Ok(())
    }

    /// Translates a path to the one that Windows has for it.
    fn see_path(&self, path: &Path) -> Result<String, LabError> {
        if cfg!(windows) {
            return Ok(path.display().to_string());
        }
        wsl_distributions::translate_path(&self.programs, "-w", path)
            .map_err(|e| self.refuse(format!("Windows has no path for {}: {e}", path.display())))
    }

    fn refuse(&self, cause: impl Into<Cause>) -> LabError {
        LabError::new(ErrorKind::Environment, "cannot enter wslc").with_cause(cause)
    }
}

fn own(kind: EngineThing, name: &str) -> Owned {
    Owned::Engine { engine: EngineName::Wslc, kind, name: name.to_owned(), namespace: None }
}

/// Identifies an image by its content; the error says why it cannot be entered.
fn find_image(program: &Found, image: &str) -> Result<String, NotReady> {
    let found =
        programs::run_for_output(programs::command(program).args(["image", "inspect", image]), ANSWER_WAIT);
    let id = found.and_then(|text| read_image_id(&text).ok_or_else(|| io::Error::other("it has no id")));
    id.map_err(|cause| NotReady {
        reason: format!("image {image} is not here: {cause}"),
        command: Some(format!("wslc pull {}", quote_word(image))),
    })
}

/// Reads the id in what `image inspect` prints: a list of objects, as Docker's.
fn read_image_id(text: &str) -> Option<String> {
    let document: serde_json::Value = serde_json::from_str(text).ok()?;
    let id = document.get(0).unwrap_or(&document).get("Id")?.as_str()?;
    Some(id.chars().filter(char::is_ascii_graphic).take(80).collect())
}

/// Asks wslc.exe something; the first line of its answer.
fn ask(command: &mut Command) -> io::Result<String> {
    programs::read_first_line(command, ANSWER_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_an_id_or_none() {
        assert_eq!(read_image_id(r#"[{"Id":"sha256:ab","Size":1}]"#).as_deref(), Some("sha256:ab"));
        assert_eq!(read_image_id(r#"{"Id":"sha256:ab"}"#).as_deref(), Some("sha256:ab"));
        for text in ["", "[]", "{}", r#"[{"Id":1}]"#, "Image not found"] {
            assert_eq!(read_image_id(text), None, "{text}");
        }
    }
}

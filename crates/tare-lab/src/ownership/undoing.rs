//! Undoing: what foreign programs made is removed by calls that are known beforehand, of programs found by their names.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::host::programs::{self, Programs};
use crate::host::wsl_distributions;
use crate::owned::{EngineName, Owned, is_named};
use crate::ownership::outcome::Outcome;

/// Time that a program has to remove what it made.
pub(super) const DELETE_WAIT: Duration = Duration::from_secs(20);
/// Time after which a daemon has made what a client asked for that was killed.
const MAKING_WAIT: Duration = Duration::from_secs(1);
/// Why a thing is left whose name no session gave.
pub(super) const NO_SUCH_NAME: &str = "tare gives no such name";

/// Whose things are undone, and with what.
pub(super) struct Undoing<'a> {
    pub mark: &'a str,
    pub folder: &'a Path,
    pub programs: &'a Programs,
}

impl Undoing<'_> {
    /// Has an engine or a distribution remove what was made there.
    pub fn call_back(&self, thing: &Owned) -> Option<Outcome> {
        match thing {
            Owned::Engine { .. } => self.remove_engine_thing(thing),
            Owned::ForgottenContainer { id_file } => self.remove_forgotten(id_file),
            Owned::DistributionFolder { .. } => self.distribution_folder(thing),
            _ => None,
        }
    }

    /// Has an engine remove a container or an image of a session.
    fn remove_engine_thing(&self, thing: &Owned) -> Option<Outcome> {
        let Owned::Engine { engine, kind, name, namespace } = thing else { return None };
        let what = format!("{} {name}", kind.name());
        let named = |name: &String| is_named(name, self.mark);
        if !named(name) || !namespace.as_ref().is_none_or(named) {
            return Some(Outcome::new_left(what, NO_SUCH_NAME));
        }
        let Some(program) = self.programs.find(engine.name()) else {
            return Some(Outcome::new_left(what, format!("there is no {}", engine.name())));
        };
        let call = |command: &mut Command| {
            namespace.iter().for_each(|namespace| Undoing::join_network(command, namespace));
            programs::run_for_output(command, DELETE_WAIT)
        };
        let remove = || call(programs::command(&program).args(kind.removal_words()).arg(name));
        let mut answer = remove();
        if *engine == EngineName::Docker && !answer.as_ref().is_ok_and(|said| is_listed(said, name)) {
            thread::sleep(MAKING_WAIT);
            answer = remove();
        }
        let failed = match answer {
            Ok(_) => return Some(Outcome::new_removed(what)),
            Err(e) => e,
        };
        // Some fail where there is nothing to remove.
        let list = call(programs::command(&program).args(kind.listing_words()));
        if list.is_ok_and(|list| !is_listed(&list, name)) {
            return None;
        }
        let reason = format!("{} {}: {failed}", program.display(), kind.removal_words().join(" "));
        Some(Outcome::new_left(what, reason))
    }

    fn distribution_folder(&self, thing: &Owned) -> Option<Outcome> {
        let Owned::DistributionFolder { distribution, user, folder } = thing else { return None };
        let what = format!("folder {folder} in {distribution}");
        let of_session = folder.rsplit_once('/').is_some_and(|(parent, name)| {
            parent.starts_with('/')
                && !parent.split('/').any(|part| part == "..")
                && is_named(name, self.mark)
        });
        let is_flag = |word: &String| word.starts_with('-');
        if !of_session || is_flag(distribution) || user.as_ref().is_some_and(is_flag) {
            return Some(Outcome::new_left(what, NO_SUCH_NAME));
        }
        let Some(program) = wsl_distributions::find_wsl(self.programs) else {
            return Some(Outcome::new_left(what, "wsl.exe was not found"));
        };
        let mut command = programs::command(&program);
        command.args(["--distribution", distribution]).args(user.iter().flat_map(|user| ["--user", user]));
        command.args(["--exec", "rm", "-rf", folder]);
        Some(match programs::run_for_output(&mut command, DELETE_WAIT) {
            Ok(_) => Outcome::new_removed(what),
            Err(e) => Outcome::new_left(what, format!("{}: {e}", program.display())),
        })
    }

    /// Removes a copy of a distribution; never one that is not named as tare names its copies.
    pub fn remove_distribution(&self, thing: &Owned) -> Option<Outcome> {
        let Owned::Distribution(name) = thing else { return None };
        let what = format!("distribution {name}");
        if !is_named(name, self.mark) {
            return Some(Outcome::new_left(what, NO_SUCH_NAME));
        }
        let Some(program) = wsl_distributions::find_wsl(self.programs) else {
            return Some(Outcome::new_left(what, "wsl.exe was not found"));
        };
        match wsl_distributions::unregister_distribution(&program, name) {
            Ok(None) => None,
            Ok(Some(())) => Some(Outcome::new_removed(what)),
            Err(e) => Some(Outcome::new_left(what, format!("{}: {e}", program.display()))),
        }
    }
}

/// Finds a name in a list of lines, by itself, in a registry (`localhost/NAME`) or with a tag.
fn is_listed(list: &str, name: &str) -> bool {
    list.split(|c: char| !c.is_ascii_alphanumeric() && !['-', '_', '.'].contains(&c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;
    use crate::owned::{EngineThing, Runtime};

    /// Provides programs, one of which has this name and runs this script.
    fn script(folder: &Path, name: &str, text: &str) -> Programs {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Programs { folders: vec![folder.to_owned()], ..Default::default() }
    }

    #[test]
    fn a_container_whose_state_was_half_written_goes_with_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let state = |folder: &Path, name: &str, text: &str| -> PathBuf {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            folder.to_owned()
        };
        let torn = state(&scratch.path().join("a"), "tare-1-2/state.json", "");
        let whole = state(&scratch.path().join("b"), "tare-1-2/status", "{}");
        let other = state(elsewhere.path(), "tare-1-2/status", "{");
        let sandbox = state(&scratch.path().join("c"), "tare-1-2_sandbox:tare-1-2.state", "{\"id\":");
        let outcome = |runtime: Runtime, state: &Path, id: &str| {
            let text = "echo 'kann nicht' >&2; exit 1";
            let programs = script(elsewhere.path(), runtime.program().unwrap_or("none"), text);
            let undoing = Undoing { mark: "1/2", folder: scratch.path(), programs: &programs };
            undoing.remove_container(&Owned::Container { runtime, state: state.to_owned(), id: id.into() })
        };
        let gone =
            |runtime, state: &Path| outcome(runtime, state, "tare-1-2").unwrap().left_because.is_none();
        assert!(gone(Runtime::Runc, &torn) && gone(Runtime::Runsc, &sandbox));
        assert!(!gone(Runtime::Crun, &whole) && !gone(Runtime::Crun, &other));
        assert!(gone(Runtime::Other, &whole), "nobody is called, and the folder goes");
        assert_eq!(outcome(Runtime::Runc, scratch.path(), "tare-1-3"), None, "it is not there");
        assert!(outcome(Runtime::Runc, &torn, "mine").unwrap().left_because.is_some());
    }

    #[test]
    fn what_an_engine_cannot_remove_is_left_unless_it_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let called = |name: &str, list: &str| {
            let programs = script(folder.path(), "podman", &format!("[ \"$1\" = ps ] || exit 1; {list}"));
            let undoing = Undoing { mark: "1", folder: folder.path(), programs: &programs };
            let (engine, kind) = (EngineName::Podman, EngineThing::Container);
            undoing.call_back(&Owned::Engine { engine, kind, name: name.into(), namespace: None })
        };
        assert_eq!(called("tare-1", "echo tare-2; echo tare-11; echo atare-1"), None);
        for there in ["echo other; echo tare-1", "echo localhost/tare-1", "echo 'no such thing' >&2; exit 1"]
        {
            assert!(called("tare-1", there).unwrap().left_because.is_some(), "{there}");
        }
        assert_eq!(called("mine", "").unwrap().left_because.as_deref(), Some(NO_SUCH_NAME));
    }

    #[test]
    fn a_container_goes_that_the_daemon_was_still_making() {
        let folder = tempfile::tempdir().unwrap();
        let text = "cd \"${0%/*}\"; [ ! -e asked ] || { echo \"$4\"; touch gone; }; touch asked";
        let programs = script(folder.path(), "docker", text);
        let undoing = Undoing { mark: "1", folder: folder.path(), programs: &programs };
        let (engine, kind) = (EngineName::Docker, EngineThing::Container);
        let owned = Owned::Engine { engine, kind, name: "tare-1".into(), namespace: None };
        assert_eq!(undoing.call_back(&owned).unwrap().left_because, None);
        assert!(folder.path().join("gone").exists());
    }

    #[test]
    fn only_a_sessions_own_folder_is_removed_from_a_distribution() {
        let folder = tempfile::tempdir().unwrap();
        let programs = script(folder.path(), "wsl.exe", &format!("touch {}/called", folder.path().display()));
        let undoing = Undoing { mark: "a1", folder: folder.path(), programs: &programs };
        let remove = |distribution: &str, folder: &str| {
            let (distribution, folder) = (distribution.to_owned(), folder.to_owned());
            undoing.call_back(&Owned::DistributionFolder { distribution, user: None, folder }).unwrap()
        };
        for (distribution, path) in
            [("One", "/home"), ("One", "tare-a1"), ("One", "/x/../tare-a1"), ("--shutdown", "/tmp/tare-a1")]
        {
            assert!(remove(distribution, path).left_because.is_some(), "{path}");
        }
        assert!(!folder.path().join("called").exists());
        assert_eq!(remove("One", "/tmp/tare-a1").left_because, None);
        assert!(folder.path().join("called").exists());
    }
}

//! Containers that an engine has forgotten: it was killed between having its runtime make one and noting that it did.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::mounts;
use crate::host::programs::{self, Programs};
use crate::owned::Runtime;
use crate::ownership::outcome::Outcome;

/// Time that a runtime has to remove a container.
const DELETE_WAIT: Duration = Duration::from_secs(20);
/// Length of an engine's id of a container.
const ID: usize = 64;
/// The runtimes that engines call for what they do not know themselves any more.
const RUNTIMES: [Runtime; 3] = [Runtime::Crun, Runtime::Runc, Runtime::Youki];

/// Has the runtime delete the container whose id an engine wrote into a file, and removes its control groups. The engine
/// is asked first, and removes what it still knows by itself.
pub(super) fn remove_forgotten_container(
    id_file: &Path,
    folder: &Path,
    programs: &Programs,
) -> Option<Outcome> {
    if !mounts::is_inside(id_file, folder) {
        return Some(Outcome::new_left(
            format!("id {}", id_file.display()),
            "it is not in the scratch folder",
        ));
    }
    let id = id(id_file)?;
    let what = format!("container {id}");
    let deleted = RUNTIMES.iter().find_map(|runtime| delete(*runtime, &states(), &id, programs));
    deleted.map(|deleted| match deleted {
        Err(because) => Outcome::new_left(what, because),
        Ok(()) => Outcome::new_removed(what),
    })
}

/// Reads the id in a file: nothing else is passed to a runtime.
fn id(file: &Path) -> Option<String> {
    let mut id = String::new();
    File::open(file).ok()?.take(ID as u64 + 1).read_to_string(&mut id).ok()?;
    let id = id.trim_end();
    let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (id.len() == ID && id.bytes().all(plain)).then(|| id.to_owned())
}

/// Returns the folder in which runtimes keep the states of their containers by default, by folders of their
/// names.
fn states() -> PathBuf {
    match rustix::process::getuid() {
        user if user.is_root() => PathBuf::from("/run"),
        user => PathBuf::from(format!("/run/user/{}", user.as_raw())),
    }
}

/// Has a runtime delete a container that it knows; None where it does not.
fn delete(runtime: Runtime, states: &Path, id: &str, programs: &Programs) -> Option<Result<(), String>> {
    let name = runtime.program()?;
    let known_by = runtime.known_by(&states.join(name), id);
    if !known_by.exists() {
        return None;
    }
    let Some(program) = programs.find(name) else { return Some(Err(format!("{name} is not installed"))) };
    let answer =
        programs::run_for_output(programs::command(&program).args(["delete", "--force", id]), DELETE_WAIT);
    Some(match answer {
        Err(e) if known_by.exists() => Err(format!("{} delete --force: {e}", program.display())),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CONTAINER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn only_an_id_is_an_id() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let file = folder.path().join("id");
            fs::write(&file, text).unwrap();
            id(&file)
        };
        assert_eq!(read(CONTAINER).as_deref(), Some(CONTAINER));
        assert_eq!(read(&format!("{CONTAINER}\n")).as_deref(), Some(CONTAINER));
        let upper = CONTAINER.to_uppercase();
        let flag = format!("--{}", &CONTAINER[2..]);
        let long = format!("{CONTAINER}0");
        for text in ["", "../x", &CONTAINER[1..], &upper, &flag, &long] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(id(&folder.path().join("none")), None);
    }

    #[test]
    fn a_runtime_deletes_what_it_knows_and_is_not_asked_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let (states, programs) = (folder.path().join("run"), folder.path().join("bin"));
        fs::create_dir_all(states.join("crun").join(CONTAINER)).unwrap();
        fs::create_dir(&programs).unwrap();
        let programs = Programs { folders: vec![programs], ..Default::default() };
        let deleted = || delete(Runtime::Crun, &states, CONTAINER, &programs);
        let crun = |text: &str| {
            let path = programs.folders[0].join("crun");
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        assert!(deleted().unwrap().unwrap_err().contains("crun is not installed"));
        crun("echo cannot >&2; exit 1");
        assert!(deleted().unwrap().unwrap_err().contains("cannot"));
        crun(&format!("[ \"$*\" = \"delete --force {CONTAINER}\" ] && rmdir {}/crun/$3", states.display()));
        assert_eq!(deleted(), Some(Ok(())));
        assert_eq!(deleted(), None);
        assert_eq!(delete(Runtime::Runc, &states, CONTAINER, &programs), None);
    }
}

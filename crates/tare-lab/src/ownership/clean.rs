//! Cleaning: removes what a session made, and nothing else.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};
use serde::de::IgnoredAny;

use crate::containers::control_groups;
use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::network_device;
use crate::host::network_namespace;
use crate::host::processes::Signs;
use crate::host::programs;
use crate::host::wsl_distributions;
use crate::ownership::journal::{self, Abandoned};
use crate::ownership::owned::{Listed, Owned, PREFIX};

/// Time that a runtime has to remove a container.
const DELETE_WAIT: Duration = Duration::from_secs(20);
/// Tries at emptying a folder in which a dying process may still have made a file.
const FOLDER_TRIES: u32 = 3;

/// Files in which runtimes keep the state of a container: runc and youki, crun.
const STATES: [&str; 2] = ["state.json", "status"];

/// One thing that was removed, or could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub what: String,
    /// Why it is still there; None when it is gone.
    pub left_because: Option<String>,
}

impl Outcome {
    fn gone(what: String) -> Self {
        Outcome { what, left_because: None }
    }

    fn left(what: String, because: impl fmt::Display) -> Self {
        Outcome { what, left_because: Some(because.to_string()) }
    }
}

/// Removes everything that dead sessions left behind, by their journals in the state folder.
///
/// A session whose journal is locked lives and is not touched. What could not be removed stays in its
/// journal for the next time.
pub fn clean(state: &Path) -> Result<Vec<Outcome>, LabError> {
    let sessions = journal::abandoned(state).map_err(|e| {
        LabError::new(ErrorKind::Storage, format!("cannot read the state folder {}", state.display()))
            .because(e)
    })?;
    Ok(sessions.iter().flat_map(clean_session).collect())
}

fn clean_session(session: &Abandoned) -> Vec<Outcome> {
    let journal = format!("journal {}", session.path.display());
    let mut outcomes = Vec::new();
    if let Some(scratch) = &session.scratch {
        let name = format!("{PREFIX}{}", session.id);
        if scratch.file_name().is_none_or(|last| *last != *name) || !mounts::inside(scratch, Path::new("/")) {
            return vec![Outcome::left(
                journal,
                format!("{} is not a scratch folder of tare", scratch.display()),
            )];
        }
        outcomes = take_away(&session.id, scratch, &session.things);
    }
    if session.unread > 0 {
        let because = format!("{} of its lines are unknown to this version of tare", session.unread);
        outcomes.push(Outcome::left(journal, because));
    } else if outcomes.iter().all(|outcome| outcome.left_because.is_none()) {
        match fs::remove_file(&session.path) {
            Ok(()) => outcomes.push(Outcome::gone(journal)),
            Err(e) => outcomes.push(Outcome::left(journal, e)),
        }
    }
    outcomes
}

/// Removes things of a session, or of one start of it: processes, containers, distributions, mounts, network devices and
/// namespaces, control groups, folders, in this order. What is gone already is passed over.
///
/// `mark` is the value of [`crate::ownership::owned::MARK`] that its processes carry; `folder` is where it works.
pub(crate) fn take_away(mark: &str, folder: &Path, things: &[Owned]) -> Vec<Outcome> {
    let mut outcomes = end_processes(mark, folder, things, "");
    outcomes.extend(things.iter().rev().filter_map(|thing| delete_container(thing, folder)));
    let called: Vec<Option<Outcome>> = things.iter().rev().map(call_back).collect();
    if things.iter().any(|thing| matches!(thing, Owned::Container { .. } | Owned::Foreign { .. })) {
        // Their helpers go by the name, and only now: an engine wants to hear from its own of a container's end.
        let name = format!("{PREFIX}{}", mark.replace('/', "-"));
        outcomes.extend(end_processes(mark, folder, things, &name));
    }
    for (thing, outcome) in things.iter().rev().zip(called) {
        let again = outcome.as_ref().is_some_and(|outcome| outcome.left_because.is_some());
        outcomes.extend(if again { call_back(thing) } else { outcome });
    }
    outcomes.extend(things.iter().rev().filter_map(unregister));
    outcomes.extend(unmount_all(folder, things));
    for thing in things.iter().rev() {
        match thing {
            Owned::NetworkNamespace(name) => outcomes.extend(remove_network_namespace(name)),
            Owned::NetworkDevice { namespace, device } => {
                outcomes.extend(remove_network_device(namespace, device));
            }
            Owned::ControlGroup(name) => outcomes.extend(remove_control_group(name)),
            _ => {}
        }
    }
    let folders = things.iter().rev().filter_map(|thing| match thing {
        Owned::Folder(path) => Some(remove_folder(path, folder)),
        _ => None,
    });
    outcomes.extend(folders.flatten());
    outcomes
}

fn end_processes(mark: &str, folder: &Path, things: &[Owned], name: &str) -> Vec<Outcome> {
    let roots = things.iter().filter_map(|thing| match thing {
        Owned::Process { pid, started_ticks } => Some((*pid, *started_ticks)),
        _ => None,
    });
    let (mark, folder, name) = (mark.to_owned(), folder.to_owned(), name.to_owned());
    let signs = Signs { mark, folder, name, roots: roots.collect() };
    let (killed, left) = signs.kill();
    let stays = |pid: &u32| Outcome::left(format!("process {pid}"), "it does not end when killed");
    killed
        .iter()
        .filter(|pid| !left.contains(pid))
        .map(|pid| Outcome::gone(format!("process {pid}")))
        .chain(left.iter().map(stays))
        .collect()
}

fn delete_container(thing: &Owned, folder: &Path) -> Option<Outcome> {
    let Owned::Container { runtime, arguments, id, known_by } = thing else { return None };
    if known_by.as_ref().is_some_and(|path| !path.exists()) {
        return None;
    }
    let what = format!("container {id}");
    let mut command = Command::new(runtime);
    command.args(arguments).args(["delete", "--force", id]);
    match programs::ask(&mut command, DELETE_WAIT) {
        Ok(_) => Some(Outcome::gone(what)),
        // With the state gone the runtime knows nothing of it any more, whatever it prints.
        Err(_) if known_by.as_ref().is_some_and(|path| !path.exists()) => Some(Outcome::gone(what)),
        // Killed while it wrote its state, a runtime cannot read it any more. The container's processes have been ended
        // by their signs, its mounts and groups are removed as ours, and the state goes with our folder.
        Err(_) if known_by.as_ref().is_some_and(|path| mounts::inside(path, folder) && is_torn(path)) => {
            Some(Outcome::gone(what))
        }
        Err(e) => Some(Outcome::left(what, format!("{}: {e}", runtime.display()))),
    }
}

/// Whether a runtime's state of a container is not whole: a JSON file, or one of [`STATES`] in a folder.
fn is_torn(state: &Path) -> bool {
    let torn =
        |path: &Path| fs::read(path).is_ok_and(|json| serde_json::from_slice::<IgnoredAny>(&json).is_err());
    if state.is_dir() { STATES.iter().any(|name| torn(&state.join(name))) } else { torn(state) }
}

/// Lets a program remove what it made.
fn call_back(thing: &Owned) -> Option<Outcome> {
    let Owned::Foreign { what, program, words, namespace, listed } = thing else { return None };
    let call = |words: &[String]| {
        let mut command = Command::new(program);
        if let Some(namespace) = namespace.as_ref().map(|name| network_namespace::path(name)) {
            // Without the namespace there is nothing in it to remove; the rest the program finds anywhere.
            let _ = network_namespace::inherit(&mut command, &namespace);
        }
        programs::ask(command.args(words), DELETE_WAIT)
    };
    let failed = match call(words) {
        Ok(_) => return Some(Outcome::gone(what.clone())),
        Err(e) => e,
    };
    // Some programs fail where there is nothing to remove.
    if let Some(Listed { words, name }) = listed
        && call(words).is_ok_and(|list| !is_listed(&list, name))
    {
        return None;
    }
    let because = format!("{} {}: {failed}", program.display(), words.join(" "));
    Some(Outcome::left(what.clone(), because))
}

/// Whether one of the lines is this name, by itself or in a registry (`localhost/NAME`).
fn is_listed(list: &str, name: &str) -> bool {
    list.lines()
        .filter_map(|line| line.trim().strip_suffix(name))
        .any(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// Removes a copy of a distribution; never one that is not named as tare names its copies.
fn unregister(thing: &Owned) -> Option<Outcome> {
    let Owned::Distribution { program, name } = thing else { return None };
    let what = format!("distribution {name}");
    if !name.starts_with(PREFIX) {
        return Some(Outcome::left(what, "tare gives no such name"));
    }
    match wsl_distributions::unregister(program, name) {
        Ok(None) => None,
        Ok(Some(())) => Some(Outcome::gone(what)),
        Err(e) => Some(Outcome::left(what, format!("{}: {e}", program.display()))),
    }
}

/// Unmounts what was owned and whatever else is mounted in the folder, the innermost first.
fn unmount_all(folder: &Path, things: &[Owned]) -> Vec<Outcome> {
    let points = match mounts::below(folder) {
        Ok(points) => points,
        Err(e) => return vec![Outcome::left(format!("mounts in {}", folder.display()), e)],
    };
    let strays = things.iter().filter_map(|thing| match thing {
        Owned::Mount(point) if !mounts::inside(point, folder) => {
            Some(Outcome::left(format!("mount {}", point.display()), "it is not in the scratch folder"))
        }
        _ => None,
    });
    points.iter().map(|point| remove_mount(point)).chain(strays).collect()
}

fn remove_mount(point: &Path) -> Outcome {
    let what = format!("mount {}", point.display());
    // Lazily as a last resort: the name goes at once, the rest when its last user ends.
    let done = unmount(point, UnmountFlags::NOFOLLOW)
        .or_else(|_| unmount(point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH));
    match done {
        Ok(()) => Outcome::gone(what),
        Err(e) => Outcome::left(what, e),
    }
}

fn remove_network_namespace(name: &str) -> Option<Outcome> {
    let what = format!("network namespace {name}");
    if !name.starts_with(PREFIX) || name.contains('/') {
        return Some(Outcome::left(what, "tare gives no such name"));
    }
    let path = network_namespace::path(name);
    if !path.exists() {
        return None;
    }
    // The file is a mount point while the namespace lives by it, and a plain file otherwise.
    let _ = unmount(&path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH);
    Some(match fs::remove_file(&path) {
        Ok(()) => Outcome::gone(what),
        Err(e) => Outcome::left(what, e),
    })
}

fn remove_network_device(namespace: &str, device: &str) -> Option<Outcome> {
    let what = format!("network device {device} in {namespace}");
    if !namespace.starts_with(PREFIX) || namespace.contains('/') {
        return Some(Outcome::left(what, "tare gives no namespace such a name"));
    }
    match network_namespace::within(&network_namespace::path(namespace), || network_device::remove(device)) {
        Ok(true) => Some(Outcome::gone(what)),
        Ok(false) => None,
        // The namespace is gone, or never was more than a file: with it there is no device.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => None,
        Err(e) => Some(Outcome::left(what, e)),
    }
}

fn remove_control_group(name: &str) -> Option<Outcome> {
    let what = format!("control group {name}");
    if !name.starts_with(PREFIX) || name.contains('/') {
        return Some(Outcome::left(what, "tare gives no such name"));
    }
    match control_groups::remove(name) {
        Ok(true) => Some(Outcome::gone(what)),
        Ok(false) => None,
        Err(e) => Some(Outcome::left(what, e)),
    }
}

fn remove_folder(path: &PathBuf, scratch: &Path) -> Option<Outcome> {
    let what = format!("folder {}", path.display());
    // In a share, the session's folder has the same name as the scratch folder.
    let in_share = path.file_name() == scratch.file_name() && mounts::inside(path, Path::new("/"));
    if !in_share && !mounts::inside(path, scratch) {
        return Some(Outcome::left(what, "it is not in the scratch folder"));
    }
    path.symlink_metadata().ok()?;
    // A share that is still mounted there holds files that are not the session's.
    match mounts::below(path) {
        Ok(points) if points.is_empty() => {}
        Ok(points) => return Some(Outcome::left(what, format!("{} is mounted in it", points[0].display()))),
        Err(e) => return Some(Outcome::left(what, e)),
    }
    let mut removed = fs::remove_dir_all(path);
    for _ in 1..FOLDER_TRIES {
        if removed.is_ok() {
            break;
        }
        removed = fs::remove_dir_all(path);
    }
    Some(match removed {
        Ok(()) => Outcome::gone(what),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Outcome::gone(what),
        Err(e) => Outcome::left(what, e),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_container_whose_state_was_half_written_goes_with_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let runtime = script(scratch.path(), "echo 'kann nicht' >&2; exit 1");
        let container = |known_by: &Path| Owned::Container {
            runtime: runtime.clone(),
            arguments: Vec::new(),
            id: "tare-1".into(),
            known_by: Some(known_by.to_owned()),
        };
        let state = |folder: &Path, name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let file = state(scratch.path(), "a.state", "{\"id\":");
        let folder = state(scratch.path(), "b/state.json", "").parent().unwrap().to_owned();
        let whole = state(scratch.path(), "c/status", "{}").parent().unwrap().to_owned();
        let other = state(elsewhere.path(), "a.state", "{");
        for (known_by, gone) in [(&file, true), (&folder, true), (&whole, false), (&other, false)] {
            let outcome = delete_container(&container(known_by), scratch.path()).unwrap();
            assert_eq!(outcome.left_because.is_none(), gone, "{outcome:?}");
        }
    }

    #[test]
    fn what_a_program_cannot_remove_is_left_unless_it_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let listed = |list: &str| {
            let program = script(folder.path(), &format!("[ \"$1\" = ps ] || exit 1; {list}"));
            let [words, list] = ["rm", "ps"].map(|word| vec![word.to_owned()]);
            let listed = Some(Listed { words: list, name: "tare-1".into() });
            call_back(&Owned::Foreign { what: "it".into(), program, words, namespace: None, listed })
        };
        assert_eq!(listed("echo tare-2; echo tare-11; echo atare-1"), None);
        for there in ["echo other; echo tare-1", "echo localhost/tare-1", "echo 'no such thing' >&2; exit 1"]
        {
            assert!(listed(there).unwrap().left_because.is_some(), "{there}");
        }
    }
}

//! Cleaning: takes away what a session made, and nothing else.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};

use crate::containers::control_groups;
use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::network_device;
use crate::host::network_namespace;
use crate::host::processes::Signs;
use crate::host::programs;
use crate::host::wsl_distributions;
use crate::ownership::journal::{self, Abandoned};
use crate::ownership::owned::Owned;
use crate::ownership::owned::PREFIX;

/// Time that a runtime has to take a container away.
const DELETE_WAIT: Duration = Duration::from_secs(20);
/// Tries at emptying a folder in which a dying process may still have made a file.
const FOLDER_TRIES: u32 = 3;

/// One thing that was taken away, or could not be.
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

/// Takes away everything that dead sessions left behind, as their journals in the state folder say.
///
/// A session whose journal is locked lives and is not touched. What could not be taken away stays in its
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
                format!("{} is no scratch folder of tare's", scratch.display()),
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

/// Takes away things of a session, or of one start of it: processes, containers, distributions, mounts, network devices and
/// namespaces, control groups, folders, in this order. What is gone already is passed over.
///
/// `mark` is the value of [`crate::ownership::owned::MARK`] that its processes carry; `folder` is where it works.
pub fn take_away(mark: &str, folder: &Path, things: &[Owned]) -> Vec<Outcome> {
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

/// What Go's reader of JSON says of a file that ends too early; all runtimes but crun are written in Go.
const HALF_WRITTEN: &str = "unexpected end of JSON input";

fn delete_container(thing: &Owned, folder: &Path) -> Option<Outcome> {
    let Owned::Container { runtime, arguments, id, known_by } = thing else { return None };
    if known_by.as_ref().is_some_and(|path| !path.exists()) {
        return None;
    }
    let what = format!("container {id}");
    let mut command = Command::new(runtime);
    command.args(arguments).args(["delete", "--force", id]);
    match programs::run(&mut command, DELETE_WAIT) {
        Ok(ended) if ended.status.success() => Some(Outcome::gone(what)),
        // With the state gone the runtime knows nothing of it any more, whatever it says.
        Ok(_) if known_by.as_ref().is_some_and(|path| !path.exists()) => Some(Outcome::gone(what)),
        // Killed while it wrote its state, a runtime cannot read it any more. The container's processes have been ended
        // by their signs, its mounts and groups are taken away as ours, and the state goes with our folder.
        Ok(ended)
            if [&ended.errors, &ended.output].iter().any(|text| text.contains(HALF_WRITTEN))
                && known_by.as_ref().is_some_and(|path| mounts::inside(path, folder)) =>
        {
            Some(Outcome::gone(what))
        }
        Ok(ended) => Some(Outcome::left(what, format!("{}: {}", runtime.display(), ended.first_line()))),
        Err(e) => Some(Outcome::left(what, format!("{}: {e}", runtime.display()))),
    }
}

/// Lets a program take away what it made.
fn call_back(thing: &Owned) -> Option<Outcome> {
    let Owned::Foreign { what, program, words, namespace } = thing else { return None };
    let named = || format!("{} {}", program.display(), words.join(" "));
    let mut command = Command::new(program);
    if let Some(namespace) = namespace.as_ref().map(|name| network_namespace::path(name)) {
        // Without the namespace there is nothing in it to take away; the rest the program finds anywhere.
        let _ = network_namespace::inherit(&mut command, &namespace);
    }
    match programs::run(command.args(words), DELETE_WAIT) {
        Ok(ended) if ended.status.success() => Some(Outcome::gone(what.clone())),
        // Every engine says so when there is nothing to take away.
        Ok(ended) if ended.errors.to_lowercase().contains("no such") => None,
        Ok(ended) => Some(Outcome::left(what.clone(), format!("{}: {}", named(), ended.first_line()))),
        Err(e) => Some(Outcome::left(what.clone(), format!("{}: {e}", named()))),
    }
}

/// Takes a copy of a distribution away; never one that is not called as tare calls its copies.
fn unregister(thing: &Owned) -> Option<Outcome> {
    let Owned::Distribution { program, name } = thing else { return None };
    let what = format!("distribution {name}");
    if !name.starts_with(PREFIX) {
        return Some(Outcome::left(what, "its name is none of tare's"));
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
        return Some(Outcome::left(what, "its name is none of tare's"));
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
        return Some(Outcome::left(what, "its namespace is none of tare's"));
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
        return Some(Outcome::left(what, "its name is none of tare's"));
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
    // A share that is still mounted there holds the user's own files.
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

    #[test]
    fn a_container_whose_state_was_half_written_goes_with_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let (runtime, state) = (scratch.path().join("runtime"), scratch.path().join("state"));
        fs::write(&state, "{\"id\":").unwrap();
        let container = |known_by: &Path| Owned::Container {
            runtime: runtime.clone(),
            arguments: Vec::new(),
            id: "tare-1".into(),
            known_by: Some(known_by.to_owned()),
        };
        for (says, known_by, gone) in [
            ("reading: unexpected end of JSON input", state.as_path(), true),
            ("container is running", state.as_path(), false),
            // A state elsewhere would be left.
            ("reading: unexpected end of JSON input", Path::new("/proc/self/stat"), false),
        ] {
            fs::write(&runtime, format!("#!/bin/sh\necho '{says}' >&2\nexit 1\n")).unwrap();
            fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
            let outcome = delete_container(&container(known_by), scratch.path()).unwrap();
            assert_eq!(outcome.left_because.is_none(), gone, "{says}: {outcome:?}");
        }
    }
}

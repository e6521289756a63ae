//! Things that only Linux has: containers of runtimes and engines, mounts, network namespaces and their devices, control groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};
use serde::de::IgnoredAny;
use tare_paths::marked::LeftOver;

use crate::guests::kernel::remove_unfinished;
use crate::host::control_groups;
use crate::host::loop_device;
use crate::host::mounts;
use crate::host::network_device;
use crate::host::network_namespace;
use crate::host::processes;
use crate::host::programs::{self, Programs};
use crate::host::waiting::until_found;
use crate::owned::{Owned, PREFIX, is_named};
use crate::ownership::clean::list_spared;
use crate::ownership::forgotten;
use crate::ownership::outcome::Outcome;
use crate::ownership::undoing::{DELETE_WAIT, NO_SUCH_NAME, Undoing};

/// Files in which runtimes keep the state of a container: runc and youki, crun.
const STATES: [&str; 2] = ["state.json", "status"];

/// Time in which the kernel lets go of a device whose last user has ended, and the pause between two looks at whether it has.
const RELEASED_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl From<LeftOver> for Outcome {
    fn from(left: LeftOver) -> Outcome {
        Outcome { what: format!("folder {}", left.folder.display()), left_because: left.left_because }
    }
}

/// Removes what no journal names: files that a killed `tare environment prepare` left, and loop devices of images that are gone with
/// their sessions, unless something still uses them.
pub fn remove_unnamed(programs: &Programs) -> Vec<Outcome> {
    let folders = remove_unfinished(&programs.prepared).into_iter().map(Outcome::from);
    let detach = |device: &PathBuf| {
        let what = format!("loop device {}", device.display());
        let is_gone = || (!loop_device::list_forgotten().contains(device)).then_some(());
        let detached = loop_device::detach(device);
        match (until_found(RELEASED_WITHIN, LOOK_AGAIN, is_gone), detached) {
            (Some(()), _) => Outcome::new_removed(what),
            (None, Err(e)) => Outcome::new_left(what, e),
            (None, Ok(())) => {
                Outcome::new_left(what, "a process still uses its file system, and it goes with that")
            }
        }
    };
    folders.chain(loop_device::list_forgotten().iter().map(detach)).collect()
}

impl Undoing<'_> {
    /// Has a runtime delete a container. One that is not there is not missed: the container's processes have been ended
    /// by their signs, its mounts and groups are removed as ours, and what the runtime knew goes with our folder.
    pub fn remove_container(&self, thing: &Owned) -> Option<Outcome> {
        let Owned::Container { runtime, state, id } = thing else { return None };
        let (known_by, what) = (runtime.known_by(state, id), format!("container {id}"));
        if !is_named(id, self.mark) || !mounts::is_inside(state, self.folder) {
            return Some(Outcome::new_left(what, NO_SUCH_NAME));
        }
        if !known_by.exists() {
            return None;
        }
        let Some(program) = runtime.program().and_then(|name| self.programs.find(name)) else {
            return Some(Outcome::new_removed(what));
        };
        let mut command = programs::command(&program);
        command.arg("--root").arg(state).args(["delete", "--force", id]);
        match programs::run_for_output(&mut command, DELETE_WAIT) {
            Ok(_) => Some(Outcome::new_removed(what)),
            // With the state gone the runtime knows nothing of it any more, whatever it prints; killed while it wrote
            // its state, it cannot read it any more.
            Err(_) if !known_by.exists() || is_torn(&known_by) => Some(Outcome::new_removed(what)),
            Err(e) => Some(Outcome::new_left(what, format!("{}: {e}", program.display()))),
        }
    }

    /// Lets a command of an engine run in the network in which its things are.
    pub fn join_network(command: &mut Command, namespace: &str) {
        // Without the namespace there is nothing in it to remove; the rest the engine finds anywhere.
        let _ = network_namespace::inherit_namespace(command, &network_namespace::namespace_path(namespace));
    }

    /// Removes a container that an engine has forgotten.
    pub fn remove_forgotten(&self, id_file: &Path) -> Option<Outcome> {
        forgotten::remove_forgotten_container(id_file, self.folder, self.programs)
    }

    /// Removes what the kernel keeps: processes by their groups, mounts, network devices and namespaces, control groups, in this order.
    pub fn of_kernel(&self, things: &[Owned]) -> Vec<Outcome> {
        let groups = things.iter().flat_map(|thing| match thing {
            Owned::PlacedGroups(groups) => &groups[..],
            _ => &[],
        });
        let spared = list_spared(things);
        let removed = groups.filter_map(|group| self.remove_placed_group(group, &spared));
        let mut outcomes: Vec<Outcome> = removed.collect();
        outcomes.extend(unmount_all(self.folder, things));
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
        outcomes
    }

    /// Removes a group below the session's, or the session's own.
    fn remove_placed_group(&self, group: &Path, spared: &[PathBuf]) -> Option<Outcome> {
        let what = format!("control group {}", group.display());
        if !group.exists() {
            return None;
        }
        let is_ours = group.iter().any(|part| is_named(&part.to_string_lossy(), self.mark));
        let is_group =
            || mounts::find_mount(group).is_some_and(|mount| mount.filesystem.starts_with("cgroup"));
        if !is_ours || !mounts::is_inside(group, Path::new("/")) || !is_group() {
            return Some(Outcome::new_left(what, NO_SUCH_NAME));
        }
        let is_spared = |pid| processes::runs_one_of(pid, spared);
        match control_groups::remove_group(group, &is_spared) {
            Ok(_) => Some(Outcome::new_removed(what)),
            Err(e) => Some(Outcome::new_left(what, e)),
        }
    }
}

/// Recognises an incomplete state of a container: a JSON file, or one of [`STATES`] in a folder, is not
/// whole.
fn is_torn(state: &Path) -> bool {
    let torn =
        |path: &Path| fs::read(path).is_ok_and(|json| serde_json::from_slice::<IgnoredAny>(&json).is_err());
    if state.is_dir() { STATES.iter().any(|name| torn(&state.join(name))) } else { torn(state) }
}

/// Unmounts what was owned and whatever else is mounted in the folder, the innermost first.
fn unmount_all(folder: &Path, things: &[Owned]) -> Vec<Outcome> {
    let points = match mounts::list_mounts_below(folder) {
        Ok(points) => points,
        Err(e) => return vec![Outcome::new_left(format!("mounts in {}", folder.display()), e)],
    };
    let strays = things.iter().filter_map(|thing| match thing {
        Owned::Mount(point) if !mounts::is_inside(point, folder) => {
            Some(Outcome::new_left(format!("mount {}", point.display()), "it is not in the scratch folder"))
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
        Ok(()) => Outcome::new_removed(what),
        Err(e) => Outcome::new_left(what, e),
    }
}

fn remove_network_namespace(name: &str) -> Option<Outcome> {
    let what = format!("network namespace {name}");
    if !name.starts_with(PREFIX) || name.contains('/') {
        return Some(Outcome::new_left(what, "tare gives no such name"));
    }
    let path = network_namespace::namespace_path(name);
    if !path.exists() {
        return None;
    }
    // The file is a mount point while the namespace lives by it, and a plain file otherwise.
    let _ = unmount(&path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH);
    Some(match fs::remove_file(&path) {
        Ok(()) => {
            // Only the last session leaves it empty.
            let _ = fs::remove_dir(network_namespace::FOLDER);
            Outcome::new_removed(what)
        }
        Err(e) => Outcome::new_left(what, e),
    })
}

fn remove_network_device(namespace: &str, device: &str) -> Option<Outcome> {
    let what = format!("network device {device} in {namespace}");
    if !namespace.starts_with(PREFIX) || namespace.contains('/') {
        return Some(Outcome::new_left(what, "tare gives no namespace such a name"));
    }
    match network_namespace::run_in_namespace(&network_namespace::namespace_path(namespace), || {
        network_device::remove_device(device)
    }) {
        Ok(true) => Some(Outcome::new_removed(what)),
        Ok(false) => None,
        // The namespace is gone, or never was more than a file: its device went with it.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => None,
        Err(e) => Some(Outcome::new_left(what, e)),
    }
}

fn remove_control_group(name: &str) -> Option<Outcome> {
    let what = format!("control group {name}");
    if !name.starts_with(PREFIX) || name.contains('/') {
        return Some(Outcome::new_left(what, "tare gives no such name"));
    }
    match control_groups::remove_groups(name) {
        Ok(true) => Some(Outcome::new_removed(what)),
        Ok(false) => None,
        Err(e) => Some(Outcome::new_left(what, e)),
    }
}

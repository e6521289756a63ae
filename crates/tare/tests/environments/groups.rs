//! Control groups: environments are below those of the process that enters them, so that its limits are theirs.

use std::fs;
use std::path::PathBuf;

use tare_lab::host::mounts::{self, Mount};

use crate::bench::actor::Actor;
use crate::bench::{Bench, parse_if_ready};

const ENVIRONMENTS: [&str; 8] =
    ["native", "container", "bwrap", "nspawn", "gvisor", "oci:runc", "oci:crun", "podman"];

/// Groups of a name below this process's own: of each hierarchy its kinds, and the folder.
struct Groups {
    name: String,
    made: Vec<(String, PathBuf)>,
}

impl Groups {
    fn make() -> Groups {
        let name = format!("shell-{}", std::process::id());
        let mounts = mounts::list_mounts().unwrap();
        let make = |line: &str| {
            let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
            let is_of = |mount: &&Mount| match kinds {
                "" => mount.filesystem == "cgroup2",
                _ => mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == kinds),
            };
            let group = mounts.iter().find(is_of)?.point.join(path.trim_start_matches('/')).join(&name);
            // A group of cpuset takes no process before it has processors.
            (kinds != "cpuset" && fs::create_dir(&group).is_ok()).then(|| (kinds.to_owned(), group))
        };
        let made = fs::read_to_string("/proc/self/cgroup").unwrap().lines().filter_map(make).collect();
        Groups { name, made }
    }

    /// Lists what a process is in without being below these.
    fn list_others(&self, groups: &str) -> Vec<String> {
        let is_other = |line: &&str| {
            let (kinds, path) = line.split_once(':').unwrap().1.split_once(':').unwrap();
            self.made.iter().any(|(made, _)| made == kinds) && !path.contains(&self.name)
        };
        groups.lines().filter(is_other).map(str::to_owned).collect()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.made.iter().for_each(|(_, group)| drop(fs::remove_dir(group)));
    }
}

#[test]
fn environments_stay_below_the_groups_of_the_process_that_enters_them() {
    let test = "environments_stay_below_the_groups_of_the_process_that_enters_them";
    let groups = Groups::make();
    if groups.made.is_empty() {
        return println!("SKIPPED {test}: no control group may be made");
    }
    let bench = Bench::new();
    let is_ready = |text: &&str| parse_if_ready(test, text).is_some();
    let ready: Vec<&str> = ENVIRONMENTS.into_iter().filter(is_ready).collect();
    let mut actor = Actor::start_in(&bench, &ready, groups.made.iter().map(|(_, group)| group));
    actor.wait_until_ready();
    let session = fs::read_dir(bench.scratch_folder()).unwrap().next().unwrap().unwrap().file_name();
    let mark = format!("TARE_SESSION={}/", session.to_str().unwrap().strip_prefix("tare-").unwrap());
    let mut found = 0;
    for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|word| word.starts_with(mark.as_bytes())) {
            let of = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            let words = String::from_utf8_lossy(&fs::read(process.join("cmdline")).unwrap_or_default())
                .replace('\0', " ");
            assert_eq!(groups.list_others(&of), [""; 0], "{words}");
            found += 1;
        }
    }
    actor.dismiss();
    assert!(found >= ready.len(), "{found} processes of {}", ready.len());
    assert!(
        groups
            .made
            .iter()
            .all(|(_, group)| fs::read_dir(group).unwrap().flatten().all(|entry| !entry.path().is_dir()))
    );
}

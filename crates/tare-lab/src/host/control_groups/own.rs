//! Own groups: control groups below this process's own, so that its limits hold for all that it starts, and by which whatever a
//! start leaves running is found. None is made at a hierarchy's root, unless this process is there.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::error::{ErrorKind, LabError};
use crate::host::mounts::{self, Mount};

/// Files of a group: its processes, the threads of version 1, and what a group of version 2 gives to those below it.
const PROCESSES: &str = "cgroup.procs";
const THREADS: &str = "tasks";
const GIVEN: &str = "cgroup.subtree_control";
/// Group below the session's, into which this process moves where groups beside it are to have limits.
const LEAF: &str = "tare";

/// Use that a group is made for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Telling its processes from others: in one hierarchy that limits nothing.
    Apart,
    /// Groups that a program makes below its own: in each hierarchy that limits nothing.
    Below,
    /// Limits of these controllers: in every hierarchy that has some of them, where each of these files that is there gets its text.
    Limits(&'a [&'a str], &'a [(&'a str, String)]),
}

/// Hierarchies that are mounted here, and the session's group in each, which is made with the first group in it.
#[derive(Debug)]
pub struct OwnGroups {
    session: String,
    hierarchies: Vec<Hierarchy>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    /// The folder of the group in which this process is.
    own: PathBuf,
    /// The folder of the group that is the hierarchy's root, as far as it is mounted.
    point: PathBuf,
    /// Controllers, or a name, with commas between; empty for version 2.
    kinds: String,
}

impl Hierarchy {
    fn limits(&self, controllers: &[&str]) -> bool {
        let kinds = match self.kinds.is_empty() {
            true => read(&self.own.join("cgroup.controllers")),
            false => self.kinds.replace(',', " "),
        };
        kinds.split_whitespace().any(|kind| controllers.contains(&kind))
    }

    fn limits_nothing(&self) -> bool {
        self.kinds.is_empty() || self.kinds.starts_with("name=")
    }

    /// Tells whether processes in the group keep it from giving controllers to those below: in version 2, but at the root of all.
    fn needs_leaf(&self) -> bool {
        self.kinds.is_empty() && self.own.join("cgroup.type").exists()
    }

    /// Explains why groups below this process's own cannot have limits.
    fn explain_refusal(&self) -> Option<String> {
        let pids = read(&self.own.join(PROCESSES));
        let others = pids.lines().filter(|pid| pid.parse() != Ok(std::process::id())).count();
        (self.needs_leaf() && others > 0).then(|| {
            format!("{} holds {others} processes besides tare, and can give no limits", self.own.display())
        })
    }

    /// Has this process's group and the session's give controllers to those below.
    fn give_controllers(&self, session: &Path, controllers: &[&str]) -> io::Result<()> {
        if let Some(reason) = self.explain_refusal() {
            return Err(io::Error::other(reason));
        }
        let available = read(&self.own.join("cgroup.controllers"));
        let given = available.split_whitespace().filter(|name| controllers.contains(name));
        let given: Vec<String> = given.map(|name| format!("+{name}")).collect();
        if self.needs_leaf() {
            let leaf = session.join(LEAF);
            unless_there(fs::create_dir(&leaf))?;
            fs::write(leaf.join(PROCESSES), "0")?;
        }
        [&self.own, session].iter().try_for_each(|group| fs::write(group.join(GIVEN), given.join(" ")))
    }
}

impl OwnGroups {
    /// Finds this process's groups, for those of a session of this name.
    pub(crate) fn find(session: &str) -> OwnGroups {
        let groups = read(Path::new("/proc/self/cgroup"));
        OwnGroups::parse(session, &groups, &mounts::list_mounts().unwrap_or_default())
    }

    pub(super) fn parse(session: &str, groups: &str, mounts: &[Mount]) -> OwnGroups {
        let find = |line: &str| {
            // `4:memory:/user.slice`, `0::/user.slice`: number, controllers, path.
            let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
            let has =
                |mount: &Mount| kinds.split(',').all(|kind| mount.options.split(',').any(|o| o == kind));
            let mount = mounts.iter().rfind(|mount| match mount.filesystem.as_str() {
                "cgroup2" => kinds.is_empty(),
                "cgroup" => !kinds.is_empty() && has(mount),
                _ => false,
            })?;
            // A mount may show a part that this process is not in: its group cannot be reached then.
            let below = Path::new(path).strip_prefix(&mount.root).ok()?;
            let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
            is_inside.then(|| Hierarchy {
                own: mount.point.join(below),
                point: mount.point.clone(),
                kinds: kinds.to_owned(),
            })
        };
        OwnGroups { session: session.to_owned(), hierarchies: groups.lines().filter_map(find).collect() }
    }

    /// Lists the folders of the session's group, for the journal: it has them before any is made.
    pub(crate) fn list_folders(&self) -> Vec<PathBuf> {
        self.hierarchies.iter().map(|hierarchy| hierarchy.own.join(&self.session)).collect()
    }

    /// Lists the folders of this process's group and of the root that is mounted, of each hierarchy.
    pub(crate) fn list_mounted(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.hierarchies.iter().map(|hierarchy| (&*hierarchy.own, &*hierarchy.point))
    }

    /// Formats the path, below this process's groups, of the group of a start.
    pub(crate) fn format_path(&self, start: u32) -> String {
        format!("/{}/{start:05}", self.session)
    }

    /// Returns the folder of the session's group in which its starts are told apart.
    pub(crate) fn find_apart(&self) -> Option<PathBuf> {
        let apart = self.hierarchies.iter().find(|hierarchy| hierarchy.limits_nothing())?;
        Some(apart.own.join(&self.session))
    }

    /// Explains why no group can have limits of these controllers.
    pub(crate) fn explain_refusal(&self, controllers: &[&str]) -> Option<String> {
        let mut limiting = self.hierarchies.iter().filter(|hierarchy| hierarchy.limits(controllers));
        limiting.find_map(Hierarchy::explain_refusal)
    }

    /// Makes a group of this name, which no other of the session has, in the session's group.
    pub(crate) fn below_own(&self, name: &str, purpose: Purpose<'_>) -> Result<PlacedGroup, LabError> {
        let make = |hierarchy: &Hierarchy| -> io::Result<PathBuf> {
            let session = hierarchy.own.join(&self.session);
            unless_there(fs::create_dir(&session))?;
            let group = session.join(name);
            if let (Purpose::Limits(controllers, _), true) = (purpose, hierarchy.kinds.is_empty()) {
                hierarchy.give_controllers(&session, controllers)?;
            }
            unless_there(fs::create_dir(&group))?;
            if let Purpose::Limits(_, limits) = purpose {
                let mut known = limits.iter().filter(|(file, _)| group.join(file).exists());
                known.try_for_each(|(file, value)| fs::write(group.join(file), value))?;
            }
            Ok(group)
        };
        let mut placed = Vec::new();
        for hierarchy in &self.hierarchies {
            let is_wanted = match purpose {
                Purpose::Limits(controllers, _) => hierarchy.limits(controllers),
                Purpose::Below => hierarchy.limits_nothing(),
                Purpose::Apart => placed.is_empty() && hierarchy.limits_nothing(),
            };
            if !is_wanted {
                continue;
            }
            match make(hierarchy) {
                Err(e) if !matches!(purpose, Purpose::Apart) => {
                    let what = format!("cannot make a control group below {}", hierarchy.own.display());
                    return Err(LabError::new(ErrorKind::Environment, what).with_cause(e));
                }
                made => placed.extend(made.ok()),
            }
        }
        match placed.is_empty() {
            true => Err(LabError::new(ErrorKind::Environment, "no control group may be made here")),
            false => Ok(PlacedGroup(placed)),
        }
    }

    /// Leaves the leaf that limits needed, so that the session's group can be removed. This process's group gave nothing before.
    pub(crate) fn leave(&self) {
        for Hierarchy { own, .. } in &self.hierarchies {
            let session = own.join(&self.session);
            if session.join(LEAF).exists() {
                for group in [&session, own] {
                    let given = read(&group.join(GIVEN));
                    let taken = given.split_whitespace().map(|name| format!("-{name}"));
                    let _ = fs::write(group.join(GIVEN), taken.collect::<Vec<_>>().join(" "));
                }
                let _ = fs::write(own.join(PROCESSES), "0");
            }
        }
    }
}

/// A group that was made, by its folder in each hierarchy. It is removed by the journal.
#[derive(Debug)]
pub struct PlacedGroup(Vec<PathBuf>);

impl PlacedGroup {
    /// Returns the file that lists its processes.
    pub(crate) fn find_list(&self) -> Option<PathBuf> {
        Some(self.0.first()?.join(PROCESSES))
    }

    /// Starts a command in the group, whatever it sees of this machine's files by then.
    pub(crate) fn join(&self, command: &mut Command) -> Result<(), LabError> {
        let open = |group: &PathBuf| {
            let list = |name| File::options().write(true).open(group.join(name));
            // A thread moves alone at once. For a whole process the kernel waits until all others notice, some ms.
            list(THREADS).or_else(|_| list(PROCESSES))
        };
        let failed = |e| LabError::new(ErrorKind::Environment, "cannot enter a control group").with_cause(e);
        let lists: Vec<File> = self.0.iter().map(open).collect::<io::Result<_>>().map_err(failed)?;
        let enter = move || {
            // Zero is whoever writes.
            lists.iter().try_for_each(|list| rustix::io::write(list, b"0").map(drop))?;
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// Has this thread do something in the group: what it starts is there from its beginning, and pays nothing for the move.
    pub(crate) fn stay_for<T>(&self, act: impl FnOnce() -> T) -> T {
        let enter = |group: &Path| {
            drop(fs::write(group.join(THREADS), "0").or_else(|_| fs::write(group.join(PROCESSES), "0")));
        };
        self.0.iter().for_each(|group| enter(group));
        let done = act();
        for session in self.0.iter().filter_map(|group| group.parent()) {
            let leaf = session.join(LEAF);
            enter(if leaf.exists() { &leaf } else { session.parent().unwrap_or(session) });
        }
        done
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(filesystem: &str, root: &str, point: &Path, options: &str) -> Mount {
        let (number, source) = (String::new(), String::new());
        let [root, filesystem, options] = [root, filesystem, options].map(str::to_owned);
        Mount { number, root, point: point.to_owned(), filesystem, source, options }
    }

    /// Simulates a group of version 2 with these processes.
    fn second_version(processes: &str) -> (tempfile::TempDir, OwnGroups) {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.controllers"), "cpuset cpu io memory pids\n").unwrap();
        fs::write(own.join("cgroup.type"), "domain\n").unwrap();
        fs::write(own.join(PROCESSES), processes).unwrap();
        let groups = OwnGroups::parse("tare-x", "0::/a/b\n", &[mount("cgroup2", "/", top.path(), "rw")]);
        (top, groups)
    }

    const LIMITED: Purpose<'_> = Purpose::Limits(&["cpu", "memory"], &[]);

    #[test]
    fn groups_are_below_the_own_in_each_hierarchy() {
        let top = tempfile::tempdir().unwrap();
        let point = |name: &str| top.path().join(name);
        for own in ["systemd", "cpu/quota", "memory/job", "unified/a"] {
            fs::create_dir_all(point(own)).unwrap();
        }
        let mounts = [
            mount("cgroup", "/", &point("systemd"), "rw,name=systemd"),
            mount("cgroup", "/", &point("cpu"), "rw,cpu,cpuacct"),
            // A part of the hierarchy, as in a container.
            mount("cgroup", "/docker", &point("memory"), "rw,memory"),
            mount("cgroup", "/docker", &point("pids"), "rw,pids"),
            mount("cgroup2", "/", &point("unified"), "rw"),
        ];
        let text = "9:name=systemd:/\n4:cpu,cpuacct:/quota\n3:memory:/docker/job\n2:pids:/elsewhere\n1:freezer:/f\n0::/a\n";
        let groups = OwnGroups::parse("tare-x", text, &mounts);
        let owns = ["systemd/tare-x", "cpu/quota/tare-x", "memory/job/tare-x", "unified/a/tare-x"];
        assert_eq!(groups.list_folders(), owns.map(point));
        assert_eq!(groups.below_own("1", Purpose::Apart).unwrap().0, [point("systemd/tare-x/1")]);
        let limited = groups.below_own("1", LIMITED).unwrap();
        assert_eq!(limited.0, [point("cpu/quota/tare-x/1"), point("memory/job/tare-x/1")]);
        assert!(!point("unified/a/tare-x").exists());
        // A group that is outside of what can be seen.
        assert!(OwnGroups::parse("tare-x", "0::/../..\n", &mounts).list_folders().is_empty());
    }

    #[test]
    fn limits_of_version_2_move_this_process_into_a_leaf_and_back() {
        let (top, groups) = second_version(&format!("{}\n", std::process::id()));
        let (own, session) = (top.path().join("a/b"), top.path().join("a/b/tare-x"));
        assert_eq!(groups.below_own("1", Purpose::Apart).unwrap().0, [session.join("1")]);
        assert!(!own.join(GIVEN).exists() && !session.join(LEAF).exists());
        assert_eq!(groups.below_own("2", LIMITED).unwrap().0, [session.join("2")]);
        assert_eq!([&own, &session].map(|group| read(&group.join(GIVEN))), ["+cpu +memory"; 2]);
        assert_eq!(read(&session.join("tare/cgroup.procs")), "0");
        // The kernel answers without the signs.
        fs::write(own.join(GIVEN), "cpu memory").unwrap();
        fs::write(session.join(GIVEN), "cpu memory").unwrap();
        groups.leave();
        assert_eq!([&own, &session].map(|group| read(&group.join(GIVEN))), ["-cpu -memory"; 2]);
        assert_eq!(read(&own.join(PROCESSES)), "0");
    }

    #[test]
    fn a_group_with_other_processes_gives_no_limits_unless_it_is_the_root() {
        let (top, groups) = second_version("1\n2\n");
        let refused = groups.below_own("1", LIMITED).unwrap_err();
        assert!(refused.causes().any(|cause| cause.contains("holds 2 processes besides tare")), "{refused}");
        assert!(groups.explain_refusal(&["cpu"]).is_some() && groups.explain_refusal(&["rdma"]).is_none());
        assert!(groups.below_own("1", Purpose::Apart).is_ok());
        fs::remove_file(top.path().join("a/b/cgroup.type")).unwrap();
        assert!(groups.below_own("2", LIMITED).is_ok());
    }

    #[test]
    fn a_command_is_in_its_group_from_the_beginning() {
        let session = format!("tare-test-{}", std::process::id());
        let groups = OwnGroups::find(&session);
        let Ok(placed) = groups.below_own("1", Purpose::Apart) else {
            return println!("SKIPPED a_command_is_in_its_group_from_the_beginning: no group may be made");
        };
        let mut command = Command::new("cat");
        placed.join(command.arg("/proc/self/cgroup")).unwrap();
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(output.lines().any(|line| line.ends_with(&format!("/{session}/1"))), "{output}");
        for group in groups.list_folders() {
            crate::host::control_groups::remove_group(&group, &|_| false).unwrap();
            assert!(!group.exists());
        }
    }
}

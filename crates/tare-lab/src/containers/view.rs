//! A view: a root folder of this machine's as an environment may change it. Every file system has a layer over it, in the
//! folder of the start; what is written goes there and is thrown away. It is mounted for what is started alone.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;
use rustix::thread::UnshareFlags;
use tare_data::facts::Facts;

use crate::containers::devices::{self, Devices};
use crate::containers::private_mounts;
use crate::containers::silent_mounts::find_silent;
use crate::containers::steps::{Failed, Steps};
use crate::containers::user_namespaces;
use crate::error::{ErrorKind, LabError};
use crate::host::mounts::{self, Mount};
use crate::owned::is_of_another_session;
use crate::provider::root::{RootFolder, Work};
use crate::provider::{NotReady, Workspace};

/// Folder of the agent and the places in a view.
pub const BASE: &str = "/run/tare";
/// A folder in which everybody may write, below the layer of the machine's files like those that commands work with.
pub const WORK: &str = "/var/tmp";
/// Folders that runtimes mount on or write to.
pub const FOLDERS: [(&str, u32); 6] =
    [("dev", 0o755), ("etc", 0o755), ("proc", 0o755), ("run", 0o755), ("sys", 0o755), ("tmp", 0o1777)];
/// Folders that the kernel or a runtime mounts afresh, with everything below.
const FRESH: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Mount point of the control groups.
const GROUPS: &str = "/sys/fs/cgroup";
/// File systems that hold no files of anybody's, or whose files cannot lie below a layer.
const NO_FILES: [&str; 13] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "devpts",
    "devtmpfs",
    "nsfs",
    "proc",
    "rpc_pipefs",
    "sysfs",
    "tracefs",
];
/// A flag of a mount, with its name.
type Flag = (&'static str, MountFlags);
/// Options of a mount that a layer does not take over from what lies below it.
const FLAGS: [Flag; 3] =
    [("nosuid", MountFlags::NOSUID), ("nodev", MountFlags::NODEV), ("noexec", MountFlags::NOEXEC)];
/// File systems that cannot hold a layer: what is written is then kept in memory.
pub(super) const NO_LAYER: &str = "overlay";
/// The empty folder over the session's own.
const SCRATCH: &str = "mode=700,size=4k";
/// Largest file that is shown as a copy, where a single file is mounted.
const LARGEST_COPY: u64 = 1 << 20;

/// Checks that a view of this root can be made here.
pub fn check_view_ready(root: &RootFolder) -> Result<(), NotReady> {
    if let RootFolder::Folder(folder) = root
        && !folder.is_dir()
    {
        return Err(NotReady::from_reason(format!("the folder {} does not exist", folder.display())));
    }
    match (root, private_mounts::can_make_mount_namespace()) {
        (RootFolder::Empty, _) => Ok(()),
        (_, true) => user_namespaces::try_namespaces(UnshareFlags::NEWNS),
        (_, false) => user_namespaces::check_user_namespaces(),
    }
}

/// Lists the steps that mount a view of `lower` at a path, with the start's `base` in it, and facts of it.
pub fn make_view_steps(
    workspace: &dyn Workspace,
    lower: &Path,
    at: &Path,
    base: &Path,
) -> Result<(Steps, Facts), LabError> {
    let what = "cannot show this machine's files";
    let failed = |e: io::Error| LabError::new(ErrorKind::Environment, what).with_cause(e);
    let layers = workspace.folder().join("layers");
    let on = mounts::find_mount(workspace.folder()).map(|mount| mount.filesystem).unwrap_or_default();
    let is_in_memory = on == NO_LAYER;
    let mut facts = Facts::default();
    facts.add_fact("root", if lower == Path::new("/") { "host" } else { "folder" });
    facts.add_fact("root.upper", if is_in_memory { "tmpfs" } else { &on });
    let (steps, own) = (Steps::default(), workspace.session_folder());
    let mut view = View { steps, at, own, layers, number: 0, silent: Vec::new() };
    let begun = view.begin(is_in_memory).and_then(|()| view.whole(lower, workspace));
    begun.map_err(failed)?;
    if let Some(work) = &workspace.inside().work {
        view.work(work, lower, workspace).map_err(|e| LabError::usage_error(what).with_cause(e))?;
    }
    view.folders(Path::new(BASE))
        .and_then(|()| view.steps.add_bind_mount(base, &view.outside(Path::new(BASE))))
        .and_then(|()| view.folders(Path::new(WORK)))
        .map_err(failed)?;
    Ok((view.steps, facts))
}

/// Lists the steps that show a folder read-only, without the session's own files, to a machine that adds its
/// own layer.
pub fn read_only(workspace: &dyn Workspace, lower: &Path, at: &Path) -> io::Result<Steps> {
    let mut steps = Steps::default();
    steps.bind_with_below(lower, at)?;
    steps.read_only(at)?;
    // Users other than root may not change every mount; the machine itself opens it for reading only.
    steps.make_optional();
    if let Ok(inside) = workspace.session_folder().strip_prefix(lower) {
        steps.add_mount("tmpfs", &at.join(inside), MountFlags::RDONLY, SCRATCH)?;
    }
    Ok(steps)
}

/// Makes the folders of layers over this machine's, for a daemon that mounts each by itself; returns their paths here and inside, with
/// the options of their mounts. What the mounts of other containers hold is left out.
pub(super) fn make_layers(workspace: &dyn Workspace) -> io::Result<Vec<(PathBuf, String)>> {
    let (root, own, all) = (Path::new("/"), workspace.session_folder(), mounts::list_mounts()?);
    let below = below(&all, root, own);
    let with_files: Vec<&Mount> = below.iter().copied().filter(|mount| shows(mount, own)).collect();
    let silent = find_silent(workspace, &with_files);
    let is_shown = |path: &PathBuf| {
        let is_hidden = |mount: &&Mount| mount.point == *path && !shows(mount, own);
        !silent.contains(path) && !is_fresh(path, root) && !below.iter().any(is_hidden)
    };
    let folders =
        fs::read_dir(root)?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let inner =
        with_files.iter().filter(|mount| mount.point.parent() != Some(root) && !is_of_container(mount));
    let shown =
        folders.map(|entry| entry.path()).chain(inner.map(|mount| mount.point.clone())).filter(is_shown);
    let layers = workspace.folder().join("layers");
    let mut view = View { steps: Steps::default(), at: root, own, layers, number: 0, silent: Vec::new() };
    view.begin(false)?;
    let mut made = Vec::new();
    for path in shown.filter(|path| path.is_dir()) {
        let options = mounts::find_mount(&path).map(|mount| mount.options).unwrap_or_default();
        let (flags, data) = view.layer_folders(&path, &options)?;
        let flags: String = flags.iter().map(|(name, _)| format!("{name},")).collect();
        made.push((path, flags + &data));
    }
    let failed = |Failed { what, errno }| io::Error::other(format!("{}: {errno}", what.to_string_lossy()));
    view.steps.run_steps().map_err(failed)?;
    Ok(made)
}

/// Refuses a folder of commands in whose place every environment has another.
pub(super) fn check_work(folder: &Path) -> io::Result<()> {
    if folder.parent().is_none() || FRESH.iter().any(|fresh| folder.starts_with(fresh)) {
        let reason = format!("commands cannot work in {}: inside there is another", folder.display());
        return Err(io::Error::other(reason));
    }
    Ok(())
}

/// Adds what runtimes give a root: /proc, /sys, /dev and the shares.
pub fn furnish_root(steps: &mut Steps, at: &Path, shares: &[(PathBuf, String)]) -> io::Result<()> {
    let no_programs = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if private_mounts::can_make_mount_namespace() {
        steps.add_mount("proc", &at.join("proc"), no_programs, "")?;
        steps.add_mount("sysfs", &at.join("sys"), no_programs | MountFlags::RDONLY, "")?;
    } else {
        // Users other than root may mount neither for processes and a network that are the host's.
        steps.bind_with_below(Path::new("/proc"), &at.join("proc"))?;
        steps.bind_with_below(Path::new("/sys"), &at.join("sys"))?;
    }
    steps.append(devices::make_device_steps(at, Devices::All)?);
    for (path, inside) in shares {
        steps.bind_with_below(path, &outside(at, Path::new(inside)))?;
    }
    Ok(())
}

/// Shows the control groups of this machine in a root that was furnished, as far as this user may: a launcher joins one of them.
pub fn show_groups(steps: &mut Steps, at: &Path) -> io::Result<()> {
    if private_mounts::can_make_mount_namespace() && Path::new(GROUPS).exists() {
        steps.bind_with_below(Path::new(GROUPS), &outside(at, Path::new(GROUPS)))?;
        steps.make_optional();
    }
    Ok(())
}

struct View<'a> {
    steps: Steps,
    at: &'a Path,
    /// Folder of the session.
    own: &'a Path,
    /// Folder of the layers.
    layers: PathBuf,
    number: u32,
    /// Mounts that do not answer.
    silent: Vec<PathBuf>,
}

impl View<'_> {
    fn begin(&mut self, is_in_memory: bool) -> io::Result<()> {
        self.steps.add_folder(&self.layers, 0o700, None)?;
        match is_in_memory {
            true => self.steps.add_mount("tmpfs", &self.layers, MountFlags::empty(), "mode=700"),
            false => Ok(()),
        }
    }

    /// Adds a folder and everything mounted below it, with layers over them.
    fn whole(&mut self, lower: &Path, workspace: &dyn Workspace) -> io::Result<()> {
        let (all, scratch) = (mounts::list_mounts()?, workspace.session_folder());
        let below = below(&all, lower, scratch);
        let with_files: Vec<&Mount> = below.iter().copied().filter(|mount| shows(mount, scratch)).collect();
        self.silent = find_silent(workspace, &with_files);
        for point in &self.silent {
            self.steps.leave_out(format!("{}, which does not answer", point.display()))?;
        }
        match private_mounts::can_make_mount_namespace() {
            true => self.mounts(lower, &below)?,
            false => self.pieces(lower, lower, &below).and_then(|()| self.temporary(lower, &below))?,
        }
        for (name, mode) in FOLDERS {
            self.steps.add_folder(&self.at.join(name), mode, None)?;
        }
        // The session's own files are not shown.
        if let Ok(inside) = scratch.strip_prefix(lower) {
            self.steps.add_mount("tmpfs", &self.at.join(inside), MountFlags::empty(), SCRATCH)?;
        }
        Ok(())
    }

    /// Adds a layer over a folder, and over everything that is mounted below it.
    fn mounts(&mut self, lower: &Path, below: &[&Mount]) -> io::Result<()> {
        let options = mounts::find_mount(lower).map(|mount| mount.options).unwrap_or_default();
        self.layer(lower, Path::new("/"), &options)?;
        let own = self.own;
        for mount in below.iter().filter(|mount| shows(mount, own)) {
            if self.silent.contains(&mount.point) {
                continue;
            }
            let inside = within(&mount.point, lower);
            if mount.point.is_dir() {
                self.layer(&mount.point, &inside, &mount.options)?;
                self.steps.make_optional();
            } else {
                self.copy(&mount.point, &inside)?;
            }
        }
        Ok(())
    }

    /// Adds layers for users other than root: the kernel then refuses a layer over a folder below which
    /// something is mounted. Such folders are made afresh, and their entries have layers of their own.
    fn pieces(&mut self, top: &Path, lower: &Path, below: &[&Mount]) -> io::Result<()> {
        let at = self.outside(&within(top, lower));
        self.steps.add_mount("tmpfs", &at, MountFlags::empty(), "mode=755")?;
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            // Nothing of a folder that cannot be read can be used either.
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type()?);
                let inside = within(&path, lower);
                let mount = below.iter().find(|mount| mount.point == path);
                let is_hidden = mount
                    .map_or_else(|| is_of_another_session(&path, self.own), |mount| !shows(mount, self.own));
                if is_fresh(&path, lower) || is_hidden {
                    continue;
                } else if self.silent.contains(&path) {
                    self.steps.add_folder(&self.outside(&inside), 0o755, None)?;
                } else if kind.is_symlink() {
                    let to = fs::read_link(&path)?;
                    self.steps.add_link(&to.to_string_lossy(), &self.outside(&inside))?;
                } else if !kind.is_dir() {
                    self.copy(&path, &inside)?;
                } else {
                    let Ok(about) = fs::metadata(&path) else { continue };
                    self.steps.add_folder(&self.outside(&inside), about.mode() & 0o7777, None)?;
                    if below.iter().any(|mount| mount.point != path && mount.point.starts_with(&path)) {
                        folders.push(path);
                        continue;
                    }
                    let options = mounts::find_mount(&path).map(|mount| mount.options).unwrap_or_default();
                    let is_readable = fs::read_dir(&path).is_ok();
                    self.layer(&path, &inside, &options)?;
                    // Other programs' folders may go before the step is done.
                    self.steps.need_while_there();
                    if mount.is_some() || !is_readable {
                        self.steps.make_optional();
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a layer over the folder of temporary files, for users other than root: the kernel cannot copy it
    /// into the layer over /var, since somebody else owns it. Where something is mounted in it, it was made afresh already.
    fn temporary(&mut self, lower: &Path, below: &[&Mount]) -> io::Result<()> {
        let folder = lower.join(WORK.trim_start_matches('/'));
        if below.iter().any(|mount| mount.point.starts_with(&folder)) {
            return Ok(());
        }
        let Ok(about) = fs::symlink_metadata(&folder) else { return Ok(()) };
        let options = mounts::find_mount(&folder).map(|mount| mount.options).unwrap_or_default();
        match about.is_dir() {
            true => self.layer(&folder, Path::new(WORK), &options),
            false => Ok(()),
        }
    }

    /// Adds a layer over one file system's folder.
    fn layer(&mut self, lower: &Path, inside: &Path, options: &str) -> io::Result<()> {
        let (flags, data) = self.layer_folders(lower, options)?;
        let flags = flags.iter().fold(MountFlags::empty(), |flags, (_, flag)| flags | *flag);
        self.steps.add_mount("overlay", &self.outside(inside), flags, &data)
    }

    /// Adds the folders of a layer over one file system's folder; returns the flags and the options of its mount.
    fn layer_folders(&mut self, lower: &Path, options: &str) -> io::Result<(Vec<Flag>, String)> {
        // The folder itself is the layer's.
        let (about, is_root) = (fs::metadata(lower)?, private_mounts::can_make_mount_namespace());
        let folder = self.layers.join(self.number.to_string());
        let owner = is_root.then(|| (about.uid(), about.gid()));
        self.number += 1;
        self.steps.add_folder(&folder, 0o700, None)?;
        self.steps.add_folder(&folder.join("upper"), about.mode() & 0o7777, owner)?;
        self.steps.add_folder(&folder.join("work"), 0o700, None)?;
        let flags = FLAGS.into_iter().filter(|(name, _)| options.split(',').any(|option| option == *name));
        // With redirection a folder can be renamed, as it can without a layer; the kernel trusts root alone with it.
        let more = if is_root { "redirect_dir=on" } else { "userxattr" };
        let data = format!(
            "lowerdir={},upperdir={},workdir={},{more}",
            escaped(lower)?,
            escaped(&folder.join("upper"))?,
            escaped(&folder.join("work"))?
        );
        Ok((flags.collect(), data))
    }

    /// Copies a single file that is mounted, like the /etc/resolv.conf of many containers.
    fn copy(&mut self, file: &Path, inside: &Path) -> io::Result<()> {
        let fits = fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST_COPY);
        if !fits {
            return Ok(());
        }
        let copies = self.layers.with_file_name("copies");
        fs::create_dir_all(&copies)?;
        let copy = copies.join(self.number.to_string());
        self.number += 1;
        if fs::copy(file, &copy).is_ok() {
            self.steps.add_bind_mount(&copy, &self.outside(inside))?;
            self.steps.make_optional();
        }
        Ok(())
    }

    /// Adds the folder that commands work in, under its own path; one that they may write to is a share,
    /// mounted later.
    fn work(&mut self, work: &Work, lower: &Path, workspace: &dyn Workspace) -> io::Result<()> {
        let folder = &work.folder;
        // The view itself.
        if folder.parent().is_none() && !work.shared && lower == Path::new("/") {
            return Ok(());
        }
        check_work(folder)?;
        // Root's layers show it already. Others cannot write below a folder of somebody else's but in a layer of its own.
        if lower == Path::new("/") && private_mounts::can_make_mount_namespace() {
            return Ok(());
        }
        self.folders(folder)?;
        if work.shared {
            return Ok(());
        }
        let (all, is_root) = (mounts::list_mounts()?, private_mounts::can_make_mount_namespace());
        let below = below(&all, folder, workspace.session_folder());
        if !is_root && !below.is_empty() {
            return self.pieces(folder, Path::new("/"), &below);
        }
        let options = mounts::find_mount(folder).map(|mount| mount.options).unwrap_or_default();
        self.layer(folder, folder, &options)
    }

    /// Makes a folder inside, with all its parents.
    fn folders(&mut self, inside: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = inside.ancestors().filter(|path| path.parent().is_some()).collect();
        above.reverse();
        above.into_iter().try_for_each(|path| self.steps.add_folder(&self.outside(path), 0o755, None))
    }

    fn outside(&self, inside: &Path) -> PathBuf {
        outside(self.at, inside)
    }
}

fn outside(at: &Path, inside: &Path) -> PathBuf {
    at.join(inside.strip_prefix("/").unwrap_or(inside))
}

/// Maps a path in the folder of a view to its path inside.
fn within(path: &Path, lower: &Path) -> PathBuf {
    Path::new("/").join(path.strip_prefix(lower).unwrap_or(path))
}

/// Selects what is mounted below a folder and is not in the folder of this session.
fn below<'a>(all: &'a [Mount], folder: &Path, scratch: &Path) -> Vec<&'a Mount> {
    on_top(all)
        .filter(|mount| mount.point != folder && mount.point.starts_with(folder))
        .filter(|mount| !is_fresh(&mount.point, folder) && !mount.point.starts_with(scratch))
        .collect()
}

fn is_fresh(path: &Path, lower: &Path) -> bool {
    FRESH.iter().any(|fresh| within(path, lower).starts_with(fresh))
}

/// Tells whether a mount has files to be shown. Another session's would stay busy below a layer when that session ends.
fn shows(mount: &Mount, own: &Path) -> bool {
    has_files(mount) && !is_of_another_session(&mount.point, own)
}

fn has_files(mount: &Mount) -> bool {
    !NO_FILES.contains(&mount.filesystem.as_str())
}

/// Recognises what an engine mounts for a container, and removes with it.
fn is_of_container(mount: &Mount) -> bool {
    mount.filesystem == NO_LAYER || mount.point.ends_with("shm")
}

/// Selects mounts, of several at one point the one on top.
fn on_top(all: &[Mount]) -> impl Iterator<Item = &Mount> {
    let is_covered = |i: usize| all[i + 1..].iter().any(|later| later.point == all[i].point);
    (0..all.len()).filter(move |i| !is_covered(*i)).map(|i| &all[i])
}

/// Escapes a path for an option of a layer: a comma would end the option, and a colon the path.
fn escaped(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", path.display())))?;
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | ',' | ':') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    Ok(escaped)
}

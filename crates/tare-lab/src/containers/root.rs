//! The root folder of an environment: nothing but the agent and the folders that an environment mounts on, or a view of
//! this machine's own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::thread::UnshareFlags;
use tare_data::facts::Facts;
use tare_probes::harness::folder::spread_folders;
use tare_probes::tiny::FILE;

use crate::containers::private_mounts;
use crate::containers::steps::Steps;
use crate::containers::view;
use crate::error::LabError;
use crate::host::mounts;
use crate::provider::root::{RootFolder, Work};
use crate::provider::{FAILED_STEP, Workspace};
use crate::storage::places::{WORK, folder_inside};

/// Path of the agent in a root that has nothing else.
pub const AGENT: &str = "/tare";
/// The place `own` in such a root.
pub const OWN: &str = "/own";
/// A root folder on the host, and what is where in it.
#[derive(Clone, Debug)]
pub struct Root {
    path: RootPath,
    /// The host's folder with the agent and the places.
    base: PathBuf,
    /// Path of that folder inside, without a slash at its end.
    base_inside: &'static str,
    /// Path of the agent inside.
    pub agent: String,
    /// Host folders with the paths inside at which they are to be mounted.
    pub shares: Vec<(PathBuf, String)>,
    /// Places by name with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Steps that mount a view; None where the root is a plain folder.
    view: Option<Steps>,
    facts: Facts,
}

/// The path of a root on the host: always a folder that a start has made, so that nothing is ever given `/` itself.
#[derive(Clone, Debug)]
pub struct RootPath(PathBuf);

impl RootPath {
    fn below(start: &Path, name: &str) -> RootPath {
        let path = start.join(name);
        assert!(
            path.parent().is_some_and(|parent| parent.parent().is_some()),
            "a root lies in the folder of a start"
        );
        RootPath(path)
    }
}

impl AsRef<Path> for RootPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Root {
    /// Builds a root folder in the folder of a start; of a view, what it is mounted on.
    pub fn build(workspace: &dyn Workspace) -> Result<Root, LabError> {
        let lower = match &workspace.inside().root {
            RootFolder::Empty => None,
            RootFolder::Host => Some(Path::new("/")),
            RootFolder::Folder(folder) => Some(folder.as_path()),
        };
        let path = RootPath::below(workspace.folder(), if lower.is_some() { "view" } else { "root" });
        let base = if lower.is_some() { workspace.folder().join("base") } else { path.0.clone() };
        let (base_inside, agent) = if lower.is_some() { (view::BASE, "/agent") } else { ("", AGENT) };
        let mut root = Root {
            path,
            base,
            base_inside,
            agent: format!("{base_inside}{agent}"),
            shares: Vec::new(),
            places: BTreeMap::from([("own".to_owned(), format!("{base_inside}{OWN}"))]),
            view: None,
            facts: Facts::default(),
        };
        for (name, path) in workspace.shares() {
            let inside = root.inside_of_share(name);
            root.places.insert(name.clone(), inside.clone());
            root.shares.push((path.clone(), inside));
        }
        root.facts.add_fact("root", "empty");
        let filled = root.fill(&workspace.copy_agent()?, lower.is_none());
        filled.map_err(LabError::storage_error("build a root folder in", workspace.folder()))?;
        if let Some(lower) = lower {
            root.shares.extend(shared_work(workspace)?);
            root.places.insert(WORK.to_owned(), view::WORK.to_owned());
            let (steps, facts) = view::make_view_steps(workspace, lower, root.path(), &root.base)?;
            (root.view, root.facts) = (Some(steps), facts);
        }
        Ok(root)
    }

    fn fill(&self, agent: &Path, is_empty: bool) -> io::Result<()> {
        folder(&self.base, 0o755)?;
        if is_empty {
            view::FOLDERS.iter().try_for_each(|(name, mode)| folder(&self.base.join(name), *mode))?;
        } else {
            folder(self.path(), 0o755)?;
        }
        if !self.shares.is_empty() {
            folder(&self.base.join("shares"), 0o755)?;
        }
        self.places.values().try_for_each(|inside| folder(&self.host_path(inside), 0o755))?;
        spread_folders(&self.own_place_path());
        // A link shares the pages that are in memory already, so that every start finds the program equally warm. Whoever is inside may
        // write to it: the copy is of this environment alone.
        let copy = self.host_path(&self.agent);
        let link = |from: &Path, to: &Path| fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
        link(agent, &copy)?;
        link(&agent.with_file_name(FILE), &copy.with_file_name(FILE))
    }

    /// Makes a folder beside the agent; returns its path on the host and its path inside.
    pub fn make_folder(&self, name: &str) -> Result<(PathBuf, String), LabError> {
        let inside = format!("{}/{name}", self.base_inside);
        let path = self.host_path(&inside);
        folder(&path, 0o700).map_err(LabError::storage_error("make the folder", &path))?;
        Ok((path, inside))
    }

    /// Returns the root as the host has it; of a view, where it is mounted for programs that are started
    /// there.
    pub fn path(&self) -> &Path {
        self.path.as_ref()
    }

    /// Tells whether programs are inside.
    pub fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// Returns the user of a guest whose root is a view: the same user as here, unless that is root. Files
    /// are then his own.
    pub fn guest_user(&self) -> Option<(u32, u32)> {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        (self.is_view() && !user.is_root()).then(|| (user.as_raw(), group.as_raw()))
    }

    /// Returns the folder that holds the agent and the places of a view, with its path inside.
    pub fn base(&self) -> (&Path, &str) {
        (&self.base, self.base_inside)
    }

    /// Joins the path inside of a file in the agent's folder.
    pub fn inside_path(&self, name: &str) -> String {
        format!("{}/{name}", self.base_inside)
    }

    fn inside_of_share(&self, name: &str) -> String {
        self.inside_path(&format!("shares/{}", folder_inside(name)))
    }

    /// Maps a path inside to the host; it must be below the folder of the agent.
    pub fn host_path(&self, inside: &str) -> PathBuf {
        let name = inside.strip_prefix(self.base_inside).unwrap_or(inside);
        self.base.join(name.trim_start_matches('/'))
    }

    /// Returns the host's path of the place `own`.
    pub fn own_place_path(&self) -> PathBuf {
        self.host_path(&self.inside_path("own"))
    }

    /// Has the command start where the root is mounted; what it mounts itself ends with it too.
    pub fn mount_for(&self, command: &mut Command, workspace: &dyn Workspace) -> Result<(), LabError> {
        self.mount_apart(command, UnshareFlags::empty(), workspace)
    }

    /// Has the command start where the root is mounted, and in further namespaces.
    fn mount_apart(
        &self,
        command: &mut Command,
        more: UnshareFlags,
        workspace: &dyn Workspace,
    ) -> Result<(), LabError> {
        let Some(steps) = &self.view else { return Ok(()) };
        private_mounts::apply_steps(command, steps.clone(), more, &workspace.folder().join(FAILED_STEP))
            .map_err(LabError::storage_error("mount in", workspace.folder()))
    }

    /// Has the command start where a view is mounted, and make further steps there; without a view nothing is mounted.
    pub fn mount_with(
        &self,
        command: &mut Command,
        more: Steps,
        workspace: &dyn Workspace,
    ) -> Result<(), LabError> {
        let mut mounted = self.clone();
        if let Some(steps) = &mut mounted.view {
            steps.append(more);
        }
        mounted.mount_for(command, workspace)
    }

    /// Starts the command with this root as its root folder. What it names a host or keeps in the kernel for other processes
    /// ends with it, too.
    pub fn enter_with(&self, command: &mut Command, workspace: &dyn Workspace) -> Result<(), LabError> {
        self.enter_furnished(command, false, workspace)
    }

    /// Starts a launcher likewise, which may join control groups of this machine.
    pub fn launch_with(&self, command: &mut Command, workspace: &dyn Workspace) -> Result<(), LabError> {
        self.enter_furnished(command, true, workspace)
    }

    fn enter_furnished(
        &self,
        command: &mut Command,
        joins_groups: bool,
        workspace: &dyn Workspace,
    ) -> Result<(), LabError> {
        let mut entered = self.clone();
        if let Some(steps) = &mut entered.view {
            let mut furnished = view::furnish_root(steps, self.path(), &self.shares);
            if joins_groups {
                furnished = furnished.and_then(|()| view::show_groups(steps, self.path()));
            }
            furnished
                .and_then(|()| steps.change_root(self.path()))
                .map_err(LabError::storage_error("mount in", workspace.folder()))?;
        }
        entered.mount_apart(command, UnshareFlags::NEWUTS | UnshareFlags::NEWIPC, workspace)
    }

    /// Has the command start where the folder of a view can be read as it is, at the root's path.
    pub fn show_for(&self, command: &mut Command, workspace: &dyn Workspace) -> Result<(), LabError> {
        let RootFolder::Host = workspace.inside().root else { return Ok(()) };
        let failed = LabError::storage_error("mount in", workspace.folder());
        let steps = view::read_only(workspace, Path::new("/"), self.path()).map_err(&failed)?;
        let report = workspace.folder().join(FAILED_STEP);
        private_mounts::apply_steps(command, steps, UnshareFlags::empty(), &report).map_err(&failed)
    }

    /// Records facts of the root, and of the file systems under the places, as the host sees them.
    pub fn note_places(&self, facts: &mut Facts) {
        for (key, value) in &self.facts.0 {
            facts.add_fact(key.clone(), value);
        }
        mounts::note_file_system(facts, "own", &self.own_place_path());
        for (path, inside) in &self.shares {
            if let Some((name, _)) = self.places.iter().find(|(_, its)| *its == inside) {
                mounts::note_file_system(facts, name, path);
            }
        }
    }
}

/// Returns the work folder as one more share, under its own path, where commands write to it.
fn shared_work(workspace: &dyn Workspace) -> Result<Option<(PathBuf, String)>, LabError> {
    let Some(Work { folder, shared: true }) = &workspace.inside().work else { return Ok(None) };
    let refused = || LabError::usage_error(format!("commands cannot write in {}", folder.display()));
    if workspace.session_folder().starts_with(folder) {
        return Err(refused()
            .with_cause("the scratch folder is inside it")
            .with_hint("choose another with --scratch"));
    }
    let inside = folder.to_str().ok_or_else(|| refused().with_cause("its path is not UTF-8"))?;
    Ok(Some((folder.clone(), inside.to_owned())))
}

/// Makes a folder with the mode that it has in a distribution, whatever the umask: whoever is inside may be
/// another user.
fn folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

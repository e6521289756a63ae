//! The root folder of an environment: nothing but the agent and the folders that an environment mounts on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::mounts;
use crate::provider::Workspace;
use crate::storage::places::folder_inside;

/// Where the agent is, inside.
pub const AGENT: &str = "/tare";
/// The place `own`, inside.
pub const OWN: &str = "/own";
/// Folder of the shares, inside: one folder a share.
pub const SHARES: &str = "/shares";
/// What runtimes mount on or write to.
const FOLDERS: [&str; 6] = ["dev", "etc", "proc", "run", "sys", "tmp"];

/// A root folder on the host, and what is where in it.
#[derive(Clone, Debug)]
pub struct Root {
    /// On the host.
    pub folder: PathBuf,
    /// Host folders with the paths inside at which they are to be mounted.
    pub shares: Vec<(PathBuf, String)>,
    /// Places by name with their paths inside.
    pub places: BTreeMap<String, String>,
}

impl Root {
    /// Builds a root folder in the folder of a start.
    pub fn build(workspace: &dyn Workspace) -> Result<Root, LabError> {
        let folder = workspace.folder().join("root");
        let mut root = Root { folder, shares: Vec::new(), places: BTreeMap::new() };
        root.places.insert("own".to_owned(), OWN.to_owned());
        for (name, path) in workspace.shares() {
            let inside = format!("{SHARES}/{}", folder_inside(name));
            root.places.insert(name.clone(), inside.clone());
            root.shares.push((path.clone(), inside));
        }
        let filled = root.fill(workspace.agent());
        filled.map_err(LabError::storage("build a root folder in", workspace.folder()))?;
        Ok(root)
    }

    fn fill(&self, agent: &Path) -> io::Result<()> {
        folder(&self.folder, 0o755)?;
        for name in FOLDERS {
            folder(&self.folder.join(name), if name == "tmp" { 0o1777 } else { 0o755 })?;
        }
        let shares = self.folder.join(SHARES.trim_start_matches('/'));
        if !self.shares.is_empty() {
            folder(&shares, 0o755)?;
        }
        self.places.values().try_for_each(|inside| folder(&self.outside(inside), 0o755))?;
        // A link shares the pages that are in memory already, so that every environment finds the program
        // equally warm.
        let copy = self.outside(AGENT);
        fs::hard_link(agent, &copy).or_else(|_| fs::copy(agent, &copy).map(drop))
    }

    /// The path on the host of a path inside.
    pub fn outside(&self, inside: &str) -> PathBuf {
        self.folder.join(inside.trim_start_matches('/'))
    }

    /// Facts of the file systems under the places, as the host sees them.
    pub fn note_places(&self, facts: &mut Facts) {
        mounts::note(facts, "own", &self.outside(OWN));
        for (path, inside) in &self.shares {
            if let Some((name, _)) = self.places.iter().find(|(_, its)| *its == inside) {
                mounts::note(facts, name, path);
            }
        }
    }
}

/// A folder with the mode that it has in a distribution, whatever the umask: who is inside may be another user.
fn folder(path: &Path, mode: u32) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

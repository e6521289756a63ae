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
        fs::create_dir(&self.folder)?;
        for name in FOLDERS {
            fs::create_dir(self.folder.join(name))?;
        }
        fs::set_permissions(self.folder.join("tmp"), fs::Permissions::from_mode(0o1777))?;
        for inside in self.places.values() {
            fs::create_dir_all(self.outside(inside))?;
        }
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

//! Trees for the tests of rules: a workspace in a temporary folder, with what a test plants in it.

use std::fs;

use tempfile::TempDir;

use crate::tree::Tree;

pub struct Planted(TempDir);

impl Planted {
    pub fn new() -> Planted {
        Planted(tempfile::tempdir().unwrap())
    }

    pub fn write_file(&self, name: &str, text: &str) -> &Planted {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a crate with these sections in its manifest and this text as its library.
    pub fn write_package(&self, name: &str, sections: &str, text: &str) -> &Planted {
        self.write_file(
            &format!("crates/{name}/Cargo.toml"),
            &format!("[package]\nname = \"{name}\"\n{sections}"),
        );
        self.write_file(&format!("crates/{name}/src/lib.rs"), text)
    }

    pub fn read_tree(&self) -> Tree {
        Tree::read_workspace(self.0.path()).unwrap()
    }
}

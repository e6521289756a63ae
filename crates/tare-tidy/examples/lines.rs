//! Counts the lines of code of the product, of a crate each and in all: `cargo run -q -p tare-tidy --example lines`, with a
//! folder or a commit after `--` in place of this tree.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tare_tidy::lines;

/// The crate of the program; the product is this one and the workspace's crates that it is built of.
const PROGRAM: &str = "tare";

fn main() -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match env::args().nth(1) {
        None => print(&here),
        Some(folder) if Path::new(&folder).is_dir() => print(Path::new(&folder)),
        Some(commit) => {
            let folder = env::temp_dir().join(format!("tare-lines-{}", std::process::id()));
            let printed = unpack(&here, &commit, &folder).and_then(|()| print(&folder));
            let removed = fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()));
            printed.and(removed)
        }
    }
}

fn print(root: &Path) -> Result<(), String> {
    let mut all = 0;
    for name in list_product(root)? {
        let count = lines::of_crate(&root.join("crates").join(&name))?;
        println!("{count:>7} {name}");
        all += count;
    }
    println!("{all:>7} in all");
    Ok(())
}

/// Lists the program's crate and all that it depends on in the workspace, by the manifests.
fn list_product(root: &Path) -> Result<Vec<String>, String> {
    let mut product = vec![PROGRAM.to_owned()];
    let mut at = 0;
    while at < product.len() {
        let manifest = root.join("crates").join(&product[at]).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
        let sections = text.split("\n[").filter(|section| {
            section.lines().next().is_some_and(|name| name.trim_end_matches(']').ends_with("dependencies"))
        });
        let of_program = sections.filter(|section| !section.starts_with("dev-"));
        let names = of_program.flat_map(str::lines).filter_map(|line| line.strip_suffix(".workspace = true"));
        let ours: Vec<String> = names.filter(|name| name.starts_with("tare-")).map(str::to_owned).collect();
        for name in ours {
            if !product.contains(&name) {
                product.push(name);
            }
        }
        at += 1;
    }
    product.sort();
    Ok(product)
}

/// Writes the crates of a commit into a new folder.
fn unpack(repository: &Path, commit: &str, folder: &Path) -> Result<(), String> {
    fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let archive: PathBuf = folder.join("crates.tar");
    let mut pack = Command::new("git");
    pack.arg("-C").arg(repository).args(["archive", "--output"]).arg(&archive).args([commit, "crates"]);
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&archive).arg("-C").arg(folder);
    for mut step in [pack, unpack] {
        let status = step.status().map_err(|e| format!("{step:?}: {e}"))?;
        if !status.success() {
            return Err(format!("{step:?}: {status}"));
        }
    }
    Ok(())
}

//! Lists the comments and strings below a folder, or in a file, that break a rule: `cargo run -q -p tare-tidy --example
//! comments -- crates/tare-probes/src/net`.

use std::path::Path;

use tare_tidy::comments;
use tare_tidy::tree::Tree;

fn main() -> Result<(), String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().map_err(|e| e.to_string())?;
    let tree = Tree::read_workspace(&root)?;
    let place = std::env::args().nth(1).unwrap_or_default();
    let found =
        comments::list_broken_comments(&tree).into_iter().filter(|broken| broken.file.starts_with(&place));
    let count = found.map(|broken| println!("{broken}")).count();
    println!("{count} in {}", if place.is_empty() { "all crates" } else { &place });
    Ok(())
}

//! Compresses the long texts in the program: they are a third of its size, and most sessions need none.

#![allow(clippy::disallowed_methods, reason = "what is built reads files; what was built does not")]

use std::path::Path;
use std::{env, fs, io};

/// Level of the smallest output.
const LEVEL: u8 = 10;

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").expect("cargo names it");
    for (from, to) in [("page.html", "page"), ("src/licences.txt", "licences")] {
        println!("cargo::rerun-if-changed={from}");
        let compressed = miniz_oxide::deflate::compress_to_vec(&fs::read(from)?, LEVEL);
        fs::write(Path::new(&out).join(to), compressed)?;
    }
    Ok(())
}

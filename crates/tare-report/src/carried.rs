//! Long texts in the program, compressed by `build.rs` and unpacked when they are needed.

use std::sync::LazyLock;

/// The built page, with placeholders for its data and its title.
pub(crate) static PAGE: LazyLock<String> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/page"))));
/// The licence of every linked crate. Written by the tests of the documents, from the crates' own files.
pub static LICENCES: LazyLock<String> =
    LazyLock::new(|| unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/licences"))));

fn unpacked(bytes: &[u8]) -> String {
    let text =
        miniz_oxide::inflate::decompress_to_vec(bytes).ok().and_then(|text| String::from_utf8(text).ok());
    text.expect("build.rs compressed a text")
}

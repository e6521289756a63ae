//! The records in the repository are what the generator makes, byte for byte.

#![allow(clippy::disallowed_methods, reason = "the fixture is a file")]

use std::fs;
use std::path::Path;

use tare_specimen::{make_three_sides, render_record};

#[test]
fn the_record_is_the_generators() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions/container-gvisor.tare");
    let made = render_record(&make_three_sides());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == made, "UPDATE_DOCS=1 writes {} again", path.display());
    let read = tare_record::read_session(&path).unwrap().session;
    assert_eq!(read, make_three_sides());
}

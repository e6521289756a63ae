//! Lies: the short form of `./bench/faults --only liar`. None is believed, ends a session by a signal,
//! reaches the terminal or leaves anything behind.

use std::path::Path;

use tare_bench::kills::count::Count;
use tare_bench::kills::liar::{LIE, LIES, run_liar, run_lies};
use tare_bench::kills::site::Site;

/// Interval of the lies that are told here. All of them would take minutes.
const STEP: usize = 4;

/// Acts as the liar, and does nothing in an ordinary test run.
#[test]
fn acts() {
    if let Ok(lie) = std::env::var(LIE) {
        println!();
        run_liar(&lie);
    }
}

#[test]
fn no_lie_is_believed_or_shown_or_kept() {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let folder = tempfile::Builder::new().prefix("lies-").tempdir_in(tare.parent().unwrap()).unwrap();
    let site = Site { tare, folder: folder.path() };
    site.make_folders().unwrap();
    let actor =
        format!("{} --exact hostile::lies::acts --nocapture", std::env::current_exe().unwrap().display());
    let lies: Vec<&str> = LIES.into_iter().step_by(STEP).collect();
    let mut count = Count::default();
    let report = &mut |line: &str| {
        println!("{line}");
        Ok(())
    };
    run_lies(&site, &lies, &actor, &mut count, report).unwrap();
    assert_eq!(count.wrong, [""; 0], "{count:?}");
}

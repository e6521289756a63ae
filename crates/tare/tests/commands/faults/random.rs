//! A short run of `./bench/faults`: each fault once, at the same moments each time.

use std::path::Path;

use tare_bench::kills::count::{is_well, render_counts};
use tare_bench::kills::faults::Faults;
use tare_bench::kills::site::Site;
use tare_bench::kills::split_ready_targets;

#[test]
fn nothing_is_lost_or_left_of_sessions_that_meet_faults() {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let folder = tempfile::Builder::new().prefix("faults-").tempdir_in(tare.parent().unwrap()).unwrap();
    let wanted = tare_bench::kills::faults::TARGETS.map(|target| (target, 0));
    let (targets, absent) = split_ready_targets(tare, &wanted).unwrap();
    for target in absent {
        println!("SKIPPED nothing_is_lost_or_left_of_sessions_that_meet_faults in {target}: not ready");
    }
    let targets: Vec<&str> = targets.iter().map(|(target, _)| *target).collect();
    let faults =
        Faults { site: Site { tare, folder: folder.path() }, targets: &targets, rounds: 18, seed: 1 };
    let report = &mut |line: &str| {
        println!("{line}");
        Ok(())
    };
    let counts = faults.run_rounds(report).unwrap();
    println!("{}", render_counts(&counts));
    assert!(is_well(&counts), "{counts:?}");
}

//! A short run of `./bench/kills`: sessions killed at random moments, the same ones each time.

use std::path::Path;

use tare_bench::kills::{Kills, TARGETS, Work, split_ready_targets};

#[test]
fn nothing_is_left_of_sessions_that_are_killed_at_random() {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let folder = tempfile::Builder::new().prefix("kills-").tempdir_in(tare.parent().unwrap()).unwrap();
    // An emulated machine boots for seconds; ./bench/kills has it.
    let quick: Vec<_> = TARGETS.into_iter().filter(|(target, _)| *target != "qemu").collect();
    let (targets, absent) = split_ready_targets(tare, &quick).unwrap();
    for target in absent {
        println!("SKIPPED nothing_is_left_of_sessions_that_are_killed_at_random in {target}: not ready");
    }
    if targets.is_empty() {
        return;
    }
    let kills = Kills {
        tare,
        folder: folder.path(),
        targets: &targets,
        work: Work::Trials,
        rounds: 12,
        seed: 7,
        alone: false,
    };
    let report = &mut |line: &str| {
        println!("{line}");
        Ok(())
    };
    let (tallies, found) = kills.run_rounds(report).unwrap();
    println!("{}", tare_bench::kills::render_tallies(&tallies));
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
}

//! A short run of `./bench/homes`: two nodes that share a home, and a session that is killed on one of them.

use std::path::Path;

use tare_bench::kills::homes::Homes;

#[test]
fn no_node_takes_away_what_another_ones_living_session_made() {
    if !rustix::process::geteuid().is_root() {
        println!(
            "SKIPPED no_node_takes_away_what_another_ones_living_session_made: only root can make nodes"
        );
        return;
    }
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let folder = tempfile::Builder::new().prefix("homes-").tempdir_in(tare.parent().unwrap()).unwrap();
    let homes = Homes { tare, folder: folder.path(), environment: "container", tries: 6, seed: 5 };
    let report = &mut |line: &str| {
        println!("{line}");
        Ok(())
    };
    let tally = homes.run_tries(report).unwrap();
    assert_eq!((tally.tries, tally.wrong.as_slice()), (6, &[][..]));
    assert!(tally.lived > 0 && tally.made > 0, "{tally:?}");
}

//! Short forms of `./bench/faults`: failing calls, other writers and, where root can mount, power cuts and
//! full disks.

use std::path::Path;
use std::time::Duration;

use tare_bench::kills::count::Count;
use tare_bench::kills::injected::{CALLS, Whose, inject_failures, is_possible};
use tare_bench::kills::machine::{DISKS, cut_power, full_disk, run_with_shifted_clock, two_writers};
use tare_bench::kills::site::Site;

/// Has a site meet something, after which nothing may be wrong.
fn nothing_is_wrong(case: impl FnOnce(&Site<'_>, &mut Count)) {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let folder = tempfile::Builder::new().prefix("faults-").tempdir_in(tare.parent().unwrap()).unwrap();
    let site = Site { tare, folder: folder.path() };
    site.make_folders().unwrap();
    let mut count = Count::default();
    case(&site, &mut count);
    assert_eq!(count.wrong, [""; 0], "{count:?}");
}

#[test]
fn calls_that_fail_cost_nothing_that_was_written() {
    if !is_possible() {
        return println!("SKIPPED calls_that_fail_cost_nothing_that_was_written: strace is not installed");
    }
    let report = &mut |line: &str| {
        println!("{line}");
        Ok(())
    };
    // Each kind's first calls, and some later ones. Threads are started by others' code, which panics where it may.
    let is_tried = |(at, (calls, _)): &(usize, (&str, &str))| at % 4 == 0 || calls.starts_with("clone");
    nothing_is_wrong(|site, count| {
        for (_, (calls, error)) in CALLS.into_iter().enumerate().filter(is_tried) {
            inject_failures(site, (calls, error), Whose::Host, 40, count, report).unwrap();
        }
    });
}

#[test]
fn nobody_else_writes_a_record_that_is_being_written() {
    nothing_is_wrong(|site, count| two_writers(site, Duration::from_millis(1500), count).unwrap());
}

#[test]
fn what_was_synced_survives_a_cut_of_power_and_disks_may_be_full() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED what_was_synced_survives_a_cut_of_power: only root may mount");
    }
    nothing_is_wrong(|site, count| cut_power(site, Duration::from_millis(3500), count).unwrap());
    nothing_is_wrong(|site, count| {
        for disk in DISKS {
            full_disk(site, disk, 128 << 10, count).unwrap();
        }
    });
    nothing_is_wrong(|site, count| {
        run_with_shifted_clock(site, 86_400, Duration::from_millis(1500), count).unwrap()
    });
}

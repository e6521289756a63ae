//! `env.start`: what it costs to have an environment at all. Measured by the host, not by an agent inside.
//!
//! The environment is left, and entered afresh. Both stretches begin before the provider prepares anything and end when
//! the host has the frame: that of the agent's first frame, and that of the first sample of a trial that does nothing.
//! Memory is the proportional set size of the processes that carry the start's mark or descend from it, disk what
//! the start's folder takes, both once that trial is over.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::request::{Amount, TrialRequest};
use tare_data::unit::Unit;
use tare_probes::Probe;
use tare_probes::probe::{gauge, time};

/// Files of a start's folder that are looked at: an image holds some thousands.
const MOST_FILES: usize = 200_000;
/// Bytes of a block, as stat(2) counts them.
const BLOCK: u64 = 512;

pub static PROBE: Probe = Probe {
    name: "env.start",
    title: "start of environment",
    summary: "An environment entered afresh: time to its first sample, and what it takes when idle.",
    timed: "by the host's clock, from before anything is prepared until the first sample has arrived",
    not_timed: "leaving the environment before; measuring its memory and disk afterwards",
    distorted_by: "page cache of images and binaries, which is warm after the first start; what a daemon keeps ready",
    parameters: &[],
    metrics: &[
        time("sample", "sample"),
        gauge("hello", "hello", Unit::Nanoseconds),
        gauge("memory", "memory", Unit::Bytes),
        gauge("disk", "disk", Unit::Bytes),
    ],
    needs: &[],
    revision: 1,
    label: |_| "start of environment".into(),
    run: |_| Err(Failure::new(FailureKind::NotSupported, "the host measures this, not the agent")),
};

/// Whether a case is a start.
pub fn is_start(case: &Case) -> bool {
    case.probe == PROBE.name
}

/// The trial whose first sample a start is timed to: it does nothing.
pub fn first_trial(request: &TrialRequest) -> TrialRequest {
    let case = Case { probe: "null".into(), parameters: Default::default(), place: None, peer: None };
    let amount = Amount::Operations { batch: 1, batches: 1 };
    TrialRequest { case, amount, directory: None, peer: None, ..request.clone() }
}

/// The moments of a start, by the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    pub began: Instant,
    pub hello: Instant,
    pub sample: Instant,
}

/// What a start is as batches. What could not be read is absent.
pub fn batches(moments: Moments, memory_bytes: Option<u64>, disk_bytes: Option<u64>) -> Vec<Batch> {
    let elapsed = |until: Instant| until.saturating_duration_since(moments.began);
    let ns = |elapsed: Duration| u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let batch =
        |series: &str, sample| Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
    let gauge = |series, value: u64| batch(series, Sample::Gauge { value: value as f64 });
    let elapsed_ns = ns(elapsed(moments.sample));
    let mut all = vec![
        batch("sample", Sample::Throughput { operations: 1, bytes: 0, elapsed_ns }),
        gauge("hello", ns(elapsed(moments.hello))),
    ];
    all.extend(memory_bytes.map(|bytes| gauge("memory", bytes)));
    all.extend(disk_bytes.map(|bytes| gauge("disk", bytes)));
    all
}

/// Proportional set size of processes; none when it can be read of none of them.
pub fn memory_bytes(processes: &BTreeMap<u32, u64>) -> Option<u64> {
    let each = processes.keys().filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let (count, kib) = each.fold((0u32, 0u64), |(count, sum), kib| (count + 1, sum.saturating_add(kib)));
    (count > 0).then_some(kib.saturating_mul(1024))
}

/// What a folder takes on its disk: blocks, each file once, nothing that is mounted into it.
pub fn disk_bytes(folder: &Path) -> Option<u64> {
    let device = fs::symlink_metadata(folder).ok()?.dev();
    let mut open = vec![folder.to_owned()];
    let mut seen = std::collections::BTreeSet::new();
    let mut bytes = 0u64;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).ok().into_iter().flatten().flatten() {
            let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
            if about.dev() != device || !seen.insert(about.ino()) {
                continue;
            }
            if seen.len() > MOST_FILES {
                return None;
            }
            bytes = bytes.saturating_add(about.blocks() * BLOCK);
            if about.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::write(folder.path().join("a"), vec![1u8; 100_000]).unwrap();
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert_eq!(disk_bytes(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn this_process_has_memory_and_one_that_is_not_there_has_none() {
        assert!(memory_bytes(&[(std::process::id(), 0)].into()).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(memory_bytes(&BTreeMap::new()), None);
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let began = Instant::now();
        let moments = Moments {
            began,
            hello: began + Duration::from_millis(2),
            sample: began + Duration::from_millis(5),
        };
        let all = batches(moments, None, Some(7));
        let series: Vec<&str> = all.iter().map(|batch| batch.series.as_str()).collect();
        assert_eq!(series, ["sample", "hello", "disk"]);
        assert_eq!(all[1].sample, Sample::Gauge { value: 2e6 });
    }
}

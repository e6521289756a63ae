//! Prices: times of single operations by the probes that sessions use, with fixed amounts, and the length of a cycle next to them.

use std::path::{Path, PathBuf};
use tare_data::facts::keys::{
    CPU_OTHERS as OTHERS, CPU_STOLEN as STOLEN, CYCLE_ADDITION, CYCLE_MULTIPLICATION,
};

use tare_data::batch::{Batch, Phase};
use tare_data::facts::Facts;
use tare_data::names::Case;
use tare_data::request::{Amount, TrialRequest};
use tare_paths::door::Door;
use tare_paths::marked::MarkedFolder;

use super::cycle::{time_addition, time_multiplication};
use super::others::Used;
use crate::facts::mounts::file_system_name;
use crate::facts::promises::is_in_memory;
use crate::harness::folder::Folder;
use crate::harness::interference::Watch;
use crate::harness::stopwatch::now_ns;
use crate::harness::trial::Trial;
use crate::here::steps::Noting;
use crate::probe::Size;
use crate::probes::run_of;

/// Batches of a trial.
const BATCHES: u32 = 6;
/// Time of a trial after which the operation has no second one.
const LONG_NS: f64 = 40_000_000.0;
/// Time after which no further operation is begun, over both rounds of trials.
pub const LONGEST_NS: u64 = 700_000_000;
/// Fact of one round that the next one goes on from: the time that it took.
pub const TOOK: &str = "prices.ns";
/// Seed of probes that choose at random: as everything here, the same everywhere.
const SEED: u64 = 38;

/// An operation that is priced: its name, the probe with the parameter that makes it, its series there, and operations of a batch.
struct Priced {
    name: &'static str,
    probe: &'static str,
    parameter: Option<(&'static str, &'static str)>,
    series: &'static str,
    batch: u64,
    in_folder: bool,
}

/// Describes a single operation of `sys.operation`.
const fn single(name: &'static str, batch: u64, in_folder: bool) -> Priced {
    let parameter = Some(("operation", name));
    Priced { name, probe: "sys.operation", parameter, series: "operation", batch, in_folder }
}

/// Every operation, the most telling first: where each takes long, the last ones are left out.
static PRICED: [Priced; 20] = [
    Priced {
        name: "getppid",
        probe: "sys.getppid",
        parameter: None,
        series: "call",
        batch: 50,
        in_folder: false,
    },
    single("new-page", 100, false),
    single("open", 20, true),
    // There may be no folder in memory.
    single("open-root", 20, false),
    single("exec", 2, true),
    Priced {
        name: "fork",
        probe: "proc.spawn",
        parameter: None,
        series: "process",
        batch: 4,
        in_folder: false,
    },
    single("thread", 4, false),
    Priced { name: "pipe", probe: "ipc.pipe", parameter: None, series: "pair", batch: 20, in_folder: false },
    Priced {
        name: "switch",
        probe: "ipc.context",
        parameter: Some(("pin", "same")),
        series: "round",
        batch: 20,
        in_folder: false,
    },
    single("stat", 20, true),
    single("stat-missing", 20, true),
    Priced {
        name: "create",
        probe: "file.meta",
        parameter: None,
        series: "create",
        batch: 8,
        in_folder: true,
    },
    single("read-1k", 20, true),
    single("write-1k", 20, true),
    single("file-page", 32, true),
    single("futex", 20, false),
    single("signal", 20, false),
    single("map-file", 8, true),
    single("stat-8", 8, true),
    single("list", 2, true),
];

/// Notes times of operations, one trial each, in a folder in memory where there is one.
///
/// The time of a trial depends on where the scheduler has put its process and those that serve it. So there are two rounds, each in a
/// separate process. `earlier` has the facts of the first: operations that took long there are left out. None is begun once both took
/// `longest_ns`.
pub fn note_prices(
    noting: &mut Noting<'_>,
    candidates: &[PathBuf],
    name: &str,
    earlier: &Facts,
    longest_ns: u64,
) {
    let is_memory = |path: &&PathBuf| file_system_name(path).is_some_and(|name| is_in_memory(&name));
    let memory = candidates.iter().find(is_memory);
    let folder = memory.and_then(|place| MarkedFolder::make(place, name).ok());
    let root = Door::open(Path::new("/")).ok();
    let (watch, used, began_ns) = (Watch::of_machine(), Used::read(), now_ns());
    let number = |key: &str| earlier.get(key).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    let took_ns = number(TOOK) as u64;
    let (mut additions, mut multiplications) = (Vec::new(), Vec::new());
    for priced in &PRICED {
        additions.push(time_addition());
        multiplications.push(time_multiplication());
        if took_ns + (now_ns() - began_ns) > longest_ns {
            break;
        }
        let key = format!("price.{}", priced.name);
        // The others write nothing, and are done anywhere.
        let Some(place) =
            (if priced.in_folder { folder.as_ref().map(MarkedFolder::door) } else { root.as_ref() })
        else {
            continue;
        };
        if earlier.get(&key).is_some_and(|blocks| sum_blocks(blocks) * priced.batch as f64 > LONG_NS) {
            continue;
        }
        noting.add_fact(&key, format_blocks(&time_operation(priced, place)));
    }
    noting.add_fact(CYCLE_ADDITION, format_blocks(&additions));
    noting.add_fact(CYCLE_MULTIPLICATION, format_blocks(&multiplications));
    let round_ns = now_ns() - began_ns;
    noting.add_fact(TOOK, format!("{}", took_ns + round_ns));
    let used = used.zip(Used::read());
    let stolen_ns = watch.stop().steal_ns.zip(used.as_ref());
    let stolen = stolen_ns.map(|(ns, (before, _))| before.share_of(ns, round_ns));
    let others = used.map(|(before, after)| after.others_since(&before, round_ns));
    // The kernel counts in steps of 10 ms, of which a round has a few: one alone may be a third too high.
    let before = took_ns as f64 / (took_ns + round_ns) as f64;
    for (key, share) in [(STOLEN, stolen), (OTHERS, others)] {
        if let Some(share) = share {
            noting.add_fact(key, format!("{:.3}", before * number(key) + (1.0 - before) * share));
        }
    }
}

fn sum_blocks(blocks: &str) -> f64 {
    blocks.split(' ').filter_map(|block| block.parse::<f64>().ok()).sum()
}

/// Runs a probe's trial, and returns the time of one operation in each batch, in ns; none where its work failed.
fn time_operation(priced: &Priced, place: &Door) -> Vec<f64> {
    match priced.in_folder.then(|| Folder::make_named(place.path(), "trial")) {
        Some(Ok(folder)) => run_probe(priced, folder.door()),
        Some(Err(_)) => None,
        None => run_probe(priced, place),
    }
    .unwrap_or_default()
}

fn run_probe(priced: &Priced, folder: &Door) -> Option<Vec<f64>> {
    let probe = crate::find_probe(priced.probe)?;
    let mut parameters = probe.default_parameters(Size::Short);
    if let Some((key, value)) = priced.parameter {
        parameters.0.insert(key.to_owned(), value.to_owned());
    }
    let place = probe.needs_place().then(|| "own".to_owned());
    let request = TrialRequest {
        trial: 0,
        case: Case { probe: probe.name.to_owned(), parameters, place, peer: None },
        amount: Amount::Operations { batch: priced.batch, batches: BATCHES },
        directory: None,
        peer: None,
        seed: SEED,
        deadline_ms: LONGEST_NS / 1_000_000,
        slower: 0.0,
        settling_ms: 0,
        turn: None,
        nonce: 0,
    };
    let mut batches: Vec<Batch> = Vec::new();
    let mut keep = |batch| batches.push(batch);
    let mut trial = Trial::new(&request, Path::new("/proc/self/exe"), Some(folder), &mut keep);
    run_of(probe.name).ok()?(&mut trial).ok()?;
    let warm = batches.iter().filter(|batch| batch.series == priced.series && batch.phase == Phase::Warm);
    let timed = warm.flat_map(|batch| batch.sample.iter_timed());
    Some(timed.map(|timed| timed.elapsed_ns as f64 / timed.operations as f64).collect())
}

fn format_blocks(blocks: &[f64]) -> String {
    blocks.iter().map(|block| format!("{block:.4}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::steps::{Risk, Steps};
    use crate::probes::tests::take_turn;

    /// Notes prices in a child, as everywhere: some probes change their process. However long they take, none is left out.
    fn price(candidates: Vec<PathBuf>, name: &str) -> Facts {
        let _turn = take_turn();
        let (mut steps, name) = (Steps::until(now_ns() + 60_000_000_000), name.to_owned());
        steps.run_step("prices", 60_000, Risk::NeedsChild, move |noting| {
            note_prices(noting, &candidates, &name, &Facts::default(), u64::MAX)
        });
        assert_eq!(steps.lost, []);
        steps.facts
    }

    #[test]
    fn without_a_folder_in_memory_calls_faults_opens_and_starts_are_priced() {
        let facts = price(Vec::new(), "tare-here-prices-nowhere");
        for name in ["getppid", "new-page", "open-root", "fork"] {
            assert!(
                facts.get(&format!("price.{name}")).is_some_and(|blocks| sum_blocks(blocks) > 0.0),
                "{name}"
            );
        }
        assert_eq!(facts.get("price.open"), None);
    }

    #[test]
    fn every_operation_is_priced_and_leaves_nothing() {
        let place = PathBuf::from("/dev/shm");
        if file_system_name(&place).is_none_or(|name| !is_in_memory(&name)) {
            println!("SKIPPED prices: /dev/shm is not in memory");
            return;
        }
        let name = format!("tare-here-prices-{}", std::process::id());
        let facts = price(vec![place.clone()], &name);
        let limit = |name: &str| ["thread", "exec"].contains(&name) && crate::probes::tests::is_emulated();
        for priced in PRICED.iter().filter(|priced| !limit(priced.name)) {
            let blocks = facts.get(&format!("price.{}", priced.name)).unwrap_or_default();
            let blocks: Vec<f64> = blocks.split(' ').filter_map(|block| block.parse().ok()).collect();
            assert!(blocks.len() >= BATCHES as usize, "{}: {blocks:?}", priced.name);
            assert!(blocks.iter().all(|ns| *ns > 0.0), "{}: {blocks:?}", priced.name);
        }
        assert!(facts.get("cycle.addition").is_some() && facts.get("cycle.multiplication").is_some());
        assert!(!place.join(name).exists(), "something is left");
    }
}

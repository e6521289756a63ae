//! Loop of `work.lasting`: see its description.

use super::{cpu_primes, proc_spawn};
use crate::descriptions::work_lasting::{ALL_SLICES, QUICK_SLICE};
use crate::harness::syscall::getppid;
use crate::probe::prelude::*;

/// Primes of a slice are counted below this number: it takes some 0.1 ms.
const MAX_PRIME: u64 = 5_000;
/// Calls of a slice, beside a fork: a tenth to half of its time.
const CALLS: u64 = 500;
/// Longest time before, and of what is counted.
const LONGEST_MS: u64 = 60_000;
const MOST_THREADS: u64 = 4_096;
/// Slices whose times have room before any is timed.
const EXPECTED_SLICES: usize = 1 << 13;

/// Work of a slice, which tells whether all of it was done.
type Slice = fn() -> Result<bool, Failure>;

/// Slices of one thread.
struct Done {
    elapsed_ns: u64,
    slices_ns: Vec<u64>,
    right: u64,
}

pub(super) fn measure_work_lasting(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let threads = parameters.get_integer_within("threads", 1..=MOST_THREADS)?;
    let [before_ms, counted_ms] =
        ["before_ms", "counted_ms"].map(|key| parameters.get_integer_within(key, 0..=LONGEST_MS));
    let (before_ns, counted_ns) = (before_ms? * 1_000_000, counted_ms? * 1_000_000);
    let slice: Slice = match parameters.get_text("work")? {
        "arithmetic" => count_primes,
        "calls" => call_and_fork,
        other => return Err(broken_failure("work.lasting", format!("there is no work '{other}'"))),
    };
    trial.run_once(|report| {
        let done = all_threads(threads, || work(slice, before_ns, counted_ns))?;
        let right: u64 = done.iter().map(|done| done.right).sum();
        let mut slices_ns: Vec<u64> = done.iter().flat_map(|done| &done.slices_ns).copied().collect();
        prove_count("slices that were right", right, slices_ns.len() as u64)?;
        // Threads do not end at the same time: their rates are added, not their times.
        let rate: f64 = done.iter().map(|done| done.slices_ns.len() as f64 / done.elapsed_ns as f64).sum();
        let elapsed_ns = (slices_ns.len() as f64 / rate) as u64;
        slices_ns.sort_unstable();
        report.add_throughput(ALL_SLICES, slices_ns.len() as u64, &Stopwatch::from_elapsed(elapsed_ns));
        // A quarter of all: where a limit is tight or slices are long, every other one may have a stop.
        report.add_gauge(QUICK_SLICE, slices_ns[slices_ns.len() / 4] as f64);
        Ok(())
    })
}

/// Runs the same work in threads, which begin within the time that is not counted.
fn all_threads(threads: u64, work: impl Fn() -> Result<Done, Failure> + Sync) -> Result<Vec<Done>, Failure> {
    if threads == 1 {
        return Ok(vec![work()?]);
    }
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, &work);
        let started: Vec<_> = (0..threads).map(start).collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            let thread = thread.map_err(|e| broken_failure("starting a thread", e))?;
            thread.join().map_err(|_| broken_failure("a thread", "it panicked"))?
        };
        started.into_iter().map(join).collect()
    })
}

/// Works before, and then for as long as is counted; at least one slice is.
fn work(slice: Slice, before_ns: u64, counted_ns: u64) -> Result<Done, Failure> {
    let (mut slices_ns, mut right) = (Vec::with_capacity(EXPECTED_SLICES), 0);
    let mut at_ns = now_ns();
    let counts_from_ns = at_ns + before_ns;
    while at_ns < counts_from_ns {
        slice()?;
        at_ns = now_ns();
    }
    let started_ns = at_ns;
    while at_ns < started_ns + counted_ns || slices_ns.is_empty() {
        right += u64::from(slice()?);
        let ended_ns = now_ns();
        slices_ns.push(ended_ns - at_ns);
        at_ns = ended_ns;
    }
    let elapsed_ns = Stopwatch::from_stretch(started_ns, at_ns).elapsed_ns().max(1);
    Ok(Done { elapsed_ns, slices_ns, right })
}

/// Counts the primes that there are, but for the first.
fn count_primes() -> Result<bool, Failure> {
    Ok(cpu_primes::event(std::hint::black_box(MAX_PRIME)) == 668)
}

fn call_and_fork() -> Result<bool, Failure> {
    let parent = getppid();
    let answered = (0..CALLS).filter(|_| getppid() == parent).count() as u64;
    Ok(proc_spawn::spawn()? && answered == CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::tests::take_turn;

    #[test]
    fn slices_are_right_and_fill_the_time_that_is_counted() {
        let _turn = take_turn();
        for slice in [count_primes as Slice, call_and_fork] {
            let done = work(slice, 0, 2_000_000).unwrap();
            assert_eq!(done.right, done.slices_ns.len() as u64);
            assert!(done.elapsed_ns >= 2_000_000);
            assert!(done.slices_ns.iter().sum::<u64>() <= done.elapsed_ns, "a slice is within it");
        }
        let none = work(count_primes, 0, 0).unwrap();
        assert_eq!(none.slices_ns.len(), 1, "however little is counted");
        let threads = all_threads(3, || work(count_primes, 0, 0)).unwrap();
        assert_eq!(threads.len(), 3);
    }
}

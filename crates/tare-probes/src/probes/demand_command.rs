//! Loop of `demand.command`: see its description.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use tare_data::session::demand::{Demand, Work};

use super::user_command::UserCommand;
use crate::counting::{
    BY_TRACEPOINTS, BY_TRACER, LONG_PAUSE_NS, PAUSE_NS, SHORT_PAUSE_NS, Watched, assign_faults,
};
use crate::descriptions::demand_command::{CALLS, SLOWDOWN, WATCHED_SLOWDOWN};
use crate::probe::prelude::*;

/// Name of the file in which the tracer leaves its counts.
const RESULT: &str = "tare-demand";
/// Bytes of it that are read: one has a few hundred, and the paths of some files.
const LONGEST_RESULT: u64 = 256 << 10;
/// Times that a process which makes another gives up the processor for it: what makes and ends a process is priced with
/// these.
const WAITS_A_PROCESS: f64 = 2.0;

/// Calls by how long the program computes before them, and how long that is at the least.
const AFTER_PAUSES: [(Work, u64); 3] =
    [(Work::ShortPauses, SHORT_PAUSE_NS), (Work::Pauses, PAUSE_NS), (Work::LongPauses, LONG_PAUSE_NS)];

pub(super) fn measure_demand_command(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let command = UserCommand::from_trial(trial)?;
    command.set_up()?;
    let mut as_it_is = Stopwatch::default();
    let used = command.run_timed(&mut as_it_is)?.into_used()?;
    let result = trial.folder()?.path().with_file_name(RESULT);
    let slowdown = |counted_ns: u64| counted_ns as f64 / as_it_is.elapsed_ns().max(1) as f64;
    let ((mut demand, took), ran) = counted::<Demand>(UserCommand::from_trial(trial)?, BY_TRACER, &result)?;
    ran?;
    demand.slowdown = slowdown(took.elapsed_ns());
    account(&mut demand, &used);
    let mut met_by_stops = 0.0;
    if rustix::process::geteuid().is_root() {
        let ((watched, _), ran) = counted::<Watched>(command, BY_TRACEPOINTS, &result)?;
        // Elsewhere than on the machine itself there is nothing to watch by, and nothing ran.
        if let Watched::Seen(seen) = watched {
            ran?;
            let seen_pauses = [seen.short_pauses, seen.pauses, seen.long_pauses].map(|pauses| pauses as f64);
            demand.amounts.extend(AFTER_PAUSES.map(|(work, _)| work).into_iter().zip(seen_pauses));
            met_by_stops = untrace_futexes(&mut demand, seen.futexes as f64);
            demand.watched_slowdown = slowdown(seen.elapsed_ns);
        }
    }
    let paused: f64 = AFTER_PAUSES.iter().map(|(work, _)| demand.amount(*work)).sum();
    demand.amounts.insert(Work::CallsInARow, (demand.calls - met_by_stops - paused).max(0.0));
    trial.run_once(|report| {
        for work in Work::ALL {
            report.add_gauge(work.name(), demand.amount(work));
        }
        report.add_gauge(CALLS, demand.calls);
        report.add_gauge(SLOWDOWN, demand.slowdown);
        report.add_gauge(WATCHED_SLOWDOWN, demand.watched_slowdown);
        Ok(())
    })
}

/// Runs a command counted in one way; what was counted, the time that it took, and how the run ended.
#[expect(clippy::type_complexity, reason = "each part has one use")]
fn counted<T: DeserializeOwned>(
    command: UserCommand<'_>,
    how: &str,
    result: &Path,
) -> Result<((T, Stopwatch), Result<(), Failure>), Failure> {
    let mut took = Stopwatch::default();
    let ran = command.with_counting(how, result)?.run_timed(&mut took);
    let ran = ran.and_then(|run| run.into_used().map(drop));
    let text = read_bounded(result);
    // It is the trial's own; the next one writes it anew.
    let _ = std::fs::remove_file(result);
    match (text, ran) {
        (Ok(text), ran) => {
            let counted =
                serde_json::from_slice(&text).map_err(|e| broken_failure("reading the counts", e))?;
            Ok(((counted, took), ran))
        }
        (Err(_), Err(failure)) => Err(failure),
        (Err(e), Ok(())) => Err(broken_failure("reading the counts", e)),
    }
}

/// Replaces the traced count of waits by the watched one, and returns the difference: a thread that is stopped at each call
/// holds its locks for longer, so that others wait more often.
fn untrace_futexes(demand: &mut Demand, watched: f64) -> f64 {
    let traced = demand.amount(Work::Futexes);
    let more = (traced - watched).max(0.0);
    demand.amounts.entry(Work::Futexes).and_modify(|futexes| *futexes -= more);
    more
}

/// Reads within a bound: the command knows the file's name as well as the tracer does, and may have written
/// anything there.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST_RESULT).read_to_end(&mut text)?;
    Ok(text)
}

/// Adds what the kernel counts by itself in a run that nobody traces.
fn account(demand: &mut Demand, used: &libc::rusage) {
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    let (user_ns, system_ns) = (ns(used.ru_utime), ns(used.ru_stime));
    // A stop takes longer on a busy machine, and looks like computing: there are no more pauses than there was time for.
    for (work, least_ns) in AFTER_PAUSES {
        let most = (user_ns + system_ns) / least_ns as f64;
        demand.amounts.entry(work).and_modify(|pauses| *pauses = pauses.min(most));
    }
    demand.add(Work::Computing, user_ns);
    assign_faults(demand, used.ru_minflt as f64);
    // The command itself is started as posix_spawn does.
    demand.add(Work::Spawns, 1.0);
    let made = [Work::Forks, Work::Spawns, Work::Threads].map(|work| demand.amount(work)).iter().sum::<f64>();
    let waits = used.ru_nvcsw as f64 - WAITS_A_PROCESS * made - demand.amount(Work::Syncs);
    demand.add(Work::Waits, waits.max(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_meet_as_often_as_where_nobody_stops_them() {
        let mut demand = Demand::default();
        assert_eq!(untrace_futexes(&mut demand, 7.0), 0.0);
        demand.add(Work::Futexes, 3_800.0);
        assert_eq!((untrace_futexes(&mut demand, 300.0), demand.amount(Work::Futexes)), (3_500.0, 300.0));
        assert_eq!((untrace_futexes(&mut demand, 400.0), demand.amount(Work::Futexes)), (0.0, 300.0));
    }

    #[test]
    fn there_are_no_more_pauses_than_there_was_time_for() {
        // SAFETY: an all-zero rusage is valid.
        #[allow(unsafe_code, reason = "a struct of C without a constructor")]
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        used.ru_utime.tv_usec = 150;
        let mut demand = Demand::default();
        demand.add(Work::Pauses, 7_000.0);
        account(&mut demand, &used);
        assert_eq!(demand.amount(Work::Pauses), 10.0);
    }
}

//! The tracer: starts a program, and stops it and all that it starts at every system call.

#![allow(unsafe_code, reason = "the kernel's interface for tracing")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_data::batch::Histogram;
use tare_data::session::demand::{Demand, Work};

use super::calls::{Call, Counter};
use super::pages::FilePages;
use super::pauses::{LONG_PAUSE_NS, PAUSE_NS, SHORT_PAUSE_NS};
use super::starting::{Started, start_held_program};
use crate::harness::stopwatch::now_ns;

/// Signal that the kernel reports at a system call: a bit is added, so that it differs from an ordinary
/// SIGTRAP.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;
/// Share of the stretches that hold nothing but a stop.
const SHORT: f64 = 0.1;
/// Kinds of stop at a call.
const ENTRY: u8 = 1;
const EXIT: u8 = 2;

/// A task between two stops.
#[derive(Default)]
struct Task {
    /// The call that it is in.
    call: Option<Call>,
    /// When it was let go after its last call.
    went_on_ns: Option<u64>,
    /// Pages that are counted already, or that its parent touched; none of a thread of another task's process.
    pages: Option<FilePages>,
}

impl Task {
    fn begun(pid: libc::pid_t) -> Task {
        Task { pages: FilePages::of_first_task(pid), ..Task::default() }
    }

    /// Counts the pages that it has touched since they were counted last.
    fn count_pages(&mut self, pid: libc::pid_t, demand: &mut Demand) {
        if let (Some(before), Some(now)) = (self.pages, FilePages::of_first_task(pid)) {
            let touched = now.subtract_pages(before);
            demand.add(Work::FilePages, touched.shared as f64);
            demand.add(Work::CopiedPages, touched.copied as f64);
            self.pages = Some(now);
        }
    }
}

/// Times between two calls of a task, from which pauses are counted when all are known.
struct Stretches(Histogram);

impl Stretches {
    /// Counts the stretches with at least this much computing, after subtracting the cost of a stop: the
    /// typical short stretch, since most calls of most programs follow close upon each other.
    fn of_at_least(&self, computing_ns: u64) -> f64 {
        let from_ns = self.0.0.value_at_quantile(SHORT) + computing_ns;
        let longest_ns = self.0.0.max();
        if self.0.0.is_empty() || longest_ns < from_ns {
            return 0.0;
        }
        self.0.0.count_between(from_ns, longest_ns) as f64
    }
}

/// Counts of a run, and files that it read.
#[derive(Debug, Serialize, Deserialize)]
pub struct Traced {
    #[serde(flatten)]
    pub demand: Demand,
    pub read: usize,
    /// Folders in which these are.
    pub folders: usize,
    /// Paths of some of them.
    pub files: Vec<String>,
    /// Paths of files and of folders beside them that nobody met.
    pub unmet: [Vec<String>; 2],
}

/// Runs a program to its end, counting what it asks for; with its exit code, as shells give it.
pub fn count_with_tracer(program: &Path, words: &[OsString]) -> io::Result<(Traced, i32)> {
    let first = start(program, words)?;
    let mut tasks: BTreeMap<libc::pid_t, Task> = BTreeMap::new();
    let (mut counter, mut stretches) = (Counter::default(), Stretches(Histogram::new()));
    let mut is_started = false;
    loop {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        let pid = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if pid < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if !libc::WIFSTOPPED(status) {
            tasks.remove(&pid);
            if pid == first {
                let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
                return Ok((
                    ended(counter, &stretches),
                    code.unwrap_or_else(|| 128 + libc::WTERMSIG(status)),
                ));
            }
            continue;
        }
        let task = tasks.entry(pid).or_insert_with(|| Task::begun(pid));
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let how = match (signal, event) {
            (AT_CALL, _) => {
                at_call(pid, task, &mut counter, &mut stretches);
                (libc::PTRACE_SYSCALL, 0)
            }
            // Stopped by a signal that stops its group: it stays so until it is continued.
            (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, libc::PTRACE_EVENT_STOP) => {
                (libc::PTRACE_LISTEN, 0)
            }
            (_, libc::PTRACE_EVENT_EXEC) => {
                if !is_started {
                    // Calls before that were this program's own.
                    (counter, stretches, is_started) =
                        (Counter::default(), Stretches(Histogram::new()), true);
                }
                // Its memory is a new one.
                task.pages = Some(FilePages::default());
                (libc::PTRACE_SYSCALL, 0)
            }
            (_, libc::PTRACE_EVENT_EXIT) => {
                task.count_pages(pid, &mut counter.demand);
                (libc::PTRACE_SYSCALL, 0)
            }
            (signal, 0) => {
                counter.demand.add(Work::Signals, 1.0);
                (libc::PTRACE_SYSCALL, signal)
            }
            _ => (libc::PTRACE_SYSCALL, 0),
        };
        // A task that was killed meanwhile is waited for next.
        let _ = request(how.0, pid, how.1);
    }
}

fn ended(mut counter: Counter, stretches: &Stretches) -> Traced {
    let [short, pauses, long] =
        [SHORT_PAUSE_NS, PAUSE_NS, LONG_PAUSE_NS].map(|least_ns| stretches.of_at_least(least_ns));
    counter.demand.add(Work::ShortPauses, short - pauses);
    counter.demand.add(Work::Pauses, pauses - long);
    counter.demand.add(Work::LongPauses, long);
    let (read, folders, unmet) = (counter.read.len(), counter.folders.len(), counter.list_unmet());
    let files = std::mem::take(&mut counter.named);
    Traced { demand: counter.into_demand(), read, folders, files, unmet }
}

/// Position of a task at a stop.
enum Stop {
    Before { number: u64, arguments: [u64; 6] },
    After { answer: i64 },
}

/// Records the position of a task: before a call, or after one.
fn at_call(pid: libc::pid_t, task: &mut Task, counter: &mut Counter, stretches: &mut Stretches) {
    let now = now_ns();
    match read_stop(pid, task.call.is_some()) {
        Some(Stop::Before { number, arguments }) => {
            if let Some(went_on_ns) = task.went_on_ns {
                stretches.0.record(now.saturating_sub(went_on_ns));
            }
            let mut call = Call { pid, number: number as libc::c_long, arguments, path: None };
            call.read_path();
            if call.is_exec() {
                // If it succeeds, this memory is gone.
                task.count_pages(pid, &mut counter.demand);
            }
            task.call = Some(call);
        }
        Some(Stop::After { answer }) => {
            if let Some(call) = task.call.take() {
                counter.count_call(&call, answer);
            }
            task.went_on_ns = Some(now_ns());
        }
        None => {}
    }
}

fn read_stop(pid: libc::pid_t, is_in_call: bool) -> Option<Stop> {
    // Size of what the kernel knows to tell, and the beginning of it: kind of stop, and from the fourth word on the
    // call's number and arguments, or its answer.
    let mut words = [0_u64; 12];
    // SAFETY: the kernel writes at most as many bytes as it is given room for.
    let got =
        unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size_of_val(&words), words.as_mut_ptr()) };
    match words[0].to_le_bytes()[0] {
        _ if got < 0 => read_registers(pid, is_in_call),
        ENTRY => Some(Stop::Before {
            number: words[3],
            arguments: [words[4], words[5], words[6], words[7], words[8], words[9]],
        }),
        EXIT => Some(Stop::After { answer: words[3] as i64 }),
        _ => None,
    }
}

/// Reads the position from registers, where the kernel is gVisor's, which does not tell it: stops take turns.
#[cfg(target_arch = "x86_64")]
fn read_registers(pid: libc::pid_t, is_in_call: bool) -> Option<Stop> {
    // SAFETY: zeros are valid numbers.
    let mut is: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the struct is as long as the kernel's, and lives through the call.
    let got = unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0 as libc::c_long, &raw mut is) };
    let arguments = [is.rdi, is.rsi, is.rdx, is.r10, is.r8, is.r9];
    let stop = match is_in_call {
        true => Stop::After { answer: is.rax as i64 },
        false => Stop::Before { number: is.orig_rax, arguments },
    };
    (got >= 0).then_some(stop)
}

#[cfg(not(target_arch = "x86_64"))]
fn read_registers(_: libc::pid_t, _: bool) -> Option<Stop> {
    None
}

/// Starts the program, and continues it once it is traced.
fn start(program: &Path, words: &[OsString]) -> io::Result<libc::pid_t> {
    let Started { pid, go } = start_held_program(program, words)?;
    let pid = pid.as_raw_nonzero().get();
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT;
    request(libc::PTRACE_SEIZE, pid, options)?;
    // The stop from which it goes on call by call.
    request(libc::PTRACE_INTERRUPT, pid, 0)?;
    drop(go);
    Ok(pid)
}

/// Makes a request of ptrace(2) that takes numbers.
pub fn request(what: libc::c_uint, pid: libc::pid_t, with: i32) -> io::Result<()> {
    let with = with as libc::c_long;
    // SAFETY: these requests take numbers, and touch no memory of this process.
    let code = unsafe { libc::ptrace(what, pid, 0 as libc::c_long, with) };
    if code == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_counted_by_what_is_longer_than_a_stop() {
        let mut stretches = Stretches(Histogram::new());
        assert_eq!(stretches.of_at_least(SHORT_PAUSE_NS), 0.0);
        // A stop takes 4 us; eight stretches have 5 us of computing, and three have 30.
        for (ns, times) in [(4_000, 90), (9_000, 8), (34_000, 3)] {
            (0..times).for_each(|_| stretches.0.record(ns));
        }
        assert_eq!([SHORT_PAUSE_NS, PAUSE_NS].map(|ns| stretches.of_at_least(ns)), [11.0, 3.0]);
    }
}

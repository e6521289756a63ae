//! Counting by tracepoints: programs of the kernel's own machine, run at every call of the counted tasks, which are hardly
//! slower for it. They see how long each task computed before a call; a tracer, which stops a task twice a call, has to guess.

mod assembler;
mod btf;
mod kernel;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::io::retry_on_intr;
use rustix::process::{WaitOptions, waitpid};
use serde::{Deserialize, Serialize};

use self::assembler::{Assembler, Helper, If, Register};
use self::kernel::Kind;
use super::pauses::{LONG_PAUSE_NS, PAUSE_NS, SHORT_PAUSE_NS};
use super::starting::{NOT_TRACED, Started, start_held_program};
use crate::harness::stopwatch::Stopwatch;

/// Tasks that are counted at a time.
const MOST_TASKS: u32 = 8192;
/// Numbers of calls that are counted, and what is counted after them.
const NUMBERS: i32 = 1024;
const SHORT_PAUSES: i32 = NUMBERS;
const PAUSES: i32 = NUMBERS + 1;
const LONG_PAUSES: i32 = NUMBERS + 2;
/// Tasks for which there was no room.
const MISSED: i32 = NUMBERS + 3;
const COUNTS: u32 = NUMBERS as u32 + 4;
/// A task's value before it has started its program, and before its first call has ended. Later it is when that was.
const NOT_STARTED: u64 = 0;
const NO_CALL_YET: u64 = 1;
/// Offset of keys and values in the frame of a program.
const KEY: i16 = -8;
const OTHER: i16 = -16;
/// Name of the first process namespace. In another one, tasks have other numbers than the kernel's.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Observations of a program, or the reason why there are none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watched {
    Seen(Seen),
    Unavailable(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    pub calls: u64,
    /// Calls after so much computing.
    pub short_pauses: u64,
    pub pauses: u64,
    pub long_pauses: u64,
    /// Futex calls of threads that wait for each other or wake each other.
    pub futexes: u64,
    /// From letting the program go to its end.
    pub elapsed_ns: u64,
}

/// Runs a program to its end, watching its calls; with its exit code, as shells give it. Where nothing can be watched, the
/// program does not run.
pub fn count_with_tracepoints(program: &Path, words: &[OsString]) -> io::Result<(Watched, i32)> {
    let watch = match Watch::new() {
        Ok(watch) => watch,
        Err(e) => return Ok((Watched::Unavailable(e.to_string()), NOT_TRACED)),
    };
    let Started { pid, go } = start_held_program(program, words)?;
    kernel::write_map_value(&watch.tasks, pid.as_raw_nonzero().get() as u32, NOT_STARTED)?;
    let mut stopwatch = Stopwatch::start_new();
    drop(go);
    let ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()))?;
    let code = ended.map(|(_, status)| {
        status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or_default())
    });
    stopwatch.stop();
    Ok((watch.seen(stopwatch.elapsed_ns())?, code.unwrap_or(NOT_TRACED)))
}

/// The tracepoints, and what they count into.
struct Watch {
    /// By the numbers of tasks: when each came out of its last call.
    tasks: OwnedFd,
    counts: OwnedFd,
    _tracepoints: [OwnedFd; 4],
}

impl Watch {
    fn new() -> io::Result<Watch> {
        if std::fs::read_link("/proc/self/ns/pid")?.as_os_str() != FIRST_NAMESPACE {
            return Err(io::Error::other("tasks have numbers of another namespace here"));
        }
        let number_at = btf::offset_of_task_number()?;
        let (tasks, counts) =
            (kernel::make_map(Kind::Hash, MOST_TASKS)?, kernel::make_map(Kind::Array, COUNTS)?);
        let maps = (tasks.as_raw_fd(), counts.as_raw_fd());
        let tracepoints = [
            kernel::run_at(c"sys_enter", &before_call(maps))?,
            kernel::run_at(c"sys_exit", &after_call(maps.0))?,
            kernel::run_at(c"sched_process_fork", &new_task(maps, number_at))?,
            kernel::run_at(c"sched_process_exit", &ended_task(maps.0))?,
        ];
        Ok(Watch { tasks, counts, _tracepoints: tracepoints })
    }

    fn seen(&self, elapsed_ns: u64) -> io::Result<Watched> {
        let count = |at: i32| kernel::read_map_value(&self.counts, at as u32);
        match count(MISSED)? {
            0 => {}
            missed => return Ok(Watched::Unavailable(format!("{missed} tasks were too many to watch"))),
        }
        // A tracer sees no end of those that do not return.
        let returns =
            |number: &i32| ![libc::SYS_exit, libc::SYS_exit_group].contains(&libc::c_long::from(*number));
        let calls = (0..NUMBERS).filter(returns).map(count).sum::<io::Result<u64>>()?;
        let (short_pauses, pauses, long_pauses) = (count(SHORT_PAUSES)?, count(PAUSES)?, count(LONG_PAUSES)?);
        let futexes = count(libc::SYS_futex as i32)?;
        Ok(Watched::Seen(Seen { calls, short_pauses, pauses, long_pauses, futexes, elapsed_ns }))
    }
}

/// Finds the value of the task that runs, and goes to `out` where it is not watched.
fn find_task(program: &mut Assembler, tasks: RawFd, out: assembler::Label) {
    program.call(Helper::Task);
    // The lower half is the thread's number, the upper one the process's.
    program.store_half(Register::Frame, KEY, Register::Answer);
    look_up(program, tasks, out);
    program.copy(Register::Value, Register::Answer);
}

/// Looks up the address of the value of [`KEY`]; jumps to `out` where there is none.
fn look_up(program: &mut Assembler, map: RawFd, out: assembler::Label) {
    program.load_map(Register::First, map);
    program.copy(Register::Second, Register::Frame);
    program.add(Register::Second, i32::from(KEY));
    program.call(Helper::Lookup);
    program.jump_if(Register::Answer, If::Equal, 0, out);
}

/// Adds one to the count whose place is in a register, which must survive calls.
fn count(program: &mut Assembler, counts: RawFd, place: Register, out: assembler::Label) {
    program.store_half(Register::Frame, KEY, place);
    look_up(program, counts, out);
    program.set(Register::First, 1);
    program.add_to(Register::Answer, Register::First);
}

/// Builds the program that runs before a call: it counts the call by its number, and by how long the task
/// computed before it.
fn before_call((tasks, counts): (RawFd, RawFd)) -> Vec<u64> {
    let mut program = Assembler::default();
    let [out, started, counted] = [(); 3].map(|()| program.new_label());
    program.copy(Register::Context, Register::First);
    find_task(&mut program, tasks, out);
    program.load(Register::Number, Register::Context, 8);
    program.load(Register::Then, Register::Value, 0);
    program.jump_if(Register::Then, If::Differs, NOT_STARTED as i32, started);
    // Calls before the program begins are this process's own.
    program.jump_if(Register::Number, If::Differs, libc::SYS_execve as i32, out);
    program.store_number(Register::Value, 0, NO_CALL_YET as i32);
    program.place_label(started);
    program.jump_if(Register::Then, If::Below, NO_CALL_YET as i32 + 1, counted);
    program.call(Helper::Now);
    program.subtract(Register::Answer, Register::Then);
    program.jump_if(Register::Answer, If::Below, SHORT_PAUSE_NS as i32, counted);
    let paused = program.new_label();
    program.set(Register::Then, SHORT_PAUSES);
    program.jump_if(Register::Answer, If::Below, PAUSE_NS as i32, paused);
    program.set(Register::Then, PAUSES);
    program.jump_if(Register::Answer, If::Below, LONG_PAUSE_NS as i32, paused);
    program.set(Register::Then, LONG_PAUSES);
    program.place_label(paused);
    count(&mut program, counts, Register::Then, out);
    program.place_label(counted);
    program.jump_if(Register::Number, If::AtLeast, NUMBERS, out);
    count(&mut program, counts, Register::Number, out);
    program.place_label(out);
    program.finish_program()
}

/// Builds the program that runs after a call: it notes the time.
fn after_call(tasks: RawFd) -> Vec<u64> {
    let mut program = Assembler::default();
    let out = program.new_label();
    find_task(&mut program, tasks, out);
    program.load(Register::Then, Register::Value, 0);
    program.jump_if(Register::Then, If::Equal, NOT_STARTED as i32, out);
    program.call(Helper::Now);
    program.store(Register::Value, 0, Register::Answer);
    program.place_label(out);
    program.finish_program()
}

/// Builds the program that runs when a watched task makes another: that one is watched too, before it runs.
fn new_task((tasks, counts): (RawFd, RawFd), number_at: i32) -> Vec<u64> {
    let mut program = Assembler::default();
    let out = program.new_label();
    program.copy(Register::Context, Register::First);
    find_task(&mut program, tasks, out);
    program.load(Register::Third, Register::Context, 8);
    program.add(Register::Third, number_at);
    program.copy(Register::First, Register::Frame);
    program.add(Register::First, i32::from(KEY));
    program.set(Register::Second, 4);
    program.call(Helper::ReadKernel);
    program.store_number(Register::Frame, OTHER, NO_CALL_YET as i32);
    program.load_map(Register::First, tasks);
    program.copy(Register::Second, Register::Frame);
    program.add(Register::Second, i32::from(KEY));
    program.copy(Register::Third, Register::Frame);
    program.add(Register::Third, i32::from(OTHER));
    program.set(Register::Fourth, 0);
    program.call(Helper::Update);
    program.jump_if(Register::Answer, If::Equal, 0, out);
    program.set(Register::Then, MISSED);
    count(&mut program, counts, Register::Then, out);
    program.place_label(out);
    program.finish_program()
}

/// Builds the program that runs when a task has ended: its number may become another's.
fn ended_task(tasks: RawFd) -> Vec<u64> {
    let mut program = Assembler::default();
    program.call(Helper::Task);
    program.store_half(Register::Frame, KEY, Register::Answer);
    program.load_map(Register::First, tasks);
    program.copy(Register::Second, Register::Frame);
    program.add(Register::Second, i32::from(KEY));
    program.call(Helper::Delete);
    program.finish_program()
}

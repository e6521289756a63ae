//! A job: a process with all that it starts, which ends when its time is up, and when whoever started it does.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::io;
use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command, ExitStatus};
use std::ptr;

use windows_sys::Win32::Foundation::{HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

/// Exit code of what is left when a trial is over.
const ENDED: u32 = 1;
/// Longest deadline, in ms: a day, and not the number that means forever.
const LONGEST_WAIT_MS: u64 = 86_400_000;

/// Does nothing: the agent has no waits that must be interrupted.
pub(crate) fn begin_agent() {}

/// Does nothing: no trial alternates here.
pub(crate) fn set_alarm(_after_ms: u64) {}

/// Does nothing: the agent's job ends the trial's process.
pub(crate) fn bound_trial(_deadline_ms: u64) {}

/// Does nothing: no agent inherits a file here.
pub(crate) fn set_inherited(_number: i32, _is_inherited: bool) {}

/// Does nothing: a trial's process gets its job after it was started, in [`wait_for_trial`].
pub(crate) fn set_process_group(_command: &mut Command) {}

/// Puts a trial's process into a job, sends it what it reads, waits for it and ends the job; None when it outlived its
/// deadline. It can start nothing before it is in the job, since it waits for its request.
pub(crate) fn wait_for_trial(
    mut child: Child,
    deadline_ms: u64,
    send: impl FnOnce(&mut Child),
) -> io::Result<Option<ExitStatus>> {
    let job = Job::for_child(&child).inspect_err(|_| drop(child.kill()))?;
    send(&mut child);
    let wait_ms = deadline_ms.min(LONGEST_WAIT_MS) as u32;
    // SAFETY: the handle is open as long as the child is.
    let in_time = unsafe { WaitForSingleObject(child.as_raw_handle(), wait_ms) } == WAIT_OBJECT_0;
    job.end_processes();
    let status = child.wait()?;
    Ok(in_time.then_some(status))
}

/// Answers false: trials have no alarm of their own here.
pub(crate) fn ended_by_alarm(_status: ExitStatus) -> bool {
    false
}

/// Describes how a process ended that has no exit code, which every process has here.
pub(crate) fn describe_ending(status: ExitStatus) -> String {
    status.to_string()
}

/// A job that ends with its last handle, which is ours alone: whoever is killed takes along what it has started.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// Creates a job for a process and everything that it starts from now on.
    pub fn for_child(child: &Child) -> io::Result<Job> {
        // SAFETY: a job without a name and with the usual rights.
        let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, and nobody else's.
        let job = Job(unsafe { OwnedHandle::from_raw_handle(job) });
        // SAFETY: an all-zero struct is valid: no limits.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the struct is whole, of that class and that size, and lives through the call.
        done(unsafe {
            SetInformationJobObject(
                job.handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                mem::size_of_val(&limits) as u32,
            )
        })?;
        // SAFETY: both handles are open.
        done(unsafe { AssignProcessToJobObject(job.handle(), child.as_raw_handle()) })?;
        Ok(job)
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Ends whatever is left in it.
    pub fn end_processes(&self) {
        // SAFETY: the handle is open; nothing of this process is in the job.
        unsafe { TerminateJobObject(self.handle(), ENDED) };
    }
}

fn done(done: i32) -> io::Result<()> {
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

//! Output of a program until it ends, or until its time is up: then its job is ended with all that is in it.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use tare_probes::Job;

/// Pause between two looks at a process that has not ended.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Exit of a program, if it ended in time, and its output.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Does nothing: a program gets its job when it runs, in [`gather`].
pub(crate) fn set_process_group(_: &mut Command) {}

/// Reads until it ends, and of either stream at most this; what is more is dropped.
pub(crate) fn gather_output(child: &mut Child, end: Instant, most: usize) -> io::Result<Gathered> {
    let job = Job::for_child(child).inspect_err(|_| drop(child.kill()))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let output = scope.spawn(move || whole(out, most));
        let errors = scope.spawn(move || whole(err, most));
        let has_ended = || output.is_finished() && errors.is_finished();
        let status = loop {
            match child.try_wait().unwrap_or(None) {
                Some(status) if has_ended() => break Some(status),
                _ if Instant::now() >= end => break None,
                _ => thread::sleep(LOOK_AGAIN),
            }
        };
        // A process that still holds the streams ends with it.
        job.end_processes();
        child.wait()?;
        let [output, errors] = [output, errors].map(|thread| thread.join().unwrap_or_default());
        Ok(Gathered { status, output, errors })
    })
}

/// Reads a stream to its end.
fn whole(stream: Option<impl Read>, most: usize) -> Vec<u8> {
    let Some(mut stream) = stream else { return Vec::new() };
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..read.min(most.saturating_sub(bytes.len()))]);
    }
    bytes
}

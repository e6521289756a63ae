//! bpf(2): maps, programs, and tracepoints that run them. Everything goes with its descriptors.

#![allow(unsafe_code, reason = "the kernel's interface is a call with a struct by its address")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The commands that are given here, by their numbers.
#[derive(Clone, Copy)]
enum Command {
    MakeMap = 0,
    Lookup = 1,
    Update = 2,
    Load = 5,
    Trace = 17,
}

/// Type of a map.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Hash = 1,
    Array = 2,
}

/// The kind of program that runs at a tracepoint.
const AT_TRACEPOINT: u64 = 17;
/// The time is told to programs of a free licence alone.
const LICENCE: &CStr = c"Dual MIT/GPL";

/// Sends a request, as words of the kernel's struct; unused words are 0.
fn bpf(command: Command, words: &mut [u64; 16]) -> io::Result<i32> {
    // SAFETY: the words are as many bytes as is said, and every address in them is of memory that its caller keeps.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command as i32, words.as_mut_ptr(), size_of_val(words)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
}

fn request<const N: usize>(words: [u64; N]) -> [u64; 16] {
    let mut all = [0; 16];
    all[..N].copy_from_slice(&words);
    all
}

fn owned(number: i32) -> OwnedFd {
    // SAFETY: the kernel just gave it, and it is nobody else's.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Creates a map from keys of four bytes to values of eight.
pub(super) fn make_map(kind: Kind, most: u32) -> io::Result<OwnedFd> {
    let (key, value) = (4, 8);
    bpf(Command::MakeMap, &mut request([kind as u64 | key << 32, value | u64::from(most) << 32])).map(owned)
}

pub(super) fn write_map_value(map: &OwnedFd, key: u32, value: u64) -> io::Result<()> {
    let addresses = [&raw const key as u64, &raw const value as u64];
    bpf(Command::Update, &mut request([map.as_raw_fd() as u64, addresses[0], addresses[1]])).map(drop)
}

pub(super) fn read_map_value(map: &OwnedFd, key: u32) -> io::Result<u64> {
    let mut value = 0_u64;
    let addresses = [&raw const key as u64, &raw mut value as u64];
    bpf(Command::Lookup, &mut request([map.as_raw_fd() as u64, addresses[0], addresses[1]]))?;
    Ok(value)
}

/// Runs a program at a tracepoint as long as what this gives is kept.
pub(super) fn run_at(tracepoint: &CStr, program: &[u64]) -> io::Result<OwnedFd> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", tracepoint.to_string_lossy()));
    let words =
        [AT_TRACEPOINT | (program.len() as u64) << 32, program.as_ptr() as u64, LICENCE.as_ptr() as u64];
    let program = owned(bpf(Command::Load, &mut request(words)).map_err(named)?);
    let words = [tracepoint.as_ptr() as u64, program.as_raw_fd() as u64];
    bpf(Command::Trace, &mut request(words)).map(owned).map_err(named)
}

//! Overlapped I/O: requests that a thread keeps outstanding, and a completion port on which their answers come, as in DiskSpd
//! and CrystalDiskMark.

#![allow(unsafe_code, reason = "the system writes into buffers while they wait in a queue")]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use tare_data::failure::{Failure, FailureKind};
use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED, FILE_SHARE_READ, FILE_SHARE_WRITE, ReOpenFile, ReadFile,
    WriteFile,
};
use windows_sys::Win32::System::IO::{CreateIoCompletionPort, GetQueuedCompletionStatus, OVERLAPPED};
use windows_sys::Win32::System::Threading::INFINITE;

use crate::harness::buffer::Buffer;
use crate::harness::stopwatch::{Laps, now_ns};
use crate::harness::syscall::make_overlapped;
use crate::harness::trial::broken_failure;
use crate::platform::{BorrowedFd, Errno};

/// Times, and the bytes that were moved.
pub(crate) type Answered = Result<(Laps, u64), Failure>;

/// A queue with a buffer for each request outstanding.
pub(crate) struct Ring {
    port: OwnedHandle,
    /// The file, opened once more so that its requests do not wait.
    file: Option<OwnedHandle>,
    buffers: Vec<Buffer>,
    /// State that the system keeps of each request, by buffer.
    requests: Box<[OVERLAPPED]>,
}

impl Ring {
    pub(crate) fn new(_depth: u32) -> Result<Ring, Failure> {
        // SAFETY: a port without a file yet.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, ptr::null_mut(), 0, 1) };
        let port = owned(port).map_err(|e| broken_failure("a completion port", e))?;
        Ok(Ring { port, file: None, buffers: Vec::new(), requests: Box::default() })
    }

    pub(crate) fn with_buffers(self, buffers: Vec<Buffer>) -> Ring {
        let requests = buffers.iter().map(|_| make_overlapped(0)).collect();
        Ring { buffers, requests, ..self }
    }

    /// Keeps the queue full until every place is requested, and all answers are there.
    pub(crate) fn answer_all(&mut self, writes: bool, file: BorrowedFd<'_>, places: &[u64]) -> Answered {
        let block = self.buffers.first().map_or(0, |buffer| buffer.len());
        let own = self.opened(file).map_err(|e| broken_failure("opening the file once more", e))?;
        let mut laps = Laps::new();
        let mut started_ns = vec![0u64; self.buffers.len()];
        let mut free: Vec<usize> = (0..self.buffers.len()).collect();
        let (mut asked, mut answered, mut bytes) = (0, 0, 0);
        let mut failed = None;
        while answered < places.len() && (failed.is_none() || free.len() < self.buffers.len()) {
            while failed.is_none()
                && asked < places.len()
                && let Some(slot) = free.pop()
            {
                started_ns[slot] = now_ns();
                match self.ask(own, writes, slot, places[asked]) {
                    Ok(()) => asked += 1,
                    Err(e) => {
                        // It was not taken: no answer comes for it.
                        free.push(slot);
                        failed = Some(explain_refusal(e, block));
                    }
                }
            }
            if free.len() == self.buffers.len() {
                continue;
            }
            let (slot, moved) = match self.next_answer() {
                Ok(answer) => answer,
                Err(e) => return Err(self.leak(broken_failure("a completion port", e))),
            };
            laps.add(started_ns[slot], now_ns());
            free.push(slot);
            answered += 1;
            match moved {
                Ok(moved) => bytes += moved,
                Err(e) => failed = Some(explain_refusal(e, block)),
            }
        }
        failed.map_or(Ok((laps, bytes)), Err)
    }

    /// Opens the file for this queue, so that its completions come on the port.
    fn opened(&mut self, file: BorrowedFd<'_>) -> io::Result<HANDLE> {
        if let Some(own) = &self.file {
            return Ok(own.as_raw_handle());
        }
        let rights = GENERIC_READ | GENERIC_WRITE;
        let flags = FILE_FLAG_OVERLAPPED | FILE_FLAG_NO_BUFFERING;
        // SAFETY: both handles are open; no memory is passed.
        let own =
            unsafe { ReOpenFile(file.as_raw_handle(), rights, FILE_SHARE_READ | FILE_SHARE_WRITE, flags) };
        let own = owned(own)?;
        // SAFETY: as above; the port takes the file.
        let port = unsafe { CreateIoCompletionPort(own.as_raw_handle(), self.port.as_raw_handle(), 0, 0) };
        if port.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(self.file.insert(own).as_raw_handle())
    }

    /// Hands one request over; whether it is answered at once or later, its answer comes on the port.
    fn ask(&mut self, file: HANDLE, writes: bool, slot: usize, at: u64) -> Result<(), Errno> {
        self.requests[slot] = make_overlapped(at);
        let (buffer, about) = (&mut self.buffers[slot], &raw mut self.requests[slot]);
        let (start, length) = (buffer.as_mut_ptr(), buffer.len() as u32);
        // SAFETY: the buffer and what the system keeps of the request stay where they are, and are used by nothing else until
        // the answer has come: they are freed with the ring, or never where an answer is missing.
        let done = unsafe {
            match writes {
                true => WriteFile(file, start, length, ptr::null_mut(), about),
                false => ReadFile(file, start, length, ptr::null_mut(), about),
            }
        };
        match Errno::last_os_error() {
            e if done == 0 && e != Errno(ERROR_IO_PENDING) => Err(e),
            _ => Ok(()),
        }
    }

    /// Waits for an answer: whose it is, and the bytes it moved or why it failed.
    fn next_answer(&mut self) -> Result<(usize, Result<u64, Errno>), Errno> {
        let (mut bytes, mut key, mut about) = (0, 0, ptr::null_mut());
        let port = self.port.as_raw_handle();
        // SAFETY: all three live through the call.
        let done = unsafe { GetQueuedCompletionStatus(port, &mut bytes, &mut key, &mut about, INFINITE) };
        let failed = Errno::last_os_error();
        let slot = self.requests.iter().position(|request| ptr::eq(request, about)).ok_or(failed)?;
        Ok((slot, if done == 0 { Err(failed) } else { Ok(u64::from(bytes)) }))
    }

    /// Gives up what requests that were not answered may still fill.
    fn leak(&mut self, failure: Failure) -> Failure {
        std::mem::forget((std::mem::take(&mut self.buffers), std::mem::take(&mut self.requests)));
        failure
    }
}

fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and is nobody else's.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Explains a refusal past the cache: the file system does not take blocks of that size.
pub(crate) fn explain_refusal(e: Errno, block: usize) -> Failure {
    if e == Errno::INVAL {
        let reason = format!("FILE_FLAG_NO_BUFFERING in blocks of {block} B");
        return Failure::new(FailureKind::NotSupported, reason);
    }
    broken_failure("a request", e)
}

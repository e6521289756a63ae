//! Steps in the life of small files, as programs for Windows make them: by whole paths.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::mem;
use std::os::windows::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use tare_paths::door::Door;
use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_NO_MORE_FILES, GENERIC_READ, GENERIC_WRITE, GetLastError, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, DeleteFileW, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ,
    FindClose, FindFirstFileW, FindNextFileW, GetFileAttributesExW, GetFileExInfoStandard, MoveFileExW,
    OPEN_EXISTING, WIN32_FILE_ATTRIBUTE_DATA, WIN32_FIND_DATAW, WriteFile,
};

use crate::harness::stopwatch::Stopwatch;
use crate::platform::Errno;

/// The system reads folders into memory of its own.
pub(crate) const LISTING: usize = 0;

/// A path that ends with a zero, ready for the calls.
pub(crate) struct Name {
    path: Vec<u16>,
    /// Pattern that matches all entries of the folder.
    entries: Vec<u16>,
}

/// The folder that names are in.
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn open(folder: &Door) -> Result<Root, Errno> {
        Ok(Root(folder.path().to_owned()))
    }

    pub(crate) fn make_name(&self, text: &str) -> Name {
        let wide = |path: &Path| path.as_os_str().encode_wide().chain([0]).collect();
        let path = self.0.join(text.replace('/', "\\"));
        Name { path: wide(&path), entries: wide(&path.join("*")) }
    }

    pub(crate) fn make_folder(&self, name: &Name) -> Result<(), Errno> {
        // SAFETY: the path ends with a zero.
        done(unsafe { CreateDirectoryW(name.path.as_ptr(), ptr::null()) })
    }
}

#[inline(always)]
fn done(done: i32) -> Result<(), Errno> {
    if done == 0 { Err(Errno::last_os_error()) } else { Ok(()) }
}

/// Calls CreateFile. The caller has to close the handle.
#[inline(always)]
fn create_file(name: &Name, access: u32, disposition: u32) -> Result<HANDLE, Errno> {
    // SAFETY: the path ends with a zero.
    let file = unsafe {
        CreateFileW(
            name.path.as_ptr(),
            access,
            FILE_SHARE_READ,
            ptr::null(),
            disposition,
            FILE_ATTRIBUTE_NORMAL,
            ptr::null_mut(),
        )
    };
    if file == INVALID_HANDLE_VALUE { Err(Errno::last_os_error()) } else { Ok(file) }
}

crate::timed! {
    pub(crate) fn create_files(_root: &Root, names: &[Name], content: &[u8]) -> Result<(Stopwatch, u64), Errno> {
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            let file = create_file(name, GENERIC_WRITE, CREATE_NEW)?;
            let mut count = 0;
            // SAFETY: the call reads within `content`, and writes its count.
            let written =
                unsafe { WriteFile(file, content.as_ptr(), content.len() as u32, &mut count, ptr::null_mut()) };
            let written = done(written);
            // SAFETY: the handle was just given to us, and is closed once.
            done(unsafe { CloseHandle(file) })?;
            written?;
            bytes += u64::from(count);
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }

    pub(crate) fn stat_files(_root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        // SAFETY: an all-zero struct is valid.
        let mut about: WIN32_FILE_ATTRIBUTE_DATA = unsafe { mem::zeroed() };
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            // SAFETY: the path ends with a zero, and the struct is of that class.
            done(unsafe {
                GetFileAttributesExW(name.path.as_ptr(), GetFileExInfoStandard, (&raw mut about).cast())
            })?;
            bytes += u64::from(about.nFileSizeLow);
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }

    pub(crate) fn open_files(_root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let (mut opened, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            let file = create_file(name, GENERIC_READ, OPEN_EXISTING)?;
            // SAFETY: the handle was just given to us, and is closed once.
            done(unsafe { CloseHandle(file) })?;
            opened += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, opened))
    }

    pub(crate) fn rename_files(_root: &Root, from: &[Name], to: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let (mut renamed, mut stopwatch) = (0, Stopwatch::start_new());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: both paths end with zeros.
            done(unsafe { MoveFileExW(from.path.as_ptr(), to.path.as_ptr(), 0) })?;
            renamed += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, renamed))
    }

    /// Counts the files of all folders.
    pub(crate) fn list_folders(_root: &Root, folders: &[Name], _listing: &mut [u8]) -> Result<(Stopwatch, u64), Errno> {
        // SAFETY: an all-zero struct is valid.
        let mut entry: WIN32_FIND_DATAW = unsafe { mem::zeroed() };
        let (mut found, mut stopwatch) = (0, Stopwatch::start_new());
        for name in folders {
            // SAFETY: the pattern ends with a zero, and the struct lives through the call.
            let search = unsafe { FindFirstFileW(name.entries.as_ptr(), &mut entry) };
            if search == INVALID_HANDLE_VALUE {
                return Err(Errno::last_os_error());
            }
            let ended = loop {
                found += u64::from(entry.cFileName[0] == u16::from(b'r'));
                // SAFETY: the search is open, and the struct lives through the call.
                if unsafe { FindNextFileW(search, &mut entry) } == 0 {
                    // SAFETY: reads a number of this thread's.
                    break unsafe { GetLastError() };
                }
            };
            // SAFETY: the search was just given to us, and is closed once.
            done(unsafe { FindClose(search) })?;
            if ended != ERROR_NO_MORE_FILES {
                return Err(Errno(ended));
            }
        }
        stopwatch.stop();
        Ok((stopwatch, found))
    }

    pub(crate) fn unlink_files(_root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let (mut removed, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            // SAFETY: the path ends with a zero.
            done(unsafe { DeleteFileW(name.path.as_ptr()) })?;
            removed += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, removed))
    }
}

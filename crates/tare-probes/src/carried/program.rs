//! A program that is started with everything said beforehand: by posix_spawn, as shells and hyperfine start theirs.
//!
//! The C library makes the child by vfork(2), so that its start does not cost what the memory of this process would.

#![allow(unsafe_code, reason = "posix_spawn takes lists of pointers, and wait4 fills a struct")]

use std::collections::BTreeMap;
use std::ffi::{CString, OsString, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat};
use tare_data::failure::{Failure, FailureKind};

use crate::harness::trial::broken_failure;

/// First word of a command that is this program itself.
pub(crate) const ITSELF: &str = "@tare";

pub struct Program<'a> {
    pub path: &'a Path,
    /// The first is what it finds as its own name.
    pub words: &'a [String],
    pub folder: &'a Path,
    pub variables: &'a BTreeMap<OsString, OsString>,
    pub input: BorrowedFd<'a>,
    pub output: BorrowedFd<'a>,
    pub errors: BorrowedFd<'a>,
}

/// Arguments of posix_spawn(3), laid out before the clock starts.
pub struct Prepared<'a> {
    path: CString,
    words: Strings,
    variables: Strings,
    actions: Actions,
    attributes: Attributes,
    /// Open until the program has started there.
    _folder: OwnedFd,
    streams: std::marker::PhantomData<BorrowedFd<'a>>,
}

impl<'a> Program<'a> {
    pub fn prepare(&self) -> io::Result<Prepared<'a>> {
        let name = |word: &'a String| match word.strip_prefix('@') {
            // tare's own programs start further ones by the path that they find as their name.
            Some(_) => self.path.as_os_str().as_bytes(),
            None => word.as_bytes(),
        };
        let others = self.words.iter().skip(1).map(|word| word.as_bytes());
        let words =
            self.words.first().map(name).into_iter().chain(others).map(|word| Ok(CString::new(word)?));
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| Ok(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?));
        let mut actions = Actions::new()?;
        for (stream, descriptor) in [(0, self.input), (1, self.output), (2, self.errors)] {
            actions.duplicate(descriptor, stream)?;
        }
        let folder =
            rustix::fs::open(self.folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        actions.change_folder(folder.as_fd())?;
        Ok(Prepared {
            _folder: folder,
            path: CString::new(self.path.as_os_str().as_bytes())?,
            words: Strings::new(words.collect::<io::Result<_>>()?),
            variables: Strings::new(variables.collect::<io::Result<_>>()?),
            actions,
            attributes: Attributes::new()?,
            streams: std::marker::PhantomData,
        })
    }
}

impl Prepared<'_> {
    /// Starts the program and returns its process number. The caller waits for it.
    pub fn spawn(&self) -> io::Result<libc::pid_t> {
        let mut pid = 0;
        // SAFETY: all that is pointed to lives in `self`, the lists end with a null pointer, and `pid` lives through
        // the call.
        let code = unsafe {
            libc::posix_spawn(
                &mut pid,
                self.path.as_ptr(),
                &self.actions.0,
                &self.attributes.0,
                self.words.pointers.as_ptr().cast(),
                self.variables.pointers.as_ptr().cast(),
            )
        };
        done(code).map(|()| pid)
    }
}

/// Finds a program that may be started: a path from a folder, or a match in the whole paths of a search path.
pub fn find_program(word: &str, search_path: &str, folder: &Path) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = match word.contains('/') {
        true => vec![folder.join(word)],
        false => {
            let folders = search_path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
            folders.map(|folder| folder.join(word)).collect()
        }
    };
    let may_start = |path: &PathBuf| accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok();
    candidates.into_iter().find(may_start)
}

/// Explains why a program that exists did not start.
pub fn not_started(word: &str, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ENOENT) => Failure::new(
            FailureKind::NotSupported,
            format!("ENOENT: {word} is there, but the interpreter or loader that it names is not"),
        ),
        Some(libc::ENOEXEC) => Failure::new(
            FailureKind::NotSupported,
            format!("ENOEXEC: {word} is not a program for this system; a script begins with #!"),
        ),
        Some(libc::EACCES) => Failure::new(FailureKind::NotPermitted, format!("EACCES: {word}")),
        _ => broken_failure(&format!("starting {word}"), error),
    }
}

fn done(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Texts, and the list of pointers to them that C takes.
struct Strings {
    /// Kept for the pointers.
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Strings {
    fn new(texts: Vec<CString>) -> Strings {
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Strings { _texts: texts, pointers }
    }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Actions> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the call fills it.
        done(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: it was filled.
        Ok(Actions(unsafe { actions.assume_init() }))
    }

    fn duplicate(&mut self, from: BorrowedFd<'_>, to: i32) -> io::Result<()> {
        // SAFETY: `self` was initialised; numbers are copied.
        done(unsafe { libc::posix_spawn_file_actions_adddup2(&mut self.0, from.as_raw_fd(), to) })
    }

    /// Changes the folder by descriptor: the function that takes a path is weak in the standard library, and
    /// a static program that is optimised as a whole is linked without it.
    fn change_folder(&mut self, folder: BorrowedFd<'_>) -> io::Result<()> {
        // SAFETY: `self` was initialised; the number is copied.
        done(unsafe { libc::posix_spawn_file_actions_addfchdir_np(&mut self.0, folder.as_raw_fd()) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and is not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    /// Blocks no signal, and restores SIGPIPE, which this runtime ignores, so that it ends the program as it
    /// does after a shell.
    fn new() -> io::Result<Attributes> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call fills it.
        done(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: it was filled.
        let mut attributes = Attributes(unsafe { attributes.assume_init() });
        let mut set = MaybeUninit::uninit();
        // SAFETY: the first call fills the set, and the others read it and the attributes, which were initialised.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            let mut set = set.assume_init();
            done(libc::posix_spawnattr_setsigmask(&mut attributes.0, &set))?;
            libc::sigaddset(&mut set, libc::SIGPIPE);
            done(libc::posix_spawnattr_setsigdefault(&mut attributes.0, &set))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            done(libc::posix_spawnattr_setflags(&mut attributes.0, flags as i16))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and is not used again.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}

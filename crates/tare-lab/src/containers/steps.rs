//! Steps towards a root folder: folders, files, links and mounts, made one after the other between fork and exec.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Dev, FileType, Gid, Mode, OFlags, Uid, makedev, mknodat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_remount, unmount,
};

/// A list that was written beforehand: running it makes system calls and allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Steps(Vec<Step>);

#[derive(Clone, Debug)]
struct Step {
    act: Act,
    /// Purpose, in words for a reader of the failure.
    what: CString,
    need: Need,
}

/// The need of a step by those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Always,
    /// Only while the files are there that it is about, which others may remove at any time.
    WhileThere,
    /// The other steps are done without it.
    Never,
}

#[derive(Clone, Debug)]
enum Act {
    Folder {
        at: CString,
        mode: Mode,
        owner: Option<(Uid, Gid)>,
    },
    File {
        at: CString,
    },
    Link {
        to: CString,
        at: CString,
    },
    Mount {
        source: CString,
        at: CString,
        kind: CString,
        flags: MountFlags,
        data: CString,
    },
    Bind {
        from: CString,
        at: CString,
        with_below: bool,
    },
    ReadOnly {
        at: CString,
    },
    ChangeRoot {
        to: CString,
    },
    /// A character device like one of the host's.
    Device {
        like: CString,
        number: Dev,
        at: CString,
    },
    /// Nothing that can be made.
    LeftOut,
}

impl Steps {
    /// Makes a folder, unless one is there. Its owner is set only where one is given.
    pub fn add_folder(&mut self, at: &Path, mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
        let owner = owner.map(|(user, group)| (Uid::from_raw(user), Gid::from_raw(group)));
        let act = Act::Folder { at: c_path(at)?, mode: Mode::from_raw_mode(mode), owner };
        self.add(act, format!("making {}", at.display()))
    }

    /// Makes an empty file, unless one is there.
    pub fn add_file(&mut self, at: &Path) -> io::Result<()> {
        self.add(Act::File { at: c_path(at)? }, format!("making {}", at.display()))
    }

    /// Makes a device that all may use. Where none can be made, as in a user namespace, the host's is bound.
    pub fn add_device(&mut self, like: &Path, (major, minor): (u32, u32), at: &Path) -> io::Result<()> {
        let act = Act::Device { like: c_path(like)?, number: makedev(major, minor), at: c_path(at)? };
        self.add(act, format!("making {}", at.display()))
    }

    /// Makes a symbolic link, unless something is there.
    pub fn add_link(&mut self, to: &str, at: &Path) -> io::Result<()> {
        self.add(Act::Link { to: CString::new(to)?, at: c_path(at)? }, format!("making {}", at.display()))
    }

    /// Mounts a file system that needs no device.
    pub fn add_mount(&mut self, kind: &str, at: &Path, flags: MountFlags, data: &str) -> io::Result<()> {
        let (kind, data) = (CString::new(kind)?, CString::new(data)?);
        let what = format!("mounting {} at {}", kind.to_string_lossy(), at.display());
        self.add(Act::Mount { source: kind.clone(), at: c_path(at)?, kind, flags, data }, what)
    }

    /// Binds a file or a folder at another path, without the mounts below it.
    pub fn add_bind_mount(&mut self, from: &Path, at: &Path) -> io::Result<()> {
        self.bind_either(from, at, false)
    }

    /// Binds a folder at another path, with the mounts below it.
    pub fn bind_with_below(&mut self, from: &Path, at: &Path) -> io::Result<()> {
        self.bind_either(from, at, true)
    }

    fn bind_either(&mut self, from: &Path, at: &Path, with_below: bool) -> io::Result<()> {
        let act = Act::Bind { from: c_path(from)?, at: c_path(at)?, with_below };
        self.add(act, format!("binding {}", from.display()))
    }

    /// Makes a mount read-only, as it is seen there.
    pub fn read_only(&mut self, at: &Path) -> io::Result<()> {
        self.add(Act::ReadOnly { at: c_path(at)? }, format!("making {} read-only", at.display()))
    }

    /// Makes a mount the root, and the current folder; the old root can be reached no more.
    pub fn change_root(&mut self, to: &Path) -> io::Result<()> {
        self.add(Act::ChangeRoot { to: c_path(to)? }, "changing the root".to_owned())
    }

    /// Leaves something out, which a note of the session then names.
    pub fn leave_out(&mut self, what: String) -> io::Result<()> {
        self.add(Act::LeftOut, what)?;
        self.make_optional();
        Ok(())
    }

    fn add(&mut self, act: Act, what: String) -> io::Result<()> {
        self.0.push(Step { act, what: CString::new(what)?, need: Need::Always });
        Ok(())
    }

    /// Lets the rest be done without the last step.
    pub fn make_optional(&mut self) {
        self.0.iter_mut().last().expect("there is a step").need = Need::Never;
    }

    /// Lets the rest be done where the files of the last step are gone by then.
    pub fn need_while_there(&mut self) {
        self.0.iter_mut().last().expect("there is a step").need = Need::WhileThere;
    }

    /// Appends those of another list.
    pub fn append(&mut self, mut others: Steps) {
        self.0.append(&mut others.0);
    }

    /// Makes all of them. Only system calls, so that it may run between fork and exec.
    pub fn run_steps(&self) -> Result<(), Failed<'_>> {
        for Step { act, what, need } in &self.0 {
            match act.make() {
                Ok(()) => {}
                Err(Errno::NOENT) if *need == Need::WhileThere => {}
                Err(_) if *need == Need::Never => note(what),
                Err(errno) => return Err(Failed { what, errno }),
            }
        }
        Ok(())
    }
}

/// The step that could not be made.
pub struct Failed<'a> {
    pub what: &'a CStr,
    pub errno: Errno,
}

impl Act {
    fn make(&self) -> Result<(), Errno> {
        match self {
            Act::Folder { at, mode, owner } => make_folder(at, *mode, *owner),
            Act::File { at } => make_file(at),
            Act::Link { to, at } => unless_there(rustix::fs::symlink(to.as_c_str(), at.as_c_str())),
            Act::Mount { source, at, kind, flags, data } => {
                mount(source.as_c_str(), at.as_c_str(), kind.as_c_str(), *flags, Some(data.as_c_str()))
            }
            Act::Bind { from, at, with_below: false } => mount_bind(from.as_c_str(), at.as_c_str()),
            Act::Bind { from, at, with_below: true } => mount_bind_recursive(from.as_c_str(), at.as_c_str()),
            Act::ReadOnly { at } => mount_remount(at.as_c_str(), MountFlags::BIND | MountFlags::RDONLY, c""),
            Act::Device { like, number, at } => make_device(like, *number, at),
            Act::LeftOut => Err(Errno::NOENT),
            Act::ChangeRoot { to } => {
                rustix::process::chdir(to.as_c_str())?;
                // The old root comes to lie on the new one, from where it is unmounted.
                rustix::process::pivot_root(c".", c".")?;
                unmount(c".", UnmountFlags::DETACH)?;
                rustix::process::chdir(c"/")
            }
        }
    }
}

fn make_file(at: &CStr) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(at, flags, Mode::from_raw_mode(0o644)).map(drop)
}

fn make_device(like: &CStr, number: Dev, at: &CStr) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(0o666);
    match mknodat(CWD, at, FileType::CharacterDevice, mode, number).and_then(|()| rustix::fs::chmod(at, mode))
    {
        Ok(()) => Ok(()),
        Err(_) => make_file(at).and_then(|()| mount_bind(like, at)),
    }
}

/// Makes a folder with this mode, whatever the umask.
fn make_folder(at: &CStr, mode: Mode, owner: Option<(Uid, Gid)>) -> Result<(), Errno> {
    match rustix::fs::mkdir(at, mode) {
        Err(Errno::EXIST) => return Ok(()),
        made => made?,
    }
    if let Some((user, group)) = owner {
        rustix::fs::chown(at, Some(user), Some(group))?;
    }
    rustix::fs::chmod(at, mode)
}

fn unless_there(made: Result<(), Errno>) -> Result<(), Errno> {
    if made == Err(Errno::EXIST) { Ok(()) } else { made }
}

/// Writes on standard error, from where it becomes a note of the session.
fn note(what: &CStr) {
    let errors = io::stderr();
    for part in [b"root: without ".as_slice(), what.to_bytes(), b"\n"] {
        let _ = rustix::io::write(&errors, part);
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_whose_files_are_gone_is_done_without_where_that_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone/below");
        let mut steps = Steps::default();
        steps.add_folder(&gone, 0o755, None).unwrap();
        assert!(steps.run_steps().is_err());
        steps.need_while_there();
        steps.add_folder(&folder.path().join("after"), 0o755, None).unwrap();
        assert!(steps.run_steps().is_ok() && folder.path().join("after").is_dir());
    }
}

//! Removal of a folder with everything in it, however deep: with a few descriptors, without recursion, never through a link.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, IFlags, Mode, OFlags, chmod, fchmod, fstat, ioctl_getflags, ioctl_setflags, open,
    openat, statat, unlinkat,
};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// Rights with which a folder's owner can empty it.
const EMPTIES: Mode = Mode::RWXU;
/// Longest path of an entry that stays which is shown whole.
const LONGEST_PATH: usize = 200;
/// Flags that keep even root from removing a file (chattr(1)).
const FIXED: IFlags = IFlags::IMMUTABLE.union(IFlags::APPEND);

/// Removes a folder with all that is in it. One that keeps its owner out is opened, and flags that keep a file from being
/// removed are cleared. Where something stays all the same, the rest is removed, and the error tells why the first stayed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = open(above, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
    let mut walk = Walk { folder, levels: Vec::new(), stayed: None };
    walk.remove_all(CString::new(name.as_bytes())?)?;
    walk.stayed.map_or(Ok(()), Err)
}

/// Removes all that is in a folder, as [`remove_tree`] does, but the entry of a name.
pub(super) fn empty_folder(folder: OwnedFd, but: &OsStr) -> io::Result<()> {
    let top = Level {
        name: CString::default(),
        above: Default::default(),
        left: BTreeSet::from([CString::new(but.as_bytes())?]),
    };
    let mut walk = Walk { folder, levels: vec![top], stayed: None };
    while !walk.empty_folder()? {
        walk.go_up_to(1)?;
    }
    walk.stayed.map_or(Ok(()), Err)
}

/// A folder that is being emptied.
struct Level {
    /// Its name in the folder above, and which one that is.
    name: CString,
    above: (u64, u64),
    /// Entries that stay.
    left: BTreeSet<CString>,
}

struct Walk {
    /// The folder of the last level; without levels the one that holds the tree.
    folder: OwnedFd,
    levels: Vec<Level>,
    /// Why the first entry stayed that did, with its path.
    stayed: Option<io::Error>,
}

impl Walk {
    fn remove_all(&mut self, top: CString) -> Result<(), Errno> {
        let kind = FileType::from_raw_mode(statat(&self.folder, &top, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        self.remove_entry(&top, kind)?;
        self.go_up_to(0)
    }

    /// Empties and removes the folders of all levels below this many.
    fn go_up_to(&mut self, levels: usize) -> Result<(), Errno> {
        while self.levels.len() > levels {
            if self.empty_folder()? {
                self.step_up()?;
            }
        }
        Ok(())
    }

    /// Removes the entries of the folder up to one that is not empty, which it enters; true where none is left to remove.
    fn empty_folder(&mut self) -> Result<bool, Errno> {
        let depth = self.levels.len();
        let mut is_done = true;
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_left = self.levels.last().is_some_and(|level| level.left.contains(name));
            if [c".", c".."].contains(&name) || is_left {
                continue;
            }
            // Removing may move entries past a reader, so that the last pass finds nothing.
            is_done = false;
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                known => known,
            };
            if let Err(errno) = self.remove_entry(name, kind) {
                self.leave(name.to_owned(), errno);
            }
            if self.levels.len() > depth {
                return Ok(false);
            }
        }
        Ok(is_done)
    }

    /// Removes an entry, or enters it where it is a folder that is not empty.
    fn remove_entry(&mut self, name: &CStr, kind: FileType) -> Result<(), Errno> {
        let flags = if kind == FileType::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(&self.folder, name, flags) {
            Err(Errno::NOTEMPTY | Errno::EXIST) if kind == FileType::Directory => self.enter(name),
            Err(Errno::PERM | Errno::ACCESS) => {
                clear_flags(&self.folder);
                if matches!(kind, FileType::Directory | FileType::RegularFile) {
                    self.open_entry(name).iter().for_each(clear_flags);
                }
                match unlinkat(&self.folder, name, flags) {
                    Err(Errno::NOTEMPTY | Errno::EXIST) if kind == FileType::Directory => self.enter(name),
                    Err(Errno::NOENT) => Ok(()),
                    removed => removed,
                }
            }
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        }
    }

    fn enter(&mut self, name: &CStr) -> Result<(), Errno> {
        let above = fstat(&self.folder)?;
        let folder = match openat(&self.folder, name, FOLDER, Mode::empty()) {
            Err(Errno::ACCESS) => {
                self.let_owner_in(name)?;
                openat(&self.folder, name, FOLDER, Mode::empty())?
            }
            opened => opened?,
        };
        if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(EMPTIES) {
            // If that is refused, the entries show it.
            let _ = fchmod(&folder, EMPTIES);
        }
        let above = (above.st_dev, above.st_ino);
        self.levels.push(Level { name: name.to_owned(), above, left: BTreeSet::new() });
        self.folder = folder;
        Ok(())
    }

    /// Goes back to the folder above and removes the one that was emptied. Another folder than before is not gone on with.
    fn step_up(&mut self) -> Result<(), Errno> {
        let Some(Level { name, above, left }) = self.levels.pop() else { return Ok(()) };
        let folder = openat(&self.folder, c"..", FOLDER, Mode::empty())?;
        let about = fstat(&folder)?;
        if (about.st_dev, about.st_ino) != above {
            return Err(Errno::BUSY);
        }
        self.folder = folder;
        if !left.is_empty() {
            self.keep(name);
        } else if let Err(errno) = unlinkat(&self.folder, &name, AtFlags::REMOVEDIR)
            && errno != Errno::NOENT
        {
            self.leave(name, errno);
        }
        Ok(())
    }

    fn leave(&mut self, name: CString, errno: Errno) {
        if self.stayed.is_none() {
            let above = self.levels.iter().skip(1).map(|level| level.name.to_string_lossy());
            let mut path = above.chain([name.to_string_lossy()]).collect::<Vec<_>>().join("/");
            if path.len() > LONGEST_PATH {
                path = format!(".../{}", name.to_string_lossy());
            }
            let error = io::Error::from(errno);
            self.stayed = Some(io::Error::new(error.kind(), format!("{path}: {error}")));
        }
        self.keep(name);
    }

    fn keep(&mut self, name: CString) {
        if let Some(level) = self.levels.last_mut() {
            level.left.insert(name);
        }
    }

    fn open_entry(&self, name: &CStr) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, name, flags, Mode::empty()).ok()
    }

    /// Lets its owner into a folder again: programs close some, and the kernel one of each layer.
    fn let_owner_in(&self, name: &CStr) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let closed = openat(&self.folder, name, flags, Mode::empty())?;
        chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), EMPTIES)
    }
}

fn clear_flags(file: &impl AsFd) {
    if let Ok(flags) = ioctl_getflags(file)
        && flags.intersects(FIXED)
    {
        let _ = ioctl_setflags(file, flags - FIXED);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    #[test]
    fn a_tree_is_removed_however_deep() {
        let place = place();
        let top = place.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut folder: OwnedFd = open(&top, FOLDER, Mode::empty()).unwrap();
        // Deeper than most limits on descriptors, and than any path is long.
        for _ in 0..5_000 {
            mkdirat(&folder, c"d", Mode::RWXU).unwrap();
            folder = openat(&folder, c"d", FOLDER, Mode::empty()).unwrap();
        }
        drop(folder);
        (0..3000).for_each(|number| fs::write(top.join(number.to_string()), "").unwrap());
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(remove_tree(&top).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_is_emptied_but_for_a_name() {
        let place = place();
        fs::create_dir_all(place.path().join("a/b/c")).unwrap();
        for name in ["a/b/kept", "kept", "file"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let open = || open(place.path(), FOLDER, Mode::empty()).unwrap();
        empty_folder(open(), OsStr::new("kept")).unwrap();
        let left = || fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left().collect::<Vec<_>>(), ["kept"]);
        empty_folder(open(), OsStr::new("")).unwrap();
        assert_eq!(left().count(), 0);
    }

    #[test]
    fn what_is_behind_a_link_stays() {
        let place = place();
        let (top, other) = (place.path().join("top"), place.path().join("other"));
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("mine"), "mine").unwrap();
        symlink(&other, top.join("a/b/folder")).unwrap();
        symlink(other.join("mine"), top.join("file")).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        assert_eq!(fs::read(other.join("mine")).unwrap(), b"mine");
        symlink(&other, &top).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.is_symlink() && other.join("mine").exists());
    }

    #[test]
    fn closed_folders_and_fixed_files_are_removed() {
        let place = place();
        let top = place.path().join("top");
        fs::create_dir_all(top.join("closed/inner")).unwrap();
        fs::write(top.join("closed/inner/file"), "").unwrap();
        for name in ["closed/inner", "closed"] {
            fs::set_permissions(top.join(name), Permissions::from_mode(0o0)).unwrap();
        }
        fs::create_dir(top.join("fixed")).unwrap();
        for (name, flags) in
            [("fixed/file", IFlags::IMMUTABLE), ("fixed/log", IFlags::APPEND), ("fixed", IFlags::IMMUTABLE)]
        {
            if name != "fixed" {
                fs::write(top.join(name), "").unwrap();
            }
            let file = fs::File::open(top.join(name)).unwrap();
            if ioctl_setflags(&file, ioctl_getflags(&file).unwrap_or(IFlags::empty()) | flags).is_err() {
                println!("SKIPPED fixed files: only root may fix them, and not on every file system");
            }
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists());
    }
}

//! The door: a folder in which others may write, held open. Below it no link is followed, only regular files are read, without
//! waiting and within a bound, and a file that is written is new and then renamed.
//!
//! The folder itself is named by the user, and may be reached through links.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(unix)]
use rustix::fs::OFlags;
use tare_data::foreign::Foreign;

use crate::platform::FolderHandle;
pub use crate::platform::{About, Creation, Kind};

/// Entries of a folder that are listed.
const MOST_ENTRIES: usize = 1 << 20;
/// Permissions of a new file, of a new folder and of one for its owner alone, before the umask.
const NEW_FILE: u32 = 0o666;
const NEW_FOLDER: u32 = 0o777;
const PRIVATE_FOLDER: u32 = 0o700;
/// Tries at a name for a file that is not there yet.
const MOST_NAMES: u32 = 1000;

/// Number of the next new file of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A folder that is held open. All other paths are relative to it.
#[derive(Debug)]
pub struct Door {
    handle: FolderHandle,
    path: PathBuf,
}

/// The cause of an error: somebody put something else where a file or a folder is expected.
#[derive(Debug)]
struct Planted(String);

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Planted {}

/// Recognises an error that says that something was planted, and no failure of a disk.
pub fn is_planted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<Planted>())
}

fn planted(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, Planted(what))
}

impl Door {
    /// Opens the folder that the user named.
    pub fn open(path: &Path) -> io::Result<Door> {
        Ok(Door { handle: FolderHandle::open(path)?, path: path.to_owned() })
    }

    /// Opens a folder by a path whose last name may not be a link.
    pub fn open_itself(path: &Path) -> io::Result<Door> {
        Ok(Door { handle: FolderHandle::open_itself(path)?, path: path.to_owned() })
    }

    /// Opens a folder below.
    pub fn open_folder(&self, inside: &Path) -> io::Result<Door> {
        let handle = self.named(inside, self.handle.open_folder(checked(inside)?))?;
        Ok(Door { handle, path: self.join(inside) })
    }

    /// Makes a folder that must not be there yet, its owner's alone, and opens it.
    pub fn make_new_folder(&self, inside: &Path) -> io::Result<Door> {
        self.named(inside, self.handle.make_folder(checked(inside)?, PRIVATE_FOLDER))?;
        self.open_folder(inside)
    }

    /// Opens a file to read and write it; where that makes it, only for its owner.
    #[cfg(unix)]
    pub fn open_with(&self, inside: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        self.named(inside, self.handle.open_with(checked(inside)?, flags | OFlags::RDWR))
    }

    /// Opens a file to read and append; one that this makes is its owner's alone.
    pub fn open_to_append(&self, inside: &Path, creation: Creation) -> io::Result<File> {
        self.named(inside, self.handle.open_to_append(checked(inside)?, creation))
    }

    /// Waits until the folder's entries are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.handle.sync()
    }

    /// Removes all that is in the folder, but the entry of a name. Where something stays, the rest is removed.
    pub fn empty(&self, but: &str) -> io::Result<()> {
        self.handle.empty(OsStr::new(but))
    }

    /// Removes a folder below with all that is in it, and nothing that is not a folder.
    pub fn remove_tree(&self, inside: &Path) -> io::Result<()> {
        self.open_folder(inside)?.empty("")?;
        self.remove_folder(inside)
    }

    /// Returns the folder's path as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the whole path of an entry, to show it and for programs that are started.
    pub fn join(&self, inside: &Path) -> PathBuf {
        self.path.join(inside)
    }

    /// Reads the metadata of the folder itself.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.handle.metadata()
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, inside: &Path) -> io::Result<File> {
        let file = self.named(inside, self.handle.open_file(checked(inside)?))?;
        let kind = file.metadata()?.file_type();
        match kind.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false if kind.is_file() => Ok(file),
            false => Err(planted("it is not a regular file".to_owned())),
        }
    }

    /// Reads a file; an error where it has more than `longest` bytes.
    pub fn read_bytes(&self, inside: &Path, longest: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(inside)?.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > longest {
            return Err(io::Error::new(
                ErrorKind::FileTooLarge,
                format!("it is longer than {longest} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Reads a file as text; an error where it is not UTF-8.
    pub fn read_text(&self, inside: &Path, longest: u64) -> io::Result<Foreign<String>> {
        let text = String::from_utf8(self.read_bytes(inside, longest)?);
        text.map(Foreign::new).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
    }

    /// Looks at an entry without opening it.
    pub fn look_at(&self, inside: &Path) -> io::Result<About> {
        self.named(inside, self.handle.look_at(checked(inside)?))
    }

    /// Checks that there is a regular file of this name.
    pub fn has_file(&self, inside: &Path) -> bool {
        self.look_at(inside).is_ok_and(|about| about.kind == Kind::File)
    }

    /// Lists the entries of a folder below, or of this one by the empty path, in the order of their names. A name that is not
    /// UTF-8 is listed as it can be shown, and is the name of nothing.
    pub fn list_entries(&self, inside: &Path) -> io::Result<Vec<(String, Kind)>> {
        let mut entries = self.named(inside, self.handle.list_entries(checked(inside)?, MOST_ENTRIES))?;
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Makes a folder with all folders above it, unless it is there.
    pub fn make_folder(&self, inside: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = inside.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
        above.reverse();
        for folder in above {
            match self.named(folder, self.handle.make_folder(checked(folder)?, NEW_FOLDER)) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => {}
            }
        }
        match self.look_at(inside)?.kind {
            Kind::Folder => Ok(()),
            Kind::Link => Err(self.is_a_link(inside)),
            _ => Err(planted(format!("{} is not a folder", self.join(inside).display()))),
        }
    }

    /// Makes a file that must not be there yet.
    pub fn create_new(&self, inside: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_with_mode(inside, NEW_FILE, bytes)
    }

    /// Makes a file that must not be there yet, with these permissions.
    pub fn create_with_mode(&self, inside: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.named(inside, self.handle.create_new(checked(inside)?, mode))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Makes a file anew, for a program to write in. One that has the name is removed, never written to.
    pub fn replace_file(&self, inside: &Path) -> io::Result<File> {
        self.remove_file(inside)?;
        self.named(inside, self.handle.create_new(checked(inside)?, NEW_FILE))
    }

    /// Writes a file whole or not at all, in place of one that has the name.
    pub fn write_file(&self, inside: &Path, bytes: &[u8]) -> io::Result<()> {
        for _ in 0..MOST_NAMES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let new = inside.with_file_name(format!(".tare-{}-{number}", std::process::id()));
            let written = match self.create_new(&new, bytes) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                made => made.and_then(|()| self.rename(&new, inside)),
            };
            if written.is_err() {
                let _ = self.remove_file(&new);
            }
            return written;
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Renames an entry, in place of a file that has the new name.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let renamed = self.handle.rename(checked(from)?, checked(to)?);
        self.named(from, renamed).or_else(|e| self.named(to, Err(e)))
    }

    /// Removes a file, a link or a pipe; one that is not there is not missed.
    pub fn remove_file(&self, inside: &Path) -> io::Result<()> {
        match self.named(inside, self.handle.remove_file(checked(inside)?)) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, inside: &Path) -> io::Result<()> {
        self.named(inside, self.handle.remove_folder(checked(inside)?))
    }

    /// Adds the link on a path to an error, or the file in place of a folder, if that is why it failed.
    fn named<T>(&self, inside: &Path, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) || is_planted(&error) {
                return error;
            }
            let kind = |path: &Path| self.handle.look_at(path).map(|about| about.kind);
            let mut above: Vec<&Path> =
                inside.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
            above.reverse();
            match above.iter().find(|path| kind(path).is_ok_and(|kind| kind != Kind::Folder)) {
                Some(path) if kind(path).is_ok_and(|kind| kind == Kind::Link) => self.is_a_link(path),
                Some(path) if *path != inside => {
                    planted(format!("{} is not a folder", self.join(path).display()))
                }
                _ => error,
            }
        })
    }

    fn is_a_link(&self, inside: &Path) -> io::Error {
        planted(format!("{} is a link, which is not followed", self.join(inside).display()))
    }
}

#[cfg(unix)]
impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.descriptor()
    }
}

/// Refuses a path that leaves the folder by its words alone.
fn checked(inside: &Path) -> io::Result<&Path> {
    let stays = inside.components().all(|part| matches!(part, Component::Normal(_)));
    if stays {
        Ok(inside)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it leads out of the folder"))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// Makes a folder with a file, and another outside to which links lead.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "12345").unwrap();
        }
        (place, inside, outside)
    }

    fn doors(path: &Path) -> [Door; 2] {
        let door = || Door::open(path).unwrap();
        [door(), Door { handle: door().handle.by_parts(), path: path.to_owned() }]
    }

    #[test]
    fn honest_files_are_read_and_written() {
        let (_place, inside, _) = place();
        for door in doors(&inside) {
            let file = Path::new("a/b/new");
            assert_eq!(door.read_bytes(Path::new("file"), 5).unwrap(), b"12345");
            assert_eq!(door.read_bytes(Path::new("file"), 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
            door.make_folder(Path::new("a/b")).unwrap();
            door.make_folder(Path::new("a/b")).unwrap();
            door.write_file(file, b"one").unwrap();
            door.write_file(file, b"two").unwrap();
            assert_eq!(door.create_new(file, b"").unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(door.read_text(file, 9).unwrap().to_string(), "two");
            door.replace_file(file).unwrap().write_all(b"three").unwrap();
            assert_eq!(fs::read(inside.join(file)).unwrap(), b"three");
            door.rename(file, Path::new("a/new")).unwrap();
            let names = |at: &str| door.list_entries(Path::new(at)).unwrap();
            assert_eq!(names("a"), [("b".to_owned(), Kind::Folder), ("new".to_owned(), Kind::File)]);
            assert_eq!(names("a/b"), []);
            door.remove_file(Path::new("a/new")).unwrap();
            door.remove_file(Path::new("a/new")).unwrap();
            door.remove_folder(Path::new("a/b")).unwrap();
            door.remove_folder(Path::new("a")).unwrap();
            assert_eq!(names(""), [("file".to_owned(), Kind::File)]);
        }
        let link = inside.with_file_name("link");
        symlink(&inside, &link).unwrap();
        assert!(Door::open(&link).unwrap().has_file(Path::new("file")), "the user may name a link");
    }

    #[test]
    fn nothing_behind_a_link_is_read_or_changed() {
        let (_place, inside, outside) = place();
        symlink(&outside, inside.join("folder")).unwrap();
        symlink(outside.join("file"), inside.join("link")).unwrap();
        symlink(outside.join("new"), inside.join("dangling")).unwrap();
        for door in doors(&inside) {
            for path in ["link", "folder/file", "../out/file", "folder", "dangling"] {
                let path = Path::new(path);
                assert!(door.read_bytes(path, 9).is_err(), "{path:?}");
                assert!(door.create_new(path, b"evil").is_err(), "{path:?}");
            }
            for path in ["folder/file", "folder/new", "../out/new"] {
                let path = Path::new(path);
                assert!(
                    door.write_file(path, b"evil").is_err() && door.replace_file(path).is_err(),
                    "{path:?}"
                );
                assert!(door.remove_file(path).is_err() && door.rename(Path::new("file"), path).is_err());
                assert!(!door.has_file(path) && door.make_folder(path).is_err());
            }
            assert!(
                door.list_entries(Path::new("folder")).is_err()
                    && door.make_folder(Path::new("folder")).is_err()
            );
            assert_eq!(door.look_at(Path::new("link")).unwrap().kind, Kind::Link);
            door.write_file(Path::new("dangling"), b"honest").unwrap();
            door.write_file(Path::new("link"), b"honest").unwrap();
            assert!(door.has_file(Path::new("link")), "the link is replaced");
            for (link, target) in [("link", "file"), ("dangling", "new")] {
                door.remove_file(Path::new(link)).unwrap();
                symlink(outside.join(target), inside.join(link)).unwrap();
            }
        }
        assert_eq!(fs::read(outside.join("file")).unwrap(), b"12345");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[test]
    fn pipes_and_devices_are_not_waited_for() {
        let (_place, inside, _) = place();
        mknodat(CWD, inside.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::write(inside.join("no-text"), b"\xff").unwrap();
        for door in doors(&inside) {
            let refused = |name: &str| door.read_text(Path::new(name), 9).unwrap_err().kind();
            assert_eq!(refused("pipe"), ErrorKind::InvalidInput);
            assert_eq!(refused("no-text"), ErrorKind::InvalidData);
            assert_eq!(refused("nothing"), ErrorKind::NotFound);
            assert_eq!(door.open_file(Path::new("")).unwrap_err().kind(), ErrorKind::IsADirectory);
        }
    }
}

//! Files that a user's commands need: taken in piece by piece, kept beside the trials, copied into each.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use tare_data::failure::{Failure, FailureKind};
use tare_data::request::{LONGEST_CARRIED_NAME, LONGEST_PIECE, MOST_CARRIED, Piece};
use tare_paths::door::Door;

use crate::harness::trial::broken_failure;

/// Name of the folder in the environment's own place.
const NAME: &str = "tare-carried";
/// Deepest folder that is copied: a name has at most as many parts.
const DEEPEST: usize = LONGEST_CARRIED_NAME / 2;

/// Files of user commands, as the resident agent keeps them.
#[derive(Debug, Default)]
pub struct Carried {
    folder: Option<PathBuf>,
}

impl Carried {
    /// Returns the folder that holds a folder for each command; None before the first piece.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Writes a piece where it belongs. Pieces come in order, the first of a file at offset 0.
    pub fn write_piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        let refused = |why: &str| broken_failure("a file to carry along", format!("{}: {why}", piece.name));
        let plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let (command, name) = (Path::new(&piece.command), Path::new(&piece.name));
        if piece.name.is_empty() || piece.name.len() > LONGEST_CARRIED_NAME || !plain(name) {
            return Err(refused("it must have a plain name below the command's folder"));
        }
        if !plain(command) || command.components().count() != 1 {
            return Err(refused("the command has no plain name"));
        }
        let bytes = STANDARD_NO_PAD.decode(&piece.bytes).map_err(|e| refused(&e.to_string()))?;
        if bytes.len() > LONGEST_PIECE || piece.offset.saturating_add(bytes.len() as u64) > MOST_CARRIED {
            return Err(refused("it is too long"));
        }
        let folder = Path::new(&piece.directory).join(NAME);
        let written = write(&folder, &folder.join(command).join(name), piece, &bytes);
        written.map_err(|e| refused(&e.to_string()))?;
        self.folder = Some(folder);
        Ok(())
    }
}

fn write(top: &Path, path: &Path, piece: &Piece, bytes: &[u8]) -> io::Result<()> {
    folders(top, path.parent().unwrap_or(top))?;
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(piece.offset == 0)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)?;
    if piece.offset == 0 {
        let mode = if piece.executable { 0o755 } else { 0o644 };
        file.set_permissions(PermissionsExt::from_mode(mode))?;
    }
    file.write_all_at(bytes, piece.offset)
}

/// Makes a folder and those above it up to `top`, where they are not there.
///
/// The standard library would ask whether one is there by statx(2), whose paths proot 5.1 passes on untranslated.
fn folders(top: &Path, folder: &Path) -> io::Result<()> {
    let above: Vec<&Path> = folder.ancestors().take_while(|above| above.starts_with(top)).collect();
    for folder in above.into_iter().rev() {
        match rustix::fs::mkdirat(CWD, folder, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Copies a command's files into the folder that it runs in, and returns their number.
pub fn copy_command_files(carried: Option<&Path>, command: &str, into: &Door) -> Result<u64, Failure> {
    let Some(from) = carried.map(|carried| carried.join(command)) else {
        return Err(Failure::new(FailureKind::Broken, "the files of the command were not carried along"));
    };
    copy_below(&from, into, 0).map_err(|e| broken_failure("copying the files of the command", e))
}

fn copy_below(from: &Path, into: &Door, depth: usize) -> io::Result<u64> {
    if depth > DEEPEST {
        return Err(io::Error::other("folders are too deep"));
    }
    let mut copied = 0;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = PathBuf::from(entry.file_name());
        if entry.file_type()?.is_dir() {
            copied += copy_below(&entry.path(), &into.make_new_folder(&to)?, depth + 1)?;
        } else {
            // Through file descriptors alone, for the same reason.
            let mut source = File::open(entry.path())?;
            let mut target = File::from(into.open_with(&to, OFlags::CREATE | OFlags::EXCL)?);
            io::copy(&mut source, &mut target)?;
            let mode = rustix::fs::fstat(&source)?.st_mode & 0o777;
            target.set_permissions(PermissionsExt::from_mode(mode))?;
            copied += 1;
        }
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(directory: &Path, name: &str, offset: u64, bytes: &[u8]) -> Piece {
        Piece {
            directory: directory.to_str().unwrap().into(),
            command: "build".into(),
            name: name.into(),
            offset,
            executable: true,
            bytes: STANDARD_NO_PAD.encode(bytes),
        }
    }

    #[test]
    fn pieces_become_files_and_files_are_copied() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let mut carried = Carried::default();
        assert_eq!(carried.folder(), None);
        carried.write_piece(&piece(place, "src/a.sh", 0, b"one and ")).unwrap();
        carried.write_piece(&piece(place, "src/a.sh", 8, b"two")).unwrap();
        carried.write_piece(&piece(place, "b", 0, b"")).unwrap();
        let into = place.join("run");
        std::fs::create_dir(&into).unwrap();
        let door = Door::open(&into).unwrap();
        assert_eq!(copy_command_files(carried.folder(), "build", &door).unwrap(), 2);
        assert_eq!(std::fs::read_to_string(into.join("src/a.sh")).unwrap(), "one and two");
        assert_eq!(std::fs::metadata(into.join("src/a.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(copy_command_files(carried.folder(), "other", &door).is_err());
        let (planted, outside) = (place.join("planted"), place.join("outside"));
        std::fs::create_dir(&planted).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, planted.join("src")).unwrap();
        let planted = Door::open(&planted).unwrap();
        assert!(copy_command_files(carried.folder(), "build", &planted).is_err());
        assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_written_outside_the_folder() {
        let place = Path::new("/nowhere");
        for name in ["../x", "/etc/x", "", "a/../../x", &"x".repeat(LONGEST_CARRIED_NAME + 1)] {
            assert!(Carried::default().write_piece(&piece(place, name, 0, b"x")).is_err(), "{name}");
        }
        let mut outside = piece(place, "x", 0, b"x");
        outside.command = "../..".into();
        assert!(Carried::default().write_piece(&outside).is_err());
        assert!(Carried::default().write_piece(&piece(place, "x", MOST_CARRIED, b"x")).is_err());
    }
}

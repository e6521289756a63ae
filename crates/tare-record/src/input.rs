//! A file that a person names: opened without waiting, a regular file or nothing, and read within bounds.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::platform;

/// Opens a file for reading. A pipe or a device may never begin, or never end: only a regular file is opened.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file with further options.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = platform::open_at_once(options, path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false if kind.is_file() => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads the bytes of a file; an error where there are more than `longest`.
pub fn read_bytes(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular_file(path)?.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {longest} bytes")));
    }
    Ok(bytes)
}

/// Reads a file as text; an error where it is not UTF-8.
pub fn read_text(path: &Path, longest: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, longest)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_none_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(read_bytes(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [&pipe, &link] {
            assert_eq!(open_regular_file(path).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        assert_eq!(open_regular_file(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
    }
}

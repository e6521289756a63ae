//! An initial RAM disk: an archive in cpio's "newc" format, which a kernel unpacks as its first root.

/// Kinds of entries, as in a file's mode.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
/// Name of the entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive that grows in memory.
#[derive(Debug, Default)]
pub struct Initrd {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initrd {
    /// Adds a folder. Folders come before what is in them.
    pub fn add_folder(&mut self, path: &str) {
        self.entry(path, FOLDER, &[]);
    }

    /// Adds a file that may be run.
    pub fn add_file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, content);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let name = path.trim_start_matches('/');
        self.entries += 1;
        // Magic, then thirteen numbers of eight hex digits: inode, mode, user, group, links, time, size, device
        // (2), device of a node (2), length of the name, checksum. cpio(5).
        let (inode, size, length) = (self.entries, content.len() as u32, name.len() as u32 + 1);
        let numbers = [inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length, 0];
        self.bytes.extend(b"070701");
        numbers.iter().for_each(|number| self.bytes.extend(format!("{number:08X}").bytes()));
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Pads names and contents to multiples of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_laid_out_as_the_format_says() {
        let mut initrd = Initrd::default();
        initrd.add_folder("/dev");
        initrd.add_file("/a", b"hello");
        let bytes = initrd.finish();
        assert_eq!(bytes.len() % 4, 0);
        // Header of 110 bytes, "dev\0" is 114, padded to 116.
        assert_eq!(&bytes[..14], b"07070100000001");
        assert_eq!(&bytes[14..22], b"000041ED");
        assert_eq!(&bytes[110..116], b"dev\0\0\0");
        let second = &bytes[116..];
        assert_eq!(&second[54..62], b"00000005");
        assert_eq!(&second[94..102], b"00000002");
        assert_eq!(&second[110..112], b"a\0");
        assert_eq!(&second[112..120], b"hello\0\0\0");
        assert_eq!(&second[120 + 110..][..11], b"TRAILER!!!\0");
    }
}

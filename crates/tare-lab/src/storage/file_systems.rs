//! File systems that a session makes for itself: on an image in its scratch folder, in memory, or as an overlay.

/// The program that makes ext4.
pub(crate) const EXT4_MAKER: &str = "mkfs.ext4";
/// Its arguments. Without lazy initialisation the kernel would write tables while the probes run; a sparse
/// file reads as zeros already, so nothing needs to be written for it.
pub(crate) const EXT4_ARGUMENTS: [&str; 4] =
    ["-q", "-F", "-E", "assume_storage_prezeroed=1,lazy_itable_init=0,lazy_journal_init=0"];

#[derive(Debug)]
pub struct FileSystem {
    /// The place's name, which is the kernel's name for it.
    pub name: &'static str,
    pub(super) backing: Backing,
}

#[derive(Debug)]
pub(super) enum Backing {
    /// A sparse file in the scratch folder, as a loop device.
    Image {
        maker: &'static str,
        arguments: &'static [&'static str],
        package: &'static str,
        options: &'static str,
    },
    Memory,
    /// An empty lower folder; what is written goes to the scratch disk.
    Overlay,
}

/// Every file system that can be made. Adding one is adding it here.
pub static FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        backing: Backing::Image {
            maker: EXT4_MAKER,
            arguments: &EXT4_ARGUMENTS,
            package: "e2fsprogs",
            options: "",
        },
    },
    FileSystem {
        name: "btrfs",
        backing: Backing::Image {
            maker: "mkfs.btrfs",
            arguments: &["--quiet", "--force"],
            package: "btrfs-progs",
            // It would punch holes into the image while the probes run.
            options: "nodiscard",
        },
    },
    FileSystem {
        name: "xfs",
        backing: Backing::Image {
            maker: "mkfs.xfs",
            arguments: &["-q", "-f"],
            package: "xfsprogs",
            options: "",
        },
    },
    FileSystem { name: "tmpfs", backing: Backing::Memory },
    FileSystem { name: "overlay", backing: Backing::Overlay },
];

impl FileSystem {
    /// Returns the program that makes it, if one does.
    pub(crate) fn started_program(&self) -> Option<&'static str> {
        match &self.backing {
            Backing::Image { maker, .. } => Some(maker),
            Backing::Memory | Backing::Overlay => None,
        }
    }
}

//! /dev of a root folder: the devices that every program expects, and nothing of the host's hardware.

use std::io;
use std::path::Path;

use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use crate::containers::steps::Steps;

/// Devices with their numbers (devices.txt of the kernel).
const DEVICES: [(&str, u32, u32); 5] =
    [("full", 1, 7), ("null", 1, 3), ("random", 1, 8), ("urandom", 1, 9), ("zero", 1, 5)];
const TERMINAL: (&str, u32, u32) = ("tty", 5, 0);
/// Links that programs follow to /proc.
const LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

const IN_MEMORY: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Which devices a root folder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Devices {
    /// Devices that the agent needs.
    Few,
    /// Devices that programs expect: also terminals, their own streams, and shared memory that may hold code.
    All,
}

/// Makes the steps that mount devices at the folder `dev` of a root.
pub fn make_device_steps(root: &Path, devices: Devices) -> io::Result<Steps> {
    let (mut steps, dev) = (Steps::default(), root.join("dev"));
    steps.add_mount("tmpfs", &dev, MountFlags::NOSUID, "mode=755,size=64k")?;
    let more = (devices == Devices::All).then_some(TERMINAL);
    for (name, major, minor) in DEVICES.into_iter().chain(more) {
        steps.add_device(&Path::new("/dev").join(name), (major, minor), &dev.join(name))?;
    }
    match devices {
        Devices::Few => {
            let flags = IN_MEMORY | MountFlags::NOEXEC;
            steps.add_folder(&dev.join("shm"), 0o755, None)?;
            steps.add_mount("tmpfs", &dev.join("shm"), flags, "mode=1777,size=64m")?;
        }
        Devices::All => steps.append(beside_nodes(root)?),
    }
    Ok(steps)
}

/// Lists what [`Devices::All`] makes besides the devices themselves.
pub fn beside_nodes(root: &Path) -> io::Result<Steps> {
    let (mut steps, dev) = (Steps::default(), root.join("dev"));
    steps.add_folder(&dev.join("shm"), 0o755, None)?;
    // As large as the kernel makes it: half of the memory.
    steps.add_mount("tmpfs", &dev.join("shm"), IN_MEMORY, "mode=1777")?;
    for (name, to) in LINKS {
        steps.add_link(to, &dev.join(name))?;
    }
    steps.add_folder(&dev.join("pts"), 0o755, None)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    steps.add_mount("devpts", &dev.join("pts"), flags, "newinstance,ptmxmode=0666,mode=620")?;
    steps.add_link("pts/ptmx", &dev.join("ptmx"))?;
    Ok(steps)
}

//! Presets: specifications named after the systems that they imitate, with similarities and differences.

use tare_data::session::specification::Specification;

use crate::error::LabError;

/// A named specification.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name on the command line, and heading of its column.
    pub name: &'static str,
    /// Environment to enter. Options that a user adds override these.
    pub specification: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Heading of its card in a report, in about five words.
    pub short_description: &'static str,
    /// Similarities with the system that it imitates.
    pub alike: &'static str,
    /// Differences from that system.
    pub unlike: &'static str,
}

/// All presets, in the order in which they are listed. Adding one is an entry here and nothing else.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "docker-like",
        specification: "container?limits=yes&seccomp=docker&net=bridge",
        summary: "a container as engines configure it: control groups, a system call filter, a bridge",
        short_description: "a container as engines configure it",
        alike: "The kernel's own mechanisms as Docker and Podman set them up: namespaces, a control group that counts \
                and limits, an allow list of system calls, and a virtual Ethernet pair on a bridge. These are what a \
                container costs; 'tare ladder container' takes them apart.",
        unlike: "Engines add an overlay of image layers under the root folder, address translation behind the \
                 bridge, a logging pipe, and on some systems AppArmor or SELinux. With a command of your own the root \
                 is an overlay here, too. No daemon takes part.",
    },
    Preset {
        name: "wsl1-like",
        specification: "gvisor?platform=systrap",
        summary: "a translator of system calls, as WSL1 is: gVisor on its systrap platform",
        short_description: "gVisor, standing in for WSL1",
        alike: "System calls never reach a Linux kernel: a translator answers them, so that many small calls \
                are slow and computing costs nothing. Files are opened through it on the host's own file \
                system, as WSL1 opens them on NTFS; /proc and the network stack are the translator's too, and \
                both lack parts (io_uring, perf, some of TCP_INFO).",
        unlike: "WSL1 translates in the Windows kernel, entered by an ordinary trap; gVisor in a process, entered \
                 by a signal and left through shared memory, which is several times slower. Below gVisor is a \
                 Linux kernel and its file systems, below WSL1 NTFS with its filters (and Windows Defender): \
                 what makes opening many small files slow in WSL1 is not here. The shape carries over, the values do not.",
    },
    Preset {
        name: "wsl2-like",
        specification: "qemu?cache=mmap",
        summary: "a full kernel in a virtual machine with the host's folders by 9P, as WSL2 is: QEMU",
        short_description: "QEMU with 9P, standing in for WSL2",
        alike: "A Linux kernel of its own in a light virtual machine, with ext4 on a virtual disk as its own \
                place and the host's folders by 9P with cache=mmap, as WSL2 mounts /mnt/c. With KVM its system \
                calls are a real kernel's on real hardware.",
        unlike: "WSL2's hypervisor is Hyper-V, its disk a VHDX on NTFS, its 9P server Windows behind a socket of \
                 the hypervisor's and not virtio, its network a switch with NAT, its kernel Microsoft's. Without \
                 KVM the processor is emulated: values of the processor are then not comparable, and all others \
                 show a shape only. User-mode Linux does not stand for it: its system calls cost what ptrace costs, a \
                 hundred times a virtual machine's.",
    },
    Preset {
        name: "guest",
        specification: "qemu",
        summary: "a full virtual machine with its own disk, like a guest of VirtualBox: QEMU",
        short_description: "QEMU, standing in for a desktop VM",
        alike: "A guest with its own kernel and virtual disk on virtual hardware, like a desktop's virtual \
                machine. With KVM it is what clouds run.",
        unlike: "VirtualBox, VMware and Hyper-V emulate other devices, and share folders with their own drivers, \
                 not 9P. Without KVM the processor is emulated, as for wsl2-like. The guest has nothing but tare in \
                 it: no services that compete for its processors.",
    },
];

/// Lists the names of all presets.
pub(crate) fn list_preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

pub fn find_preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Replaces a preset's name by its specification, with the options that were added to the name. Any other
/// specification is returned unchanged.
pub fn resolve_preset(named: Specification) -> Result<Specification, LabError> {
    let Some(preset) = find_preset(&named.provider) else { return Ok(named) };
    if let Some(instance) = &named.instance {
        let what = format!("nothing may follow '{}:', and '{instance}' was given", preset.name);
        return Err(LabError::usage_error(what));
    }
    let mut specification: Specification = preset.specification.parse()?;
    specification.options.extend(named.options);
    Ok(specification)
}

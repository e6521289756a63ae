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
    /// Environments to enter in its place where a user adds a certain option.
    pub variants: &'static [Variant],
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Heading of its card in a report, in about five words.
    pub short_description: &'static str,
    /// Similarities with the system that it imitates.
    pub alike: &'static str,
    /// Differences from that system.
    pub unlike: &'static str,
}

/// An environment that an option of a preset chooses as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The option, as it is added to the preset's name.
    pub option: (&'static str, &'static str),
    pub specification: &'static str,
    /// System that it imitates, in a few words.
    pub imitates: &'static str,
}

/// All presets, in the order in which they are listed. Adding one is an entry here and nothing else.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "docker-like",
        specification: "container?limits=yes&seccomp=docker&net=bridge",
        variants: &[],
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
        variants: &[],
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
        specification: "qemu?share=virtiofs",
        variants: &[Variant {
            option: ("share", "9p"),
            specification: "qemu?cache=mmap",
            imitates: "WSL2 until mid-2026, which mounted the drives of Windows by 9P",
        }],
        summary: "a full kernel in a virtual machine with the host's folders by virtiofs, as WSL2 since mid-2026: QEMU",
        short_description: "QEMU with virtiofs, standing in for WSL2",
        alike: "A Linux kernel of its own in a light virtual machine, with ext4 on a virtual disk as its own \
                place and the host's folders by virtiofs, as WSL mounts /mnt/c since mid-2026 where its settings or its \
                version say so; before, and elsewhere, by 9P with cache=mmap, which is wsl2-like?share=9p. With KVM its \
                system calls are a real kernel's on real hardware.",
        unlike: "WSL2's hypervisor is Hyper-V, its disk a VHDX on NTFS, its file server Windows, with caches that are not \
                 known here, its network a switch with NAT or a stack in user space, its kernel Microsoft's. Without \
                 KVM the processor is emulated: values of the processor are then not comparable, and all others \
                 show a shape only. User-mode Linux does not stand for it: its system calls cost what ptrace costs, a \
                 hundred times a virtual machine's.",
    },
    Preset {
        name: "guest",
        specification: "qemu",
        variants: &[],
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
    let mut added = named.options;
    let is_chosen = |variant: &&Variant| added.get(variant.option.0).is_some_and(|is| is == variant.option.1);
    let variant = preset.variants.iter().find(is_chosen);
    // The option has done its part: an environment of earlier records keeps its specification.
    variant.map(|variant| added.remove(variant.option.0));
    let text = variant.map_or(preset.specification, |variant| variant.specification);
    let mut specification: Specification = text.parse()?;
    specification.options.extend(added);
    Ok(specification)
}

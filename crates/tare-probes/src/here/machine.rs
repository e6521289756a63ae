//! Machine: what the processor, the firmware and the kernel's own files say of it.

use super::bounded::{MOST_BYTES, read_beginning, read_line};
use super::steps::Noting;
use tare_data::facts::keys::{
    BOOT_WORDS, CPUID_BRAND, CPUID_HYPERVISOR, CPUID_INTERFACES, CPUID_VENDOR, CPUINFO_HYPERVISOR,
    CPUINFO_KIND, CPUINFO_MODEL, KERNEL_BUILD, KERNEL_OSRELEASE, MACHINE_BIOS, MACHINE_BOARD,
    MACHINE_DEVICE_TREE, MACHINE_PRODUCT, MACHINE_VENDOR, PTRACE_SCOPE,
};

/// Words of the kernel's command line by which a guest is known. Others may hold secrets, and are not kept.
const KNOWN_BOOT_WORDS: [&str; 6] =
    ["uml_dir=", "umid=", "ubd", "virtio_mmio.device=", "agent.log=", "init=/init.krun"];
/// Parts of a kernel's build line by which a kernel is known. Others name people and machines, and are not kept.
const BUILD_WORDS: [&str; 5] =
    ["Microsoft@Microsoft.com", "microsoft-standard", "WSL2", "-Microsoft", "Sun Jan 10 15:06:54 PST 2016"];
/// Clock device of Amazon's virtual machines, Firecracker's among them.
const CLOCK_DEVICE: &str = "AMZNC10C";
/// Folders that list devices.
const DEVICES: [&str; 2] = ["/sys/bus/acpi/devices", "/sys/bus/platform/devices"];
const MOST_DEVICES: usize = 2_000;

/// Notes the kernel's files about itself and its processor.
pub fn note_kernel_files(noting: &mut Noting<'_>) {
    let build = read_line("/proc/version").unwrap_or_default();
    let known = BUILD_WORDS.iter().filter(|known| build.contains(**known));
    noting.add_fact(KERNEL_BUILD, known.copied().collect::<Vec<_>>().join("; "));
    noting.add_fact(KERNEL_OSRELEASE, read_line("/proc/sys/kernel/osrelease").unwrap_or_default());
    noting.add_fact(PTRACE_SCOPE, read_line("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default());
    let words = read_line("/proc/cmdline").unwrap_or_default();
    let known =
        KNOWN_BOOT_WORDS.iter().filter(|known| words.split(' ').any(|word| word.starts_with(**known)));
    noting.add_fact(BOOT_WORDS, known.copied().collect::<Vec<_>>().join(" "));
    let listing = note_listing(noting);
    let listed = |key: &str| {
        let line = listing.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    noting.add_fact(CPUINFO_MODEL, listed("model name").unwrap_or_default());
    let part = listed("CPU implementer").zip(listed("CPU part"));
    noting.add_fact(
        "processor.part",
        part.map(|(implementer, part)| format!("{implementer}-{part}")).unwrap_or_default(),
    );
    if let Some(flags) = listed("flags") {
        let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
        noting.add_fact(CPUINFO_HYPERVISOR, if is_virtual { "yes" } else { "no" });
    }
}

/// Notes the architecture of the kernel's list of processors, and returns the list.
pub fn note_listing(noting: &mut Noting<'_>) -> String {
    let listing = read_beginning("/proc/cpuinfo", MOST_BYTES).unwrap_or_default();
    noting.add_fact(CPUINFO_KIND, kind_of_listing(&listing).unwrap_or_default());
    listing
}

/// Determines the architecture that a listing of processors belongs to.
pub(super) fn kind_of_listing(listing: &str) -> Option<&'static str> {
    let has = |key: &str| listing.lines().any(|line| line.starts_with(key));
    match () {
        () if listing.contains("User Mode Linux") => Some("uml"),
        () if has("CPU implementer") => Some("arm"),
        () if has("isa\t") || has("uarch") => Some("riscv"),
        () if has("vendor_id") || has("flags\t") => Some("x86"),
        () => None,
    }
}

/// Notes what the firmware says, or the device tree in its place.
pub fn note_firmware(noting: &mut Noting<'_>) {
    for (key, file) in [
        (MACHINE_VENDOR, "sys_vendor"),
        (MACHINE_PRODUCT, "product_name"),
        (MACHINE_BIOS, "bios_vendor"),
        (MACHINE_BOARD, "board_vendor"),
    ] {
        noting.add_fact(key, read_line(&format!("/sys/class/dmi/id/{file}")).unwrap_or_default());
    }
    let tree = read_line("/proc/device-tree/hypervisor/compatible").unwrap_or_default();
    noting.add_fact(MACHINE_DEVICE_TREE, tree.split('\0').next().unwrap_or_default());
    let has_clock_device = DEVICES.iter().any(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_DEVICES);
        entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(CLOCK_DEVICE))
    });
    noting.add_fact("machine.clock_device", if has_clock_device { CLOCK_DEVICE } else { "" });
}

/// Notes what the processor answers to CPUID.
#[cfg(target_arch = "x86_64")]
pub fn note_processor(noting: &mut Noting<'_>) {
    use std::arch::x86_64::{__cpuid, CpuidResult};

    const BRAND: std::ops::RangeInclusive<u32> = 0x8000_0002..=0x8000_0004;
    /// Interfaces of hypervisors: one may offer several, of which the last is its own.
    const INTERFACES: std::ops::Range<u32> = 0x4000_0000..0x4000_1000;
    const STEP: usize = 0x100;

    fn text(registers: impl IntoIterator<Item = u32>) -> String {
        let bytes: Vec<u8> = registers.into_iter().flat_map(u32::to_le_bytes).collect();
        String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
    }

    let CpuidResult { ebx, ecx, edx, .. } = __cpuid(0);
    noting.add_fact(CPUID_VENDOR, text([ebx, edx, ecx]));
    if __cpuid(0x8000_0000).eax >= *BRAND.end() {
        let all = BRAND.map(__cpuid).flat_map(|CpuidResult { eax, ebx, ecx, edx }| [eax, ebx, ecx, edx]);
        noting.add_fact(CPUID_BRAND, text(all));
    }
    let about = __cpuid(1);
    let is_virtual = about.ecx >> 31 == 1;
    noting.add_fact(CPUID_HYPERVISOR, if is_virtual { "yes" } else { "no" });
    noting.add_fact("processor.family", family_of(about.eax));
    if is_virtual {
        let answers = INTERFACES.step_by(STEP).map(|leaf| (leaf, __cpuid(leaf)));
        let offered = answers.take_while(|(leaf, answer)| {
            // An interface names its own last leaf; KVM before 2013 gave 0.
            answer.ebx != 0 && (answer.eax == 0 || (answer.eax >= *leaf && answer.eax - leaf < STEP as u32))
        });
        let names: Vec<String> =
            offered.map(|(_, answer)| text([answer.ebx, answer.ecx, answer.edx])).collect();
        noting.add_fact(CPUID_INTERFACES, names.join("; "));
    }
}

/// Notes nothing: other processors keep such an instruction to the kernel.
#[cfg(not(target_arch = "x86_64"))]
pub fn note_processor(_: &mut Noting<'_>) {}

/// Formats family, model and stepping from a processor's signature: `25-1-1`.
#[cfg(target_arch = "x86_64")]
fn family_of(signature: u32) -> String {
    let (family, model) = (signature >> 8 & 0xf, signature >> 4 & 0xf);
    let family = if family == 0xf { family + (signature >> 20 & 0xff) } else { family };
    format!("{family}-{}-{}", model | (signature >> 16 & 0xf) << 4, signature & 0xf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_tell_their_architecture() {
        assert_eq!(kind_of_listing("vendor_id\t: AuthenticAMD\nflags\t\t: fpu"), Some("x86"));
        assert_eq!(kind_of_listing("vendor_id\t: User Mode Linux\nmode : skas"), Some("uml"));
        assert_eq!(kind_of_listing("CPU implementer\t: 0x41"), Some("arm"));
        assert_eq!(kind_of_listing("hart\t: 0\nisa\t: rv64imafdc"), Some("riscv"));
        assert_eq!(kind_of_listing(""), None);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn families_are_whole_numbers() {
        // Zen 3 (EPYC 7003), and Ice Lake (Xeon 8300).
        assert_eq!(family_of(0x00a0_0f11), "25-1-1");
        assert_eq!(family_of(0x0006_06a6), "6-106-6");
    }
}

//! Facts of the processor: what it calls itself, and what stands between it and the machine.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPU_COUNT, CPU_EMULATED, CPU_FLAGS, CPU_HYPERVISOR, CPU_MODEL, CPU_ONLINE};

use crate::harness::affinity;
use crate::harness::kernel_files::{note_file, read_text};

pub fn note_all(facts: &mut Facts) {
    let allowed = affinity::list_allowed_processors();
    if !allowed.is_empty() {
        facts.add_fact(CPU_COUNT, allowed.len().to_string());
    }
    note_file(facts, CPU_ONLINE, "/sys/devices/system/cpu/online");
    note_file(facts, "cpu.smt", "/sys/devices/system/cpu/smt/active");
    note_file(facts, "cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    note_file(facts, "cpu.turbo_off", "/sys/devices/system/cpu/intel_pstate/no_turbo");
    let listing = read_text("/proc/cpuinfo").unwrap_or_default();
    let listed = |key: &str| listed(&listing, key).next().map(str::to_owned);
    facts.add_fact("cpu.microcode", listed("microcode").unwrap_or_default());
    let model = cpuid::read_processor_brand().or_else(|| name_in(&listing)).unwrap_or_default();
    if let Some(signature) = cpuid::read_hypervisor_signature().or_else(in_device_tree) {
        if signature == TCG_SIGNATURE {
            facts.add_fact(CPU_EMULATED, TCG);
        }
        facts.add_fact(CPU_HYPERVISOR, hypervisor_name(&signature));
    } else if model == TCG {
        facts.add_fact(CPU_EMULATED, TCG);
    }
    facts.add_fact(CPU_MODEL, model);
    let flags = listed("flags").or_else(|| listed("Features")).or_else(|| listed("isa"));
    facts.add_fact(CPU_FLAGS, flags.unwrap_or_default());
    // Every kernel knows of more; none of a hundred.
    let known = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities").into_iter().flatten().flatten();
    for entry in known.take(100) {
        let name = entry.file_name().to_string_lossy().into_owned();
        note_file(facts, &format!("mitigation.{name}"), &entry.path().to_string_lossy());
    }
}

/// Iterates over the values of a key in /proc/cpuinfo, one for each processor.
fn listed<'a>(listing: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    listing
        .lines()
        .filter(move |line| line.starts_with(key))
        .filter_map(|line| Some(line.split_once(':')?.1.trim()))
}

/// Finds the processor's name in /proc/cpuinfo. That of arm64 is in numbers: a name there is only the
/// architecture's.
fn name_in(listing: &str) -> Option<String> {
    let named = || listed(listing, "model name").chain(listed(listing, "uarch")).next();
    let name = by_numbers(listing).or_else(|| named().map(str::to_owned))?;
    Some(if name == "qemu" { TCG.to_owned() } else { name })
}

/// Derives the name of an arm64 processor from the numbers of its maker and part (MIDR_EL1). A machine may
/// have several kinds.
fn by_numbers(listing: &str) -> Option<String> {
    let mut kinds: Vec<String> = Vec::new();
    for (maker, part) in listed(listing, "CPU implementer").zip(listed(listing, "CPU part")) {
        let known = MODELS.iter().find(|(numbers, _)| *numbers == (maker, part));
        let kind =
            known.map_or_else(|| format!("implementer {maker}, part {part}"), |(_, name)| (*name).to_owned());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    (!kinds.is_empty()).then(|| kinds.join(" + "))
}

/// Emulation by QEMU: what it answers to CPUID, and the name used here.
const TCG_SIGNATURE: &str = "TCGTCGTCGTCG";
const TCG: &str = "QEMU TCG";

/// Processors of servers, laptops and boards, by the numbers that Linux prints.
const MODELS: [((&str, &str), &str); 30] = [
    // The number is free for software: QEMU's processor `max`, which is always emulated.
    (("0x00", "0x051"), TCG),
    (("0x41", "0xd03"), "Arm Cortex-A53"),
    (("0x41", "0xd05"), "Arm Cortex-A55"),
    (("0x41", "0xd07"), "Arm Cortex-A57"),
    (("0x41", "0xd08"), "Arm Cortex-A72"),
    (("0x41", "0xd09"), "Arm Cortex-A73"),
    (("0x41", "0xd0a"), "Arm Cortex-A75"),
    (("0x41", "0xd0b"), "Arm Cortex-A76"),
    (("0x41", "0xd0c"), "Arm Neoverse N1"),
    (("0x41", "0xd0d"), "Arm Cortex-A77"),
    (("0x41", "0xd40"), "Arm Neoverse V1"),
    (("0x41", "0xd41"), "Arm Cortex-A78"),
    (("0x41", "0xd44"), "Arm Cortex-X1"),
    (("0x41", "0xd46"), "Arm Cortex-A510"),
    (("0x41", "0xd47"), "Arm Cortex-A710"),
    (("0x41", "0xd48"), "Arm Cortex-X2"),
    (("0x41", "0xd49"), "Arm Neoverse N2"),
    (("0x41", "0xd4d"), "Arm Cortex-A715"),
    (("0x41", "0xd4e"), "Arm Cortex-X3"),
    (("0x41", "0xd4f"), "Arm Neoverse V2"),
    (("0x41", "0xd80"), "Arm Cortex-A520"),
    (("0x41", "0xd81"), "Arm Cortex-A720"),
    (("0x46", "0x001"), "Fujitsu A64FX"),
    (("0x48", "0xd01"), "HiSilicon TaiShan v110"),
    (("0x51", "0x001"), "Qualcomm Oryon"),
    (("0x61", "0x022"), "Apple M1, efficiency core"),
    (("0x61", "0x023"), "Apple M1, performance core"),
    (("0x61", "0x032"), "Apple M2, efficiency core"),
    (("0x61", "0x033"), "Apple M2, performance core"),
    (("0xc0", "0xac3"), "Ampere-1"),
];

/// Reads the hypervisor from the device tree, where firmware of arm64 and RISC-V writes it: `linux,kvm`,
/// `xen,xen-4.17\0xen,xen`.
fn in_device_tree() -> Option<String> {
    let text = read_text("/proc/device-tree/hypervisor/compatible")?;
    Some(text.split('\0').next()?.to_owned()).filter(|name| !name.is_empty())
}

/// Maps a hypervisor's signature (CPUID leaf 0x40000000) or its name in the device tree to the product.
fn hypervisor_name(signature: &str) -> String {
    let name = match signature {
        "KVMKVMKVM" | "linux,kvm" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "VBoxVBoxVBox" => "VirtualBox",
        "XenVMMXenVMM" => "Xen",
        TCG_SIGNATURE => TCG,
        "bhyve bhyve" => "bhyve",
        other if other.starts_with("xen,xen") => "Xen",
        other => other,
    };
    name.to_owned()
}

#[cfg(target_arch = "x86_64")]
mod cpuid {
    use std::arch::x86_64::{__cpuid, CpuidResult};

    fn text(registers: impl IntoIterator<Item = u32>) -> Option<String> {
        let bytes: Vec<u8> = registers.into_iter().flat_map(u32::to_le_bytes).collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Reads the processor's own name for itself, which needs no /proc.
    pub fn read_processor_brand() -> Option<String> {
        const FIRST: u32 = 0x8000_0002;
        const LAST: u32 = 0x8000_0004;
        if __cpuid(0x8000_0000).eax < LAST {
            return None;
        }
        text((FIRST..=LAST).map(__cpuid).flat_map(|CpuidResult { eax, ebx, ecx, edx }| [eax, ebx, ecx, edx]))
    }

    /// Reads the hypervisor's signature, where the processor reports one.
    pub fn read_hypervisor_signature() -> Option<String> {
        const PRESENT: u32 = 1 << 31;
        if __cpuid(1).ecx & PRESENT == 0 {
            return None;
        }
        let CpuidResult { ebx, ecx, edx, .. } = __cpuid(0x4000_0000);
        text([ebx, ecx, edx])
    }
}

/// Other processors have no such instruction, or keep it to the kernel.
#[cfg(not(target_arch = "x86_64"))]
mod cpuid {
    pub fn read_processor_brand() -> Option<String> {
        None
    }

    pub fn read_hypervisor_signature() -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_without_a_name_go_by_their_numbers() {
        let two = "processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nprocessor : 1\n\
                   CPU implementer\t: 0x41\nCPU part\t: 0xd09\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n";
        assert_eq!(by_numbers(two).as_deref(), Some("Arm Cortex-A53 + Arm Cortex-A73"));
        let unknown = "CPU implementer\t: 0x70\nCPU part\t: 0x663\n";
        assert_eq!(by_numbers(unknown).as_deref(), Some("implementer 0x70, part 0x663"));
        assert_eq!(by_numbers("CPU implementer\t: 0x00\nCPU part\t: 0x051\n").as_deref(), Some(TCG));
        assert_eq!(
            name_in("model name : ARMv8 Processor\nCPU implementer: 0x41\nCPU part : 0xd0c\n").as_deref(),
            Some("Arm Neoverse N1")
        );
        assert_eq!(name_in("model name : x\nmodel name : y\n").as_deref(), Some("x"));
        assert_eq!(name_in("isa : rv64\nuarch : sifive,u74-mc\n").as_deref(), Some("sifive,u74-mc"));
        assert_eq!(name_in("uarch : qemu\n").as_deref(), Some(TCG));
        assert_eq!(name_in(""), None);
    }

    #[test]
    fn hypervisors_go_by_their_names() {
        assert_eq!(hypervisor_name("Microsoft Hv"), "Hyper-V");
        assert_eq!(hypervisor_name("linux,kvm"), "KVM");
        assert_eq!(hypervisor_name("xen,xen-4.17"), "Xen");
        assert_eq!(hypervisor_name("SomethingNew"), "SomethingNew");
    }
}

//! Virtual machines, by what the processor answers, and the firmware where it does not.

use super::layers::{Class, Confidence, Evidence, Layer};
use super::signs::{Seen, View};
use tare_data::facts::keys::{
    CPUID_BRAND, CPUID_HYPERVISOR, CPUID_INTERFACES, CPUINFO_HYPERVISOR, CYCLES_COLD_CODE, CYCLES_CPUID,
    CYCLES_FAULT, KERNEL_LOG, MACHINE_BIOS, MACHINE_BOARD, MACHINE_DEVICE_TREE, MACHINE_PRODUCT,
    MACHINE_VENDOR, PROGRAM_MACHINE,
};

/// Interfaces of hypervisors (leaf 0x40000000 of CPUID), and their names here.
pub(super) const INTERFACES: [(&str, &str); 13] = [
    ("KVMKVMKVM", "kvm"),
    ("Linux KVM Hv", "kvm"),
    ("Microsoft Hv", "hyper-v"),
    ("VMwareVMware", "vmware"),
    ("XenVMMXenVMM", "xen"),
    ("VBoxVBoxVBox", "virtualbox"),
    ("TCGTCGTCGTCG", "qemu-tcg"),
    ("bhyve bhyve", "bhyve"),
    ("lrpepyh vr", "parallels"),
    ("prl hyperv", "parallels"),
    ("ACRNACRNACRN", "acrn"),
    ("OpenBSDVMM58", "vmm"),
    ("___ NVMM ___", "nvmm"),
];
/// Firmware's names of products, where the processor names none. They can be changed by who starts the machine.
pub(super) const FIRMWARE: [(&str, &str); 10] = [
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
    ("Apple Virtualization", "apple"),
    ("Parallels", "parallels"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Xen", "xen"),
    ("Google Compute", "kvm"),
    ("Bochs", "bochs"),
];
/// Cycles of CPUID where it leaves the processor; some hundred where it does not.
const TRAPPED_CYCLES: f64 = 900.0;

pub(super) fn recognise_machine(view: View<'_>, seen: &Seen<'_>) -> Option<Layer> {
    let found = match () {
        () if seen.translator => by_listing(view),
        () if seen.emulated => Some(emulated(view)),
        () if view.text(PROGRAM_MACHINE) == "x86_64" => by_processor(view).or_else(|| by_trap(view)),
        () => by_device_tree(view).or_else(|| by_firmware(view)),
    };
    let (name, confidence, mut evidence) = found?;
    if seen.has_kernel("wsl2") && name == "hyper-v" {
        // It is part of WSL 2.
        return None;
    }
    let (name, variant, refined) = refine(view, name);
    evidence.extend(refined);
    Some(Layer { class: Class::Machine, name, variant: variant.to_owned(), confidence, evidence })
}

type Found = (&'static str, Confidence, Vec<Evidence>);

/// Recognises by the kernel's list of processors, where the program's own view is translated.
fn by_listing(view: View<'_>) -> Option<Found> {
    let proves = "the kernel says that its processor is virtual";
    (view.text(CPUINFO_HYPERVISOR) == "yes")
        .then(|| ("vm", Confidence::Sure, vec![view.evidence(CPUINFO_HYPERVISOR, proves)]))
}

fn emulated(view: View<'_>) -> Found {
    if super::translators::is_machine_named(view) {
        let fact = match view.text(CPUID_INTERFACES).contains("TCGTCGTCGTCG") {
            true => CPUID_INTERFACES,
            false => CPUID_BRAND,
        };
        return (
            "qemu-tcg",
            Confidence::Sure,
            vec![view.evidence(fact, "the processor is named as QEMU's emulated ones")],
        );
    }
    let evidence = vec![
        view.evidence(CYCLES_COLD_CODE, "new code takes as long as where a translator reads it first"),
        view.evidence(CYCLES_FAULT, "a page fault takes as long as in an emulated machine"),
    ];
    ("qemu-tcg", Confidence::Likely, evidence)
}

/// Recognises the hypervisor by the interfaces that the processor offers; the last one is its own.
fn by_processor(view: View<'_>) -> Option<Found> {
    if view.text(CPUID_HYPERVISOR) != "yes" {
        return None;
    }
    let offered = view.text(CPUID_INTERFACES).split("; ").filter_map(|offered| {
        INTERFACES.iter().find(|(signature, _)| *signature == offered).map(|(_, name)| *name)
    });
    let named = offered.last().map(|name| {
        let proves = "the processor names its hypervisor";
        (name, Confidence::Sure, vec![view.evidence(CPUID_INTERFACES, proves)])
    });
    named.or_else(|| {
        let proves = "the processor says that it is virtual";
        Some(("vm", Confidence::Sure, vec![view.evidence(CPUID_HYPERVISOR, proves)]))
    })
}

/// Recognises a hidden virtual machine by the time that an instruction takes which only virtual processors hand over.
fn by_trap(view: View<'_>) -> Option<Found> {
    let is_trapped = view.number(CYCLES_CPUID).is_some_and(|cycles| cycles > TRAPPED_CYCLES);
    let is_own = view.text(CPUID_HYPERVISOR) == "no";
    let evidence = view.evidence(CYCLES_CPUID, "CPUID takes as long as where a hypervisor answers it");
    (is_trapped && is_own).then(|| ("vm", Confidence::Likely, vec![evidence]))
}

fn by_device_tree(view: View<'_>) -> Option<Found> {
    let name = match view.text(MACHINE_DEVICE_TREE) {
        "linux,kvm" => "kvm",
        text if text.starts_with("xen,xen") => "xen",
        text if text.starts_with("vmware") => "vmware",
        _ => return None,
    };
    Some((
        name,
        Confidence::Sure,
        vec![view.evidence(MACHINE_DEVICE_TREE, "the device tree names the hypervisor")],
    ))
}

fn by_firmware(view: View<'_>) -> Option<Found> {
    let facts = [MACHINE_VENDOR, MACHINE_PRODUCT, MACHINE_BIOS, MACHINE_BOARD];
    let named = FIRMWARE.iter().find_map(|(text, name)| {
        let fact = facts.into_iter().find(|fact| view.text(fact).contains(text))?;
        Some((*name, Confidence::Likely, vec![view.evidence(fact, "the firmware has this name")]))
    });
    // Machines without a hypervisor have `metal` in the name of their kind.
    let is_rented =
        view.text(MACHINE_VENDOR) == "Amazon EC2" && !view.text(MACHINE_PRODUCT).contains("metal");
    let rented =
        || ("kvm", Confidence::Likely, vec![view.evidence(MACHINE_VENDOR, "the firmware has this name")]);
    named.or_else(|| is_rented.then(rented))
}

/// Finds the product that uses a hypervisor's interface, where the firmware or the kernel's log says it.
fn refine(view: View<'_>, name: &'static str) -> (&'static str, &'static str, Option<Evidence>) {
    let vendor = view.evidence(MACHINE_VENDOR, "the firmware names the product");
    let firmware = format!("{} {}", view.text(MACHINE_VENDOR), view.text(MACHINE_PRODUCT));
    if ["kvm", "hyper-v", "vm"].contains(&name) {
        if firmware.contains("VirtualBox") || firmware.contains("innotek") {
            return ("virtualbox", "", Some(vendor));
        }
        if firmware.contains("Parallels") {
            return ("parallels", "", Some(vendor));
        }
    }
    if name != "kvm" {
        return (name, "", None);
    }
    match () {
        () if view.text(KERNEL_LOG).contains("FIRECK") => (
            name,
            "Firecracker",
            Some(view.evidence(KERNEL_LOG, "the tables of the machine are Firecracker's")),
        ),
        () if firmware.contains("Amazon EC2") => (name, "Amazon EC2", Some(vendor)),
        () if firmware.contains("Google") => (name, "Google Cloud", Some(vendor)),
        () if firmware.contains("QEMU") => (name, "QEMU", Some(vendor)),
        () => (name, "", None),
    }
}

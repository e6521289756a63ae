//! Translators: programs that run the code of another program, or of a whole machine, as if it were for another processor.

use super::layers::{Class, Confidence, Layer};
use super::signs::{Signs, Strength, View};
use tare_data::facts::keys::{
    CPUID_BRAND, CPUID_INTERFACES, CPUID_VENDOR, CPUINFO_KIND, CPUINFO_MODEL, CYCLES_COLD_CODE, CYCLES_FAULT,
    CYCLES_WARM_CODE, PROCESS_NAME, PROGRAM_MACHINE, PROGRAM_NAME, PTRACE_REQUEST, VDSO,
};

/// Code that runs for the first time takes this many cycles a function, and this many times as long as the second time, where a
/// translator is at work. Seen natively: below 300, of which a page fault is some.
const NEW_CODE_CYCLES: f64 = 1_200.0;
const NEW_CODE_RATIO: f64 = 15.0;
/// A page fault that takes longer happens in an emulated machine: 139,000 to 600,000 cycles seen there, at most 14,000 where only
/// the program is translated.
const MACHINE_FAULT_CYCLES: f64 = 50_000.0;

/// Recognises a translator of this program.
pub(super) fn recognise_translator(view: View<'_>) -> Option<Layer> {
    use Strength::{Act, Name};
    let mut signs = Signs::default();
    let (built, listing) = (view.text(PROGRAM_MACHINE), view.text(CPUINFO_KIND));
    let is_foreign = matches!(
        (built, listing),
        ("x86_64", "arm" | "riscv") | ("aarch64", "x86" | "riscv") | ("riscv64", "x86" | "arm")
    );
    let other_kind = view.evidence(CPUINFO_KIND, "the kernel lists processors of another architecture");
    signs.note(is_foreign, Act, other_kind);
    let absent = view.evidence(PTRACE_REQUEST, "ptrace does not exist, which every Linux has");
    // It started a program in itself, without the kernel's vDSO: then it may name the processor as it likes.
    let is_loader = view.text(VDSO) == "absent" && view.text(PROGRAM_NAME) == "another";
    let is_absent = view.text(PTRACE_REQUEST) == "ENOSYS";
    signs.note(is_absent && (is_loader || !is_other_brand(view)), Act, absent);
    let is_qemu = view.text(PROCESS_NAME).starts_with("qemu-") && view.text(PROGRAM_NAME) == "another";
    signs.note(is_qemu, Act, view.evidence(PROCESS_NAME, "the process has the name of an emulator"));
    let (brand, vendor) = (view.text(CPUID_BRAND), view.text(CPUID_VENDOR));
    let is_apple = [brand, vendor].iter().any(|text| text.contains("VirtualApple"));
    signs.note(is_apple, Act, view.evidence(CPUID_BRAND, "Rosetta gives its processor this name"));
    let is_fex = brand.contains("FEX-Emu") || brand.to_lowercase().contains("box64");
    signs.note(is_fex, Act, view.evidence(CPUID_BRAND, "the translator gives its processor this name"));
    let other_brand = view.evidence(CPUID_BRAND, "the kernel knows the processor by another name");
    signs.note(is_other_brand(view), Name, other_brand);
    if signs.is_empty() && is_code_translated(view) && !is_fault_of_machine(view) {
        let cold =
            view.evidence(CYCLES_COLD_CODE, "new code takes as long as where a translator reads it first");
        signs.note(true, Name, cold);
    }
    let name = match () {
        () if is_apple => "rosetta",
        () if is_fex => "fex",
        () if signs.confidence() == Some(Confidence::Sure) => "qemu-user",
        () => "translator",
    };
    // A machine that says that it is emulated explains another name.
    if signs.confidence() != Some(Confidence::Sure) && is_machine_named(view) {
        return None;
    }
    signs.into_layer(Class::Translator, name, "")
}

/// Tells whether the processor of the whole machine is emulated.
pub(super) fn is_machine_emulated(view: View<'_>, translator: Option<&Layer>) -> bool {
    translator.is_none() && (is_machine_named(view) || is_code_translated(view) && is_fault_of_machine(view))
}

/// Tells whether the processor, or the kernel's list of it, is named as QEMU names emulated ones.
pub(super) fn is_machine_named(view: View<'_>) -> bool {
    let is_qemu = |name: &str| name.contains("QEMU TCG") || name.contains("QEMU Virtual CPU");
    view.text(CPUID_INTERFACES).contains("TCGTCGTCGTCG")
        || [view.text(CPUID_BRAND), view.text(CPUINFO_MODEL)].into_iter().any(is_qemu)
}

fn is_code_translated(view: View<'_>) -> bool {
    let (cold, warm) = (view.number(CYCLES_COLD_CODE), view.number(CYCLES_WARM_CODE));
    cold.zip(warm).is_some_and(|(cold, warm)| cold > NEW_CODE_CYCLES && cold > NEW_CODE_RATIO * warm)
        && view.text(CPUINFO_KIND) != "uml"
}

fn is_fault_of_machine(view: View<'_>) -> bool {
    view.number(CYCLES_FAULT).is_some_and(|cycles| cycles > MACHINE_FAULT_CYCLES)
}

fn is_other_brand(view: View<'_>) -> bool {
    let plain = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ");
    let (brand, model) = (plain(view.text(CPUID_BRAND)), plain(view.text(CPUINFO_MODEL)));
    let is_comparable = view.text(CPUINFO_KIND) == "x86" && !brand.is_empty() && !model.is_empty();
    is_comparable && model != "unknown" && brand != model
}

//! Translators: programs that run the code of another program, or of a whole machine, as if it were for another processor.

use super::layers::{Class, Confidence, Layer};
use super::signs::{Signs, Strength, View};

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
    let (built, listing) = (view.text("program.machine"), view.text("cpuinfo.kind"));
    let is_foreign = matches!(
        (built, listing),
        ("x86_64", "arm" | "riscv") | ("aarch64", "x86" | "riscv") | ("riscv64", "x86" | "arm")
    );
    let other_kind = view.evidence("cpuinfo.kind", "the kernel lists processors of another architecture");
    signs.note(is_foreign, Act, other_kind);
    let absent = view.evidence("ptrace.request", "ptrace does not exist, which every Linux has");
    signs.note(view.text("ptrace.request") == "ENOSYS" && !is_other_brand(view), Act, absent);
    let is_qemu = view.text("process.name").starts_with("qemu-") && view.text("program.name") == "another";
    signs.note(is_qemu, Act, view.evidence("process.name", "the process has the name of an emulator"));
    let (brand, vendor) = (view.text("cpuid.brand"), view.text("cpuid.vendor"));
    let is_apple = [brand, vendor].iter().any(|text| text.contains("VirtualApple"));
    signs.note(is_apple, Act, view.evidence("cpuid.brand", "Rosetta gives its processor this name"));
    let is_fex = brand.contains("FEX-Emu") || brand.to_lowercase().contains("box64");
    signs.note(is_fex, Act, view.evidence("cpuid.brand", "the translator gives its processor this name"));
    let other_brand = view.evidence("cpuid.brand", "the kernel knows the processor by another name");
    signs.note(is_other_brand(view), Name, other_brand);
    if signs.is_empty() && is_code_translated(view) && !is_fault_of_machine(view) {
        let cold =
            view.evidence("cycles.cold_code", "new code takes as long as where a translator reads it first");
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
    view.text("cpuid.interfaces").contains("TCGTCGTCGTCG")
        || [view.text("cpuid.brand"), view.text("cpuinfo.model")].into_iter().any(is_qemu)
}

fn is_code_translated(view: View<'_>) -> bool {
    let (cold, warm) = (view.number("cycles.cold_code"), view.number("cycles.warm_code"));
    cold.zip(warm).is_some_and(|(cold, warm)| cold > NEW_CODE_CYCLES && cold > NEW_CODE_RATIO * warm)
        && view.text("cpuinfo.kind") != "uml"
}

fn is_fault_of_machine(view: View<'_>) -> bool {
    view.number("cycles.fault").is_some_and(|cycles| cycles > MACHINE_FAULT_CYCLES)
}

fn is_other_brand(view: View<'_>) -> bool {
    let plain = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ");
    let (brand, model) = (plain(view.text("cpuid.brand")), plain(view.text("cpuinfo.model")));
    let is_comparable = view.text("cpuinfo.kind") == "x86" && !brand.is_empty() && !model.is_empty();
    is_comparable && model != "unknown" && brand != model
}

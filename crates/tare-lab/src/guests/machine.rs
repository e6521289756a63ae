//! Virtual machines of QEMU by processor: the program, its machines, the console, the emulated processor.

use crate::provider::prelude::*;
use crate::provider::processor::Processor;

choice! {
    pub enum Guest: "processor",
        "own: as this machine's; any other is emulated, has tare alone in it, and takes a tare for it beside this one, named \
         tare-aarch64 or tare-x86_64"
    {
        Own = "own",
        Arm64 = "arm64",
        Amd64 = "amd64",
    }
}

impl Guest {
    pub fn processor(self) -> Processor {
        match self {
            Guest::Own => Processor::HERE,
            Guest::Arm64 => Processor::Arm64,
            Guest::Amd64 => Processor::Amd64,
        }
    }
}

choice! {
    pub enum Machine: "machine",
        "usual: q35 for x86-64, virt for others; q35: a PC; microvm: a PC without PCI and almost without firmware, as \
         Firecracker's; virt: QEMU's own machine"
    {
        Usual = "usual",
        Q35 = "q35",
        Microvm = "microvm",
        Virt = "virt",
    }
}

/// A machine that QEMU has for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// As QEMU calls it, with its options.
    pub word: &'static str,
    /// Suffix of the names of devices on its bus: `virtio-blk-pci`.
    pub bus: &'static str,
}

impl Board {
    /// Finds the board of a machine; None where QEMU has another for the processor.
    pub fn from_machine(machine: Machine, processor: Processor) -> Option<Board> {
        let (word, bus) = match (processor, machine) {
            (Processor::Amd64, Machine::Usual | Machine::Q35) => ("q35", "pci"),
            (Processor::Amd64, Machine::Microvm) => ("microvm,acpi=on,pcie=off,rtc=on", "device"),
            (Processor::Arm64, Machine::Usual | Machine::Virt) => ("virt,gic-version=max", "pci"),
            (Processor::Riscv64, Machine::Usual | Machine::Virt) => ("virt", "pci"),
            (Processor::Amd64, Machine::Virt)
            | (Processor::Arm64 | Processor::Riscv64, Machine::Q35 | Machine::Microvm) => return None,
        };
        Some(Board { word, bus })
    }

    pub fn name(self) -> &'static str {
        self.word.split_once(',').map_or(self.word, |(name, _)| name)
    }
}

/// Settings of guests of a processor.
#[derive(Debug)]
pub struct Kind {
    pub program: &'static str,
    pub install: &'static str,
    /// The package that depends on the newest kernel: Debian's name. Its cloud kernels have no 9P.
    pub kernel_package: &'static str,
    pub console: &'static str,
    /// The processor where it is emulated.
    pub emulated: &'static str,
    pub kernel_words: &'static [&'static str],
}

/// The programs of all kinds.
pub const PROGRAMS: [&str; 3] = ["qemu-system-x86_64", "qemu-system-aarch64", "qemu-system-riscv64"];

pub fn find_machine_kind(processor: Processor) -> &'static Kind {
    match processor {
        Processor::Amd64 => &Kind {
            program: PROGRAMS[0],
            install: "apt-get install --no-install-recommends qemu-system-x86",
            kernel_package: "linux-image-amd64",
            console: "ttyS0",
            // TCG does `rep movsb` byte by byte, which kernels choose where ERMS is announced.
            emulated: "max,-erms",
            // Without it a microvm's clock moves in steps of 4 ms, and a q35's asks slow hardware.
            kernel_words: &["tsc=reliable"],
        },
        Processor::Arm64 => &Kind {
            program: PROGRAMS[1],
            install: "apt-get install --no-install-recommends qemu-system-arm",
            kernel_package: "linux-image-arm64",
            console: "ttyAMA0",
            // Pointer authentication by the algorithm of the architecture takes most of the time of an emulated boot.
            emulated: "max,pauth-impdef=on",
            kernel_words: &[],
        },
        Processor::Riscv64 => &Kind {
            program: PROGRAMS[2],
            install: "apt-get install --no-install-recommends qemu-system-riscv",
            kernel_package: "linux-image-riscv64",
            console: "ttyS0",
            emulated: "rv64",
            kernel_words: &[],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_has_a_usual_machine_and_the_programs_are_all_named() {
        for guest in Guest::ALL {
            let processor = guest.processor();
            assert!(Board::from_machine(Machine::Usual, processor).is_some(), "{processor:?}");
            assert_eq!(
                find_machine_kind(processor).program,
                format!("qemu-system-{}", processor.architecture())
            );
        }
        assert_eq!(Board::from_machine(Machine::Microvm, Processor::Arm64), None);
        assert_eq!(Board::from_machine(Machine::Microvm, Processor::Amd64).map(Board::name), Some("microvm"));
    }
}

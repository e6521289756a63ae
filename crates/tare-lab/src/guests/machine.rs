//! Virtual machines of QEMU by processor: the program, its machines, the console, the emulated processor.

use crate::provider::prelude::*;

pub use self::here::{CONSOLE, EMULATED, INSTALL, KERNEL_PACKAGE, KERNEL_WORDS, Machine, PROGRAM};

#[cfg(target_arch = "x86_64")]
mod here {
    use super::*;

    choice! {
        pub enum Machine: "machine", "q35: a PC; microvm: no PCI and almost no firmware, as Firecracker's" {
            Q35 = "q35",
            Microvm = "microvm",
        }
    }

    impl Machine {
        /// As QEMU calls it, with its options.
        pub fn word(self) -> &'static str {
            match self {
                Machine::Q35 => "q35",
                Machine::Microvm => "microvm,acpi=on,pcie=off,rtc=on",
            }
        }

        /// How devices on its bus are called: `virtio-blk-pci`.
        pub fn bus(self) -> &'static str {
            match self {
                Machine::Q35 => "pci",
                Machine::Microvm => "device",
            }
        }
    }

    pub const PROGRAM: &str = "qemu-system-x86_64";
    pub const INSTALL: &str = "apt-get install --no-install-recommends qemu-system-x86";
    /// The package that depends on the newest kernel: Debian's name. Its cloud kernels have no 9P.
    pub const KERNEL_PACKAGE: &str = "linux-image-amd64";
    pub const CONSOLE: &str = "ttyS0";
    /// TCG does `rep movsb` byte by byte, which kernels choose where ERMS is announced.
    pub const EMULATED: &str = "max,-erms";
    /// Without it a microvm's clock moves in steps of 4 ms, and a q35's asks slow hardware.
    pub const KERNEL_WORDS: &[&str] = &["tsc=reliable"];
}

#[cfg(not(target_arch = "x86_64"))]
mod here {
    use super::*;

    choice! {
        pub enum Machine: "machine", "virt: QEMU's own machine, with a PCI bus" {
            Virt = "virt",
        }
    }

    impl Machine {
        /// As QEMU calls it, with its options.
        pub fn word(self) -> &'static str {
            match self {
                Machine::Virt if IS_ARM => "virt,gic-version=max",
                Machine::Virt => "virt",
            }
        }

        /// How devices on its bus are called: `virtio-blk-pci`.
        pub fn bus(self) -> &'static str {
            "pci"
        }
    }

    const IS_ARM: bool = cfg!(target_arch = "aarch64");
    const fn either(arm: &'static str, riscv: &'static str) -> &'static str {
        if IS_ARM { arm } else { riscv }
    }

    pub const PROGRAM: &str = either("qemu-system-aarch64", "qemu-system-riscv64");
    pub const INSTALL: &str = either(
        "apt-get install --no-install-recommends qemu-system-arm",
        "apt-get install --no-install-recommends qemu-system-riscv",
    );
    /// The package that depends on the newest kernel: Debian's name. Its cloud kernels have no 9P.
    pub const KERNEL_PACKAGE: &str = either("linux-image-arm64", "linux-image-riscv64");
    pub const CONSOLE: &str = either("ttyAMA0", "ttyS0");
    /// Pointer authentication by the algorithm of the architecture takes most of the time of an emulated boot.
    pub const EMULATED: &str = either("max,pauth-impdef=on", "rv64");
    pub const KERNEL_WORDS: &[&str] = &[];
}

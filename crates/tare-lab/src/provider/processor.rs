//! Kinds of processors that tare is built for.

use crate::provider::options::choice;

choice! {
    pub(crate) enum Processor: "processor", "the processor that is emulated, as Docker names platforms" {
        Arm64 = "arm64",
        Riscv64 = "riscv64",
        Amd64 = "amd64",
    }
}

impl Processor {
    /// Processor of this machine.
    pub(crate) const HERE: Processor = if cfg!(target_arch = "aarch64") {
        Processor::Arm64
    } else if cfg!(target_arch = "riscv64") {
        Processor::Riscv64
    } else {
        Processor::Amd64
    };

    /// Returns the name that compilers and emulators use.
    pub(crate) fn architecture(self) -> &'static str {
        match self {
            Processor::Arm64 => "aarch64",
            Processor::Riscv64 => "riscv64",
            Processor::Amd64 => "x86_64",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_of_the_kind_that_the_program_was_built_for() {
        assert_eq!(Processor::HERE.architecture(), std::env::consts::ARCH);
    }
}

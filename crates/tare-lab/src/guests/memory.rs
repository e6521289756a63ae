//! The memory of a guest, as a specification gives it.

use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::provider::options::OptionDescription;

pub const MEMORY: OptionDescription =
    OptionDescription::new_text("memory", "1024", "memory of the guest in MiB");

/// Reads the memory in MiB; less than `least` is refused.
pub fn parse_memory_mib(specification: &Specification, least: u64) -> Result<u64, LabError> {
    let mib = MEMORY.read_text(specification).parse().ok().filter(|mib| *mib >= least);
    let hint = || format!("give whole MiB, {least} or more");
    mib.ok_or_else(|| MEMORY.invalid_value_error(specification).with_hint(hint()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_refused() {
        for (text, expected) in [
            ("qemu", Some(1024)),
            ("qemu?memory=512", Some(512)),
            ("qemu?memory=64", None),
            ("qemu?memory=x", None),
        ] {
            assert_eq!(
                parse_memory_mib(&text.parse::<Specification>().unwrap(), 128).ok(),
                expected,
                "{text}"
            );
        }
    }
}

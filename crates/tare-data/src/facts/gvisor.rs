//! gVisor's names for itself, by which it is known inside and outside of it.

use crate::facts::Facts;

/// Build date that gVisor gives, which no Linux has.
pub const BUILD_DATE: &str = "Sun Jan 10 15:06:54 PST 2016";

/// Tells whether a kernel's release has gVisor's name, which earlier ones do not have.
pub fn has_name(release: &str) -> bool {
    release.to_lowercase().contains("gvisor")
}

/// Tells whether the kernel of these facts says that it is gVisor.
pub fn is_gvisor(facts: &Facts) -> bool {
    let text = |key| facts.get(key).unwrap_or_default();
    has_name(text("kernel.release")) || text("kernel.version").contains(BUILD_DATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_gvisor_by_its_release_or_by_its_date() {
        let kernel = |release: &str, version: &str| {
            let mut facts = Facts::default();
            facts.add_fact("kernel.release", release);
            facts.add_fact("kernel.version", version);
            is_gvisor(&facts)
        };
        assert!(kernel("4.19.0-gvisor", "#1 SMP"));
        assert!(kernel("4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016"));
        assert!(!kernel("6.1.176", "#1 Debian 6.1.176-1 (2026-11-01)"));
        assert!(!is_gvisor(&Facts::default()));
    }
}

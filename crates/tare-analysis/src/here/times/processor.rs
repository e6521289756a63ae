//! Processor, kernel and mitigations by the names under which prices are kept.

use crate::here::signs::View;

/// Vendors of processors: the text of CPUID, and the name in books.
const VENDORS: [(&str, &str); 4] = [
    ("AuthenticAMD", "amd"),
    ("GenuineIntel", "intel"),
    ("HygonGenuine", "hygon"),
    ("CentaurHauls", "centaur"),
];

/// Processor and kernel of the process that found the facts.
pub struct Processor<'a> {
    /// Vendor, family and model: `amd-25-1`; of arm64 implementer and part: `arm-0x41-0xd0c`.
    pub family: String,
    /// Major and minor number: `6.18`; empty where the kernel does not show.
    pub kernel: String,
    pub mitigations: Option<Vec<&'a str>>,
}

impl<'a> Processor<'a> {
    /// Reads the processor from facts; none if they do not show it.
    pub fn read(view: View<'a>) -> Option<Processor<'a>> {
        let vendor =
            VENDORS.iter().find(|(text, _)| *text == view.text("cpuid.vendor")).map(|(_, name)| *name);
        let numbers = view.text("processor.family");
        let family = match (vendor, view.text("processor.part")) {
            // Steppings do not matter.
            (Some(vendor), _) => format!("{vendor}-{}", numbers.rsplit_once('-')?.0),
            (None, part) if !part.is_empty() => format!("arm-{part}"),
            (None, _) => return None,
        };
        // uname(2) can be told to lie, the vDSO cannot.
        let release = [view.text("vdso.release"), view.text("kernel.release")]
            .into_iter()
            .find(|text| !text.is_empty());
        let names = view.text("mitigations");
        Some(Processor {
            family,
            kernel: release.map(shorten_release).unwrap_or_default(),
            mitigations: (!names.is_empty()).then(|| names.split(' ').collect()),
        })
    }
}

/// Shortens a release to its first two numbers.
fn shorten_release(release: &str) -> String {
    release.split(|c: char| !c.is_ascii_digit()).take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    #[test]
    fn processors_have_the_names_of_books() {
        let read = |pairs: &[(&str, &str)]| {
            let mut facts = Facts::default();
            pairs.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
            Processor::read(View(&facts)).map(|processor| (processor.family, processor.kernel))
        };
        let amd = [
            ("cpuid.vendor", "AuthenticAMD"),
            ("processor.family", "25-1-1"),
            ("kernel.release", "6.18.44-fc"),
        ];
        assert_eq!(read(&amd), Some(("amd-25-1".into(), "6.18".into())));
        assert_eq!(
            read(&[("processor.part", "0x41-0xd0c"), ("vdso.release", "6.1.9")]),
            Some(("arm-0x41-0xd0c".into(), "6.1".into()))
        );
        assert_eq!(read(&[("kernel.release", "6.18.44")]), None);
    }
}

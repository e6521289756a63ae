//! Making an entry: from facts of several starts on a machine that has no layer but perhaps a hypervisor.

use std::collections::BTreeMap;

use tare_data::facts::Facts;

use super::{Entry, METAL, Month, Range};
use crate::here::layers::{Class, Confidence, Layer};
use crate::here::recognise_layers;
use crate::here::signs::View;
use crate::here::times::cycle::read_cycle_ns;
use crate::here::times::operations::{PRICED, Scale};
use crate::here::times::processor::Processor;
use crate::here::times::{burst, estimate};
use crate::statistics::signed_ranks::sort_values;

/// Fewest starts that an entry is made of.
pub const FEWEST_STARTS: usize = 8;

/// Largest time that a processor's time may take in a start, over the least.
const MOST_SLOWDOWN: f64 = 1.15;

/// Reason for which no entry is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A layer is around, or may be.
    Layer(&'static str),
    /// The processors are taken away at equal distances.
    Throttled,
    /// Processor or kernel do not show.
    Unnamed,
    /// So few starts had a valid cycle.
    FewStarts(usize),
}

impl Refusal {
    /// Describes the refusal, in words that can follow "no prices are made here: ".
    pub fn describe(&self) -> String {
        match self {
            Refusal::Layer(name) => format!("this runs in {name}, whose prices are not those of a machine"),
            Refusal::Throttled => "a limit stops this program again and again".to_owned(),
            Refusal::Unnamed => "the processor or the kernel does not show".to_owned(),
            Refusal::FewStarts(valid) => {
                format!(
                    "only {valid} of at least {FEWEST_STARTS} starts had steady processors that nobody else used"
                )
            }
        }
    }
}

/// Makes an entry from the facts of starts of one machine, whose hash is given.
pub fn make_entry(starts: &[Facts], machine: String, now: Month) -> Result<Entry, Refusal> {
    let mut under = METAL.to_owned();
    for facts in starts {
        under = find_machine(facts)?;
    }
    let processor = starts.first().and_then(|facts| Processor::read(View(facts))).ok_or(Refusal::Unnamed)?;
    let quiet = starts.iter().map(View).filter(|view| is_quiet(*view));
    let valid: Vec<(View<'_>, f64)> = quiet.filter_map(|view| Some((view, read_cycle_ns(view)?))).collect();
    if valid.len() < FEWEST_STARTS {
        return Err(Refusal::FewStarts(valid.len()));
    }
    let ranges = |scale: Scale| -> BTreeMap<String, Range> {
        let priced = PRICED.iter().filter(|priced| priced.scale == scale);
        priced
            .filter_map(|priced| Some((priced.name.to_owned(), find_range(&valid, priced.key, scale)?)))
            .collect()
    };
    Ok(Entry {
        family: processor.family,
        under,
        kernel: processor.kernel,
        mitigations: processor
            .mitigations
            .unwrap_or_default()
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        made: now,
        machines: vec![machine],
        sessions: 1,
        cycles: ranges(Scale::Cycles),
        ns: ranges(Scale::Nanoseconds),
    })
}

/// Finds the machine's layer, and refuses any other, also one that only may be there.
fn find_machine(facts: &Facts) -> Result<String, Refusal> {
    let found = recognise_layers(facts);
    let is_machine = |layer: &Layer| {
        layer.class == Class::Machine && layer.confidence == Confidence::Sure && layer.name != "qemu-tcg"
    };
    if let Some(other) = found.layers.iter().find(|layer| !is_machine(layer)) {
        return Err(Refusal::Layer(other.name));
    }
    if burst::find_throttling(View(facts)).is_some() {
        return Err(Refusal::Throttled);
    }
    Ok(found.layers.first().map_or(METAL, |layer| layer.name).to_owned())
}

/// Tells whether a start had the processors for itself.
fn is_quiet(view: View<'_>) -> bool {
    burst::compute_slowdowns(view).is_some_and(|slowdowns| slowdowns.high < MOST_SLOWDOWN)
}

/// Computes the range in which a start finds an operation, but for a tenth of them at each end; None where a start lacks it.
///
/// It is not the interval of the typical start, which narrows with their number: a price is compared with a single one.
fn find_range(starts: &[(View<'_>, f64)], key: &str, scale: Scale) -> Option<Range> {
    let middles: Option<Vec<f64>> = starts
        .iter()
        .map(|(view, cycle_ns)| {
            let ns = estimate(*view, key)?.middle;
            Some(if scale == Scale::Cycles { ns / cycle_ns } else { ns })
        })
        .collect();
    let sorted = sort_values(&middles?);
    let left_out = sorted.len() / 10;
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let range = [round(*sorted.get(left_out)?), round(*sorted.get(sorted.len() - 1 - left_out)?)];
    (range[0] > 0.0 && range[1].is_finite()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::tests::make_facts;

    fn start(getppid_ns: f64, more: &[(&str, &str)]) -> Facts {
        let price = vec![getppid_ns.to_string(); 8].join(" ");
        let usual = [
            ("cpuid.hypervisor", "yes"),
            ("cpuid.interfaces", "KVMKVMKVM"),
            ("cpuid.vendor", "AuthenticAMD"),
            ("processor.family", "25-1-1"),
            ("mitigations", "no-pti retpoline"),
            ("burst.threads", "2"),
            ("burst.gaps", "none"),
            ("burst.used", "1 1 1 1 1 1 1 1 1 1"),
            ("cycle.addition", "0.5 0.5 0.51 0.5 0.5 0.5 0.5 0.5"),
            ("cycle.multiplication", "1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5"),
            ("price.getppid", &price),
        ];
        make_facts(&[], &[&usual, more].concat())
    }

    fn now() -> Month {
        Month::try_from("2026-11".to_owned()).unwrap()
    }

    #[test]
    fn an_entry_has_the_range_of_starts_in_cycles() {
        let starts: Vec<Facts> = (0..8).map(|at| start(100.0 + f64::from(at), &[])).collect();
        let entry = make_entry(&starts, "0a1b2c3d".into(), now()).unwrap();
        let more: Vec<Facts> = (0..40).map(|at| start(100.0 + f64::from(at), &[])).collect();
        let range = make_entry(&more, "0a1b2c3d".into(), now()).unwrap().cycles["getppid"];
        assert_eq!(range, [208.0, 270.0], "more starts do not make it narrower");
        assert_eq!(
            (entry.family.as_str(), entry.under.as_str(), entry.kernel.as_str()),
            ("amd-25-1", "kvm", "6.18")
        );
        assert_eq!(entry.mitigations, ["no-pti", "retpoline"]);
        assert_eq!(entry.cycles, [("getppid".to_owned(), [200.0, 214.0])].into());
        assert_eq!((entry.machines.len(), entry.sessions), (1, 1));
    }

    #[test]
    fn layers_and_unsteady_processors_are_refused() {
        let refused = |more: &[(&str, &str)], count: usize| {
            let starts: Vec<Facts> = (0..count).map(|_| start(100.0, more)).collect();
            make_entry(&starts, "0a1b2c3d".into(), now()).unwrap_err()
        };
        assert_eq!(refused(&[], 7), Refusal::FewStarts(7));
        assert_eq!(refused(&[("burst.used", "1 1 1 1 1 1 0 0 1 1")], 8), Refusal::FewStarts(0));
        assert_eq!(refused(&[("cycle.multiplication", "0.5 0.5 0.5 0.5 0.5 0.5")], 8), Refusal::FewStarts(0));
        assert_eq!(refused(&[("namespace.pid", "4026532800")], 8), Refusal::Layer("namespaces"));
        assert_eq!(refused(&[("cpuid.interfaces", "TCGTCGTCGTCG")], 8), Refusal::Layer("qemu-tcg"));
        let gaps = ("burst.gaps", "25000-100000 125000-200000 225000-300000");
        assert_eq!(refused(&[gaps, ("burst.ran", "50000 50000 50000")], 8), Refusal::Throttled);
        assert_eq!(refused(&[("processor.family", "")], 8), Refusal::Unnamed);
    }
}

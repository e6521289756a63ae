//! Limits of an environment that its baseline does not have, or has otherwise, as the host reads them of both.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPU_ALLOWED, LIMIT_CPU, LIMIT_MEMORY, LIMIT_PROCESSES};
use tare_data::warning::{LimitPair, Limited};

/// Processes that nothing which is measured here comes near: engines of containers allow some thousands unless they are told another
/// number.
const MANY_PROCESSES: f64 = 2000.0;

/// Lists the limits in which two environments differ; none where those of either are not known.
pub(crate) fn list_differences(target: &Facts, baseline: &Facts) -> Vec<LimitPair> {
    let of = [Limited::Processors, Limited::Memory, Limited::Processes];
    let pair = |limited: Limited| {
        let [here, baseline] = [target, baseline].map(|facts| find_limit(facts, limited));
        (here != baseline).then_some(LimitPair { limited, here, baseline })
    };
    let is_known = |facts: &Facts| facts.get(CPU_ALLOWED).is_some();
    let known = of.into_iter().filter(|_| is_known(target) && is_known(baseline));
    known.filter_map(pair).collect()
}

/// Finds a limit; none where there is none. A quota leaves no more than the processors that are allowed.
fn find_limit(facts: &Facts, limited: Limited) -> Option<f64> {
    let number = |key: &str| facts.get(key)?.parse::<f64>().ok().filter(|number| number.is_finite());
    match limited {
        Limited::Processors => {
            [number(CPU_ALLOWED), number(LIMIT_CPU)].into_iter().flatten().min_by(f64::total_cmp)
        }
        Limited::Memory => number(LIMIT_MEMORY),
        Limited::Processes => number(LIMIT_PROCESSES).filter(|limit| *limit < MANY_PROCESSES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        Facts(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn limits_are_compared_where_both_are_known() {
        let native = facts(&[("cpu.allowed", "2"), ("limit.cpu", "4")]);
        let limited = facts(&[("cpu.allowed", "2"), ("limit.cpu", "0.2"), ("limit.memory", "300000000")]);
        let expected = [
            LimitPair { limited: Limited::Processors, here: Some(0.2), baseline: Some(2.0) },
            LimitPair { limited: Limited::Memory, here: Some(300e6), baseline: None },
        ];
        assert_eq!(list_differences(&limited, &native), expected);
        assert!(list_differences(&native, &facts(&[("cpu.allowed", "2")])).is_empty(), "a quota above all");
        assert!(list_differences(&limited, &Facts::default()).is_empty(), "unknown is not the same as none");
        let podman = facts(&[("cpu.allowed", "2"), ("limit.cpu", "4"), ("limit.processes", "2048")]);
        assert!(list_differences(&podman, &native).is_empty(), "more than any probe starts");
        let odd = facts(&[("cpu.allowed", "2"), ("limit.memory", "NaN")]);
        assert!(list_differences(&odd, &native).is_empty());
    }
}

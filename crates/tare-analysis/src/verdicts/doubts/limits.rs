//! Limits of an environment that its baseline does not have, or has otherwise, as the host reads them of both.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPU_ALLOWED, LIMIT_CPU, LIMIT_MEMORY, LIMIT_PROCESSES};
use tare_data::warning::{LimitPair, Limited, Setting, SettingPair};

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

/// Lists the settings in which two environments differ, of those that are known of both.
pub(crate) fn list_other_settings(target: &Facts, baseline: &Facts) -> Vec<SettingPair> {
    let allowed = [target, baseline].map(|facts| facts.get(CPU_ALLOWED));
    let of = [Setting::Nice, Setting::Class, Setting::Processors, Setting::Weight];
    let pair = |setting: Setting| {
        let (here, baseline) = (setting.find_value(target)?, setting.find_value(baseline)?);
        // Another number of processors is another limit.
        let is_other = here != baseline && (setting != Setting::Processors || allowed[0] == allowed[1]);
        is_other.then(|| SettingPair { setting, here: here.to_owned(), baseline: baseline.to_owned() })
    };
    of.into_iter().filter_map(pair).collect()
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
        let settings =
            |list, nice| facts(&[("cpu.allowed", "1"), ("cpu.list", list), ("process.nice", nice)]);
        let pair = |setting, [here, baseline]: [&str; 2]| {
            let [here, baseline] = [here, baseline].map(str::to_owned);
            SettingPair { setting, here, baseline }
        };
        let expected = [pair(Setting::Nice, ["10", "0"]), pair(Setting::Processors, ["1", "0"])];
        assert_eq!(list_other_settings(&settings("1", "10"), &settings("0", "0")), expected);
        assert_eq!(list_other_settings(&settings("1", ""), &native), [], "unknown, and another number");
        let odd = facts(&[("cpu.allowed", "2"), ("limit.memory", "NaN")]);
        assert!(list_differences(&odd, &native).is_empty());
    }
}

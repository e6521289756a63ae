//! Limits of an environment that its baseline does not have, or has otherwise, as the host reads them of both.

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    CPU_ALLOWED, LAUNCHER_TESTED, LAUNCHER_WORDS, LIMIT_CPU, LIMIT_MEMORY, LIMIT_PROCESSES, LIMIT_PROCESSORS,
    MEMORY_TOTAL_BYTES,
};
use tare_data::session::Side;
use tare_data::warning::{LimitPair, Limited, Setting, SettingPair, Warning};

use crate::findings::OwnLimits;

/// Processes that nothing which is measured here comes near: engines of containers allow some thousands unless they are told another
/// number.
const MANY_PROCESSES: f64 = 2000.0;

/// Option by which a person gives an environment limits.
const LIMITS: &str = "limits";

/// Limits in which an environment and its baseline differ, by whose words made them.
///
/// Words of a person's own may set limits: those that launch one of the two, or an option. Then the limit is what is asked about, and
/// stands beside the name of the side that has it. Words that came along with tare set none, and nobody asks for a limit that the other
/// side has: any other difference came about unasked.
pub(crate) enum Apart {
    Asked(OwnLimits),
    /// A warning with both values.
    Unasked(Warning),
}

impl Apart {
    /// Compares two sides, the first of which is measured against the second; none where they have the same limits.
    pub(crate) fn find([target, baseline]: [(&Side, &Facts); 2]) -> Option<Apart> {
        let is_asked = |(side, facts): (&Side, &Facts)| {
            let are_own_words = facts.get(LAUNCHER_WORDS).is_some() && facts.get(LAUNCHER_TESTED).is_none();
            are_own_words || side.specification.get_option(LIMITS).is_some()
        };
        let own = match [target, baseline].map(is_asked) {
            [true, _] => Some([target, baseline]),
            [false, true] => Some([baseline, target]),
            [false, false] => None,
        };
        let compare = |[(_, here), (_, other)]: [(&Side, &Facts); 2]| {
            (list_differences(here, other), list_other_settings(here, other))
        };
        if let Some(sides) = own {
            let (limits, settings) = compare(sides);
            let is_limited = |pair: &LimitPair| {
                pair.here.is_some_and(|here| pair.baseline.is_none_or(|baseline| here < baseline))
            };
            if limits.iter().all(is_limited) && !(limits.is_empty() && settings.is_empty()) {
                let target = sides[0].0.name.clone();
                return Some(Apart::Asked(OwnLimits { target, limits, settings }));
            }
        }
        let (limits, settings) = compare([target, baseline]);
        let differ = !limits.is_empty() || !settings.is_empty();
        differ.then_some(Apart::Unasked(Warning::LimitsDiffer { limits, settings }))
    }
}

/// Lists the limits in which two environments differ; none where those of either are not known.
fn list_differences(target: &Facts, baseline: &Facts) -> Vec<LimitPair> {
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
fn list_other_settings(target: &Facts, baseline: &Facts) -> Vec<SettingPair> {
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
            [CPU_ALLOWED, LIMIT_CPU, LIMIT_PROCESSORS].into_iter().filter_map(number).min_by(f64::total_cmp)
        }
        // More than the machine has limits nothing.
        Limited::Memory => {
            let total = number(MEMORY_TOTAL_BYTES).unwrap_or(f64::INFINITY);
            number(LIMIT_MEMORY).filter(|limit| *limit < total)
        }
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
    fn limits_that_were_asked_for_are_of_a_side_and_others_are_a_warning() {
        let found = |texts: [&str; 2], facts: [&Facts; 2]| {
            let sides = texts.map(|text| Side::new(text, text.parse().unwrap()));
            Apart::find([(&sides[0], facts[0]), (&sides[1], facts[1])]).map(|apart| match apart {
                Apart::Asked(own) => (own.target, own.limits[0].here),
                Apart::Unasked(Warning::LimitsDiffer { limits, .. }) => ("!".to_owned(), limits[0].here),
                Apart::Unasked(other) => panic!("{other:?}"),
            })
        };
        let all = facts(&[("cpu.allowed", "2")]);
        let [some, endless] = ["1073741824", "1125899906842624"].map(|limit| {
            facts(&[("cpu.allowed", "2"), ("memory.total_bytes", "4294967296"), ("limit.memory", limit)])
        });
        assert_eq!(
            found(["container?limits=yes", "native"], [&some, &all]),
            Some(("container?limits=yes".to_owned(), Some(1_073_741_824.0)))
        );
        assert_eq!(found(["container?limits=yes", "native"], [&endless, &all]), None);
        let fifth = facts(&[("cpu.allowed", "2"), ("limit.cpu", "0.2")]);
        let launched = facts(&[("cpu.allowed", "2"), ("limit.cpu", "0.2"), ("launcher.words", "podman run")]);
        let is = |name: &str, here: f64| Some((name.to_owned(), Some(here)));
        assert_eq!(found(["exec:box", "native"], [&launched, &all]), is("exec:box", 0.2));
        assert_eq!(
            found(["container?limits=yes", "native"], [&fifth, &all]),
            is("container?limits=yes", 0.2)
        );
        assert_eq!(found(["native", "exec:box"], [&all, &launched]), is("exec:box", 0.2));
        assert_eq!(found(["podman", "native"], [&fifth, &all]), is("!", 0.2));
        let outside = facts(&[("cpu.allowed", "2"), ("launcher.words", "./leaves-its-group")]);
        assert_eq!(found(["exec:box", "native"], [&outside, &fifth]), is("!", 2.0), "nobody asks for more");
        let mut shipped = launched.clone();
        shipped.add_fact("launcher.tested", "yes");
        assert_eq!(found(["lxc", "native"], [&shipped, &all]), is("!", 0.2), "tare chose its words");
        assert_eq!(found(["exec:box", "exec:box"], [&launched, &launched]), None);
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

//! Helpers: processor time that environments use while others are measured, which takes from all sides alike.

use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::limits::{Idle, LimitCounts};
use tare_data::session::{Role, Session};
use tare_data::unit::{Direction, Unit};

use crate::findings::{Cell, Level, Missing, Row};

/// Fewest processors that are told of: where there are two, work on both takes 5 % longer. Environments without helpers come to none,
/// or to a tick where a trial ends late.
const FEWEST: f64 = 0.1;
/// Shortest time from which they are told: the kernel counts in ticks of 10 ms, of which one is a fiftieth of it.
const SHORTEST_NS: u64 = 500_000_000;

/// Adds up for how long an environment was watched while others were measured, and what it used.
fn sum_idle(limits: &[LimitCounts], target: &str) -> Idle {
    let of_target = limits.iter().filter(|counts| counts.target == target);
    of_target.filter_map(|counts| counts.idle).fold(Idle::default(), Idle::join)
}

/// Computes the processors that were used on average.
fn count_processors(idle: Idle) -> f64 {
    idle.used_ns as f64 / idle.watched_ns as f64
}

/// Finds the processors that an environment's helpers used; none where they used next to nothing, or it was watched too shortly.
pub(crate) fn find_helpers(limits: &[LimitCounts], target: &str) -> Option<f64> {
    let idle = sum_idle(limits, target);
    (idle.watched_ns >= SHORTEST_NS)
        .then(|| count_processors(idle))
        .filter(|processors| *processors >= FEWEST)
}

/// Makes the row of what helpers used in each environment; none where they used next to nothing in all.
pub(crate) fn make_helpers_row(session: &Session) -> Option<Row> {
    let targets = &session.plan.targets;
    let sides = || targets.of_role(Role::Baseline).chain(targets.of_role(Role::Subject));
    sides().find_map(|side| find_helpers(&session.limits, &side.name))?;
    let level = |name: &str| {
        let idle = sum_idle(&session.limits, name);
        let median = (idle.watched_ns > 0).then(|| count_processors(idle))?;
        Some(Level { median, low: median, high: median, rounds: 0, values: Vec::new() })
    };
    let unknown =
        || Failure::new(FailureKind::NotSupported, "its processor time does not show on this machine");
    let cell =
        |name: &str| level(name).map_or_else(|| Cell::Missing(Missing::Failed(unknown())), Cell::Observed);
    Some(Row {
        case: Row::HELPERS.into(),
        probe: Row::HELPERS.into(),
        label: "processors of its helpers".into(),
        place: None,
        peer: None,
        metric: Metric {
            name: "processors".into(),
            series: String::new(),
            reading: Reading::Gauge,
            unit: Unit::Count,
            direction: Direction::Lower,
        },
        headline: true,
        baseline: session.baseline().and_then(|side| level(&side.name)),
        cells: targets.of_role(Role::Subject).map(|side| cell(&side.name)).collect(),
        control: None,
        published: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(target: &str, watched_ns: u64, used_ns: u64) -> LimitCounts {
        let idle = Some(Idle { watched_ns, used_ns });
        LimitCounts { target: target.into(), begins: false, groups: Vec::new(), idle }
    }

    #[test]
    fn helpers_are_told_of_from_a_tenth_of_a_processor_over_half_a_second() {
        let find = |limits: &[LimitCounts]| find_helpers(limits, "box");
        let short = watched("box", 400_000_000, 240_000_000);
        assert_eq!(find(&[]), None);
        assert_eq!(find(std::slice::from_ref(&short)), None, "too short");
        let other = watched("native", 9_000_000_000, 9_000_000_000);
        assert_eq!(find(&[short.clone(), other, short]), Some(0.6));
        assert_eq!(find(&[watched("box", 1_000_000_000, 99_000_000)]), None);
        let hostile = [watched("box", u64::MAX, u64::MAX), watched("box", 1, u64::MAX)];
        assert_eq!(find(&hostile), Some(1.0));
    }
}

//! Work that lasts: which kinds of it a session has time for beside its cases.

use tare_data::budget::whole_s;
use tare_data::request::Amount;
use tare_data::session::lasting::LastingWork;
use tare_data::session::{Role, Sides};
use tare_probes::descriptions::USER_COMMAND;

use crate::session::plan::amount::cost_ns;
use crate::session::plan::calibrated::Calibrated;

/// Stretches of an environment by each kind of work: eight of 0.3 s give an interval of some 2 % on an idle machine.
pub(crate) const STRETCHES: u32 = 8;
/// Time of a stretch: what is not counted, in which it uses up what a limit has saved, and what is.
pub(crate) const BEFORE_MS: u64 = 200;
pub(crate) const COUNTED_MS: u64 = 300;

/// Shortest session that has any, in seconds...
const SHORTEST_S: f64 = 30.0;
/// ...share of one that arithmetic may take, which comes first...
const FIRST_SHARE: f64 = 1.0 / 3.0;
/// ...shortest one that has another kind, in seconds...
const SHORTEST_WITH_OTHERS_S: f64 = 100.0;
/// ...and share that all others may take.
const OTHERS_SHARE: f64 = 0.12;
/// A command of one's own whose runs take longer than this is lasting work itself.
const LASTS_ITSELF_NS: f64 = 0.3e9;

/// Estimates the seconds of a kind of work in this many environments, without their starts.
pub(crate) fn estimate_work_s(sides: usize) -> f64 {
    sides as f64 * f64::from(STRETCHES) * (BEFORE_MS + COUNTED_MS) as f64 / 1e3
}

/// Chooses the kinds that a session measures; none where nobody wants them, it compares nothing, has a number of rounds, or is short. Without a budget
/// there is time for all.
pub(crate) fn choose_lasting(
    is_wanted: bool,
    sides: &Sides,
    cases: &[Calibrated],
    (budget_s, until_decided): (Option<f64>, bool),
) -> Vec<LastingWork> {
    let subjects = sides.of_role(Role::Subject).count();
    let is_offered = cfg!(unix) && is_wanted && subjects > 0 && (until_decided || budget_s.is_some());
    if !is_offered || cases.iter().any(lasts_itself) {
        return Vec::new();
    }
    let whole_s = budget_s.map_or(f64::INFINITY, whole_s);
    let work_s = estimate_work_s(1 + subjects);
    let fits = |(at, _): &(usize, LastingWork)| match at {
        0 => whole_s >= SHORTEST_S && work_s <= whole_s * FIRST_SHARE,
        others => whole_s >= SHORTEST_WITH_OTHERS_S && *others as f64 * work_s <= whole_s * OTHERS_SHARE,
    };
    LastingWork::ALL.into_iter().enumerate().take_while(fits).map(|(_, work)| work).collect()
}

fn lasts_itself(case: &Calibrated) -> bool {
    let once = Amount::Operations { batch: 1, batches: 1 };
    let baseline = case.paces.first().and_then(|pace| pace.as_ref().ok());
    case.selected.probe.name == USER_COMMAND
        && baseline.is_some_and(|pace| cost_ns(*pace, once) >= LASTS_ITSELF_NS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tare_data::budget::reserve;
    use tare_data::session::Side;
    use tare_data::session::specification::Specification;

    use super::*;

    #[test]
    fn a_session_measures_what_it_has_time_for() {
        let chosen = |subjects: usize, whole_s: f64| {
            let side = |name: String| Side::new(&name, Specification::from_provider("native"));
            let mut sides = Sides::new(side("native".into()));
            (0..subjects).for_each(|at| sides.add_subject(side(format!("layer{at}"))));
            let whole = Duration::from_secs_f64(whole_s);
            choose_lasting(true, &sides, &[], (Some((whole - reserve(whole)).as_secs_f64()), false)).len()
        };
        assert_eq!(
            [29.0, 30.0, 99.0, 100.0, 133.0, 134.0].map(|whole_s| chosen(1, whole_s)),
            [0, 1, 1, 2, 2, 3]
        );
        assert_eq!([30.0, 48.0, 150.0].map(|whole_s| chosen(3, whole_s)), [0, 1, 2]);
        assert_eq!(chosen(0, 500.0), 0, "nothing is compared");
    }
}

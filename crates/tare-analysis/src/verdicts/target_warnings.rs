//! Doubts about environments as a whole: clocks, emulation, canaries, runs that failed.

use std::collections::BTreeMap;

use tare_data::session::{Role, Trial};
use tare_data::warning::Warning;

use crate::findings::sameness::MARGIN;
use crate::findings::{OwnLimits, Stop};
use crate::verdicts::doubts::carry::{Carry, estimate_carry};
use crate::verdicts::doubts::ends::list_failed_runs;
use crate::verdicts::doubts::idle::find_helpers;
use crate::verdicts::doubts::limits::Apart;
use crate::verdicts::doubts::stops::find_stop;
use crate::verdicts::doubts::{comparable, stability};
use crate::verdicts::rows::Judge;

/// Doubts about environments as a whole: clocks, emulation, shared starts; and the canary ratios that rows need.
pub(crate) fn target_warnings(judge: &Judge<'_>) -> (Vec<(usize, Warning)>, BTreeMap<usize, f64>) {
    let targets = judge.progress.plan.targets.len();
    let (mut warnings, mut canaries) = (Vec::new(), BTreeMap::new());
    let of_target = |target: usize| -> Vec<&Trial> {
        let cases = 0..judge.progress.plan.cases.len();
        cases.flat_map(|case| judge.trials(case, target)).copied().collect()
    };
    let plan = judge.progress.plan;
    let carried = estimate_carry(judge.progress.trials, &plan.cases);
    for target in (0..targets).filter(|target| judge.progress.plan.targets.role(*target) != Role::Planted) {
        let trials = of_target(target);
        let facts = judge.find_facts(target);
        let carry = carried.get(plan.targets[target].name.as_str());
        let reaches = |carry: &&Carry| carry.added.abs() * carry.share >= MARGIN / 2.0;
        let carry = carry.filter(reaches).map(|carry| libm::exp(carry.added));
        warnings.extend(carry.map(|ratio| (target, Warning::CarriesOver { ratio })));
        if let (Role::Subject, Some(stop)) = (plan.targets.role(target), judge.reach(target).stop()) {
            warnings.push((target, warn_of_stop(stop)));
        }
        if let Some(Apart::Unasked(warning)) = find_apart(judge, target) {
            warnings.push((target, warning));
        }
        if Some(target) == judge.baseline
            && let Some(stop) = find_stop(judge.progress.limits, &plan.targets[target].name)
        {
            warnings.push((target, Warning::BaselineThrottled { share: stop.share() }));
        }
        if [Role::Baseline, Role::Subject].contains(&plan.targets.role(target))
            && let Some(processors) = find_helpers(judge.progress.limits, &plan.targets[target].name)
        {
            warnings.push((target, Warning::Helpers { processors }));
        }
        if comparable::is_emulated(facts) {
            warnings.push((target, Warning::EmulatedProcessor));
        }
        if let Some(step_ns) = comparable::coarse_step(facts) {
            warnings.push((target, Warning::CoarseClock { step_ns }));
        }
        for case in 0..judge.progress.plan.cases.len() {
            warnings.extend(
                list_failed_runs(&judge.progress.plan.cases[case], judge.trials(case, target))
                    .into_iter()
                    .map(|warning| (target, warning)),
            );
        }
        if let Some(parts_per_million) = stability::clock_disagreement(&trials) {
            warnings.push((target, Warning::ClockDisagrees { parts_per_million }));
        }
        // A subject has this in its cells; the baseline has none.
        if Some(target) == judge.baseline
            && let Some(astray) = stability::count_astray_datagrams(&trials)
        {
            warnings.push((target, astray));
        }
        if Some(target) != judge.baseline
            && let Some(baseline) = judge.baseline
            && let Some(ratio) = stability::canary_outside(judge.trials_by_round(baseline, target), MARGIN)
        {
            warnings.push((target, Warning::CanaryOutside { ratio }));
            canaries.insert(target, ratio);
        }
    }
    (warnings, canaries)
}

/// Lists the limits that were asked for, once for each environment that has some.
pub(crate) fn list_own_limits(judge: &Judge<'_>) -> Vec<OwnLimits> {
    let of_target = |target: usize| match find_apart(judge, target)? {
        Apart::Asked(own) => Some(own),
        Apart::Unasked(_) => None,
    };
    let mut all: Vec<OwnLimits> = (0..judge.progress.plan.targets.len()).filter_map(of_target).collect();
    all.dedup_by(|one, other| one.target == other.target);
    all
}

fn find_apart(judge: &Judge<'_>, target: usize) -> Option<Apart> {
    let targets = &judge.progress.plan.targets;
    let partner = targets.partner_of(target).filter(|_| targets.role(target) == Role::Subject)?;
    let facts = [target, partner].map(|at| Some((&targets[at], &judge.find_facts(at)?.outside)));
    let [Some(target), Some(partner)] = facts else { return None };
    Apart::find([target, partner])
}

fn warn_of_stop(stop: Stop) -> Warning {
    let factor = stop.factor().map(|factor| factor.ratio);
    Warning::Throttled { share: stop.share(), factor, interval: None }
}

//! Cells that are typically the same and cost more in total: how well the ratio of mean costs is known, and
//! what it decides.

use tare_analysis::statistics::ratio_of_means::ratio_of_means;
use tare_analysis::statistics::signed_ranks::{Nulls, hodges_lehmann, sort_values};
use tare_analysis::verdicts::judge::{Judgement, judge_pairs};
use tare_analysis::verdicts::leaving::may_leave;
use tare_analysis::verdicts::pairs::{Pair, Pairs};
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;
use tare_data::generator::Generator;

use crate::sessions::MARGIN;
use crate::simulations::noise_models::draw_normal;
use crate::simulations::promises::most_false;

/// A model of the cost of a trial; `is_target` is the environment's.
type Noise = fn(&mut Generator, bool) -> f64;

fn plain(generator: &mut Generator, _: bool) -> f64 {
    libm::exp(0.02 * draw_normal(generator))
}

/// Makes one trial of the environment in ten take four times as long.
fn stalls(generator: &mut Generator, is_target: bool) -> f64 {
    let stall = if is_target && generator.draw_below(10) == 0 { 4.0 } else { 1.0 };
    stall * plain(generator, is_target)
}

/// Makes one trial in ten stall on both sides.
fn both_stall(generator: &mut Generator, _: bool) -> f64 {
    stalls(generator, true)
}

/// Draws log-normal costs, spread 60 %.
fn skewed(generator: &mut Generator, _: bool) -> f64 {
    libm::exp(0.6 * draw_normal(generator))
}

/// Draws from Student's t with 3 degrees of freedom, 5 % wide.
fn heavy(generator: &mut Generator, _: bool) -> f64 {
    let squares: f64 = (0..3).map(|_| draw_normal(generator).powi(2)).sum();
    (1.0 + 0.05 * draw_normal(generator) / (squares / 3.0).sqrt()).max(0.01)
}

fn costs(noise: Noise, rounds: u32, seed: u64) -> Vec<[f64; 2]> {
    let mut generator = Generator::for_part(seed, "costs");
    (0..rounds).map(|_| [noise(&mut generator, false), noise(&mut generator, true)]).collect()
}

#[test]
fn the_interval_of_the_total_holds_the_truth() {
    const SESSIONS: u64 = 1_000;
    let noises: [(&str, Noise, f64); 5] = [
        ("plain", plain, 1.0),
        ("stalls", stalls, 1.3),
        ("both stall", both_stall, 1.0),
        ("skewed", skewed, 1.0),
        ("heavy", heavy, 1.0),
    ];
    for (name, noise, truth) in noises {
        for rounds in [40, 60, 90, 200] {
            let truth = libm::log(truth);
            let (mut held, mut by_normal) = (0.0, 0.0);
            for seed in 0..SESSIONS {
                let ratio = ratio_of_means(&costs(noise, rounds, seed)).unwrap();
                held += f64::from(u8::from(ratio.interval.contains(truth)));
                by_normal += f64::from(u8::from((ratio.estimate - truth).abs() <= 1.96 * ratio.error));
            }
            let (held, by_normal) = (held / SESSIONS as f64, by_normal / SESSIONS as f64);
            println!("{name}, {rounds} rounds: {held:.3} held, {by_normal:.3} by two standard errors");
            assert!(held >= 0.925, "{name}, {rounds} rounds: {held}");
            let stalls_are_few = name == "stalls" && rounds == 40;
            assert!(!stalls_are_few || held >= 0.935 && by_normal < 0.91, "{name}: {by_normal}");
        }
    }
}

/// Judges a session of costs that its environment leaves at the first look that lets it.
fn raced(costs: &[[f64; 2]], nulls: &mut Nulls) -> Judgement {
    let most = costs.len() as u32;
    let pair = |(round, costs): (u32, &[f64; 2])| {
        let d = libm::log(costs[1] / costs[0]);
        Pair { costs: Some(*costs), ..Pair::from_difference(round, d) }
    };
    let all: Vec<Pair> = (0..).zip(costs).map(pair).collect();
    let schedule = Schedule::new(&planned_looks(most), most);
    let mut at = |look: u32| {
        let so_far = Pairs { pairs: all[..look as usize].to_vec(), reached: look, resolution: 0.0 };
        judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds")
    };
    let left = planned_looks(most).into_iter().map(&mut at).find(|judged| may_leave(judged, None));
    left.unwrap_or_else(|| at(most))
}

/// Estimates the centre of a noise's differences from many rounds.
fn centre_of(noise: Noise) -> f64 {
    hodges_lehmann(&sort_values(
        &costs(noise, 20_000, u64::MAX).iter().map(|[a, b]| libm::log(b / a)).collect::<Vec<_>>(),
    ))
}

#[test]
fn what_stalls_is_never_the_same_and_what_does_not_still_is() {
    const SESSIONS: u64 = 300;
    let mut nulls = Nulls::default();
    let quiet: Noise = |generator, _| libm::exp(0.01 * draw_normal(generator));
    for (name, noise, stalls) in
        [("stalls", stalls as Noise, true), ("plain", plain, false), ("quiet", quiet, false)]
    {
        // Stalls move the centre of the differences a little, though not their median.
        let centre = if stalls { centre_of(noise) } else { 0.0 };
        let (mut same, mut typically, mut directions, mut held) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..SESSIONS {
            let judged = raced(&costs(noise, 90, seed), &mut nulls);
            let share = |is: bool| f64::from(u8::from(is)) / SESSIONS as f64;
            same += share(judged.verdict.is_settled() && judged.verdict.trend().is_none());
            typically += share(judged.typical.is_settled());
            let is_faster = judged.interval.high < 0.0;
            directions += share(judged.verdict.trend().is_some() && (!stalls || is_faster));
            held += share(judged.interval.contains(centre));
        }
        println!(
            "{name}: same {same:.3}, typically {typically:.3}, directions {directions:.3}, held {held:.3}"
        );
        assert!(held >= 0.935 && directions <= most_false(SESSIONS), "{name}: {held} {directions}");
        // By the typical cost alone, an environment that stalls would be the same in most sessions. One in
        // seventy meets no stall.
        assert!(typically >= 0.6, "{name}: {typically}");
        assert!(
            if stalls { same <= 0.05 } else { same >= typically - 0.03 },
            "{name}: {same} of {typically}"
        );
    }
}

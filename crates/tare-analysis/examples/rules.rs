//! Simulates pairs of runs of two commands, and prints how often three rules find which one is slower: tare's looks, hyperfine's means,
//! and a test after each pair until it is significant. It makes a table of docs/method/outcomes.md.

#![allow(clippy::disallowed_methods)]

use tare_analysis::findings::Verdict;
use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::judge_pairs;
use tare_analysis::verdicts::pairs::{Pair, Pairs};
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;
use tare_data::generator::Generator;

const SESSIONS: u64 = 1_000;
/// Pairs that a session has at most.
const MOST_PAIRS: u32 = 300;
/// The margin of a user's command, as ln.
const MARGIN: f64 = 0.0198;
/// Pairs before which nobody looks.
const FEWEST: usize = 10;

#[derive(Clone, Copy)]
enum Machine {
    Quiet,
    /// A run in three is slowed by what else runs, by 15 % on average.
    Loaded,
    /// Each run remembers the one before: autocorrelation 0.95.
    Drifting,
}

const MACHINES: [(Machine, &str); 3] =
    [(Machine::Quiet, "quiet"), (Machine::Loaded, "beside a load"), (Machine::Drifting, "drifting")];

/// Draws from a normal distribution (Box and Muller).
fn draw_normal(generator: &mut Generator) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - generator.draw_unit())).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * generator.draw_unit())
}

/// Draws how slow a machine is at each of a number of runs in a row, as ln.
fn draw_runs(machine: Machine, count: u32, generator: &mut Generator) -> Vec<f64> {
    let mut state = 0.03 * draw_normal(generator);
    let draw = |_| match machine {
        Machine::Quiet => 0.01 * draw_normal(generator),
        Machine::Loaded => {
            let is_slowed = generator.draw_below(3) == 0;
            let slowed = -0.15 * libm::log(1.0 - generator.draw_unit());
            0.01 * draw_normal(generator) + if is_slowed { slowed } else { 0.0 }
        }
        Machine::Drifting => {
            state = 0.95 * state + 0.03 * (1.0f64 - 0.95 * 0.95).sqrt() * draw_normal(generator);
            state
        }
    };
    (0..count).map(draw).collect()
}

/// Slower, faster or neither: what a rule says of the second command.
type Said = Option<bool>;

/// Judges at each of tare's looks, and stops at the first that decides.
fn say_tare(differences: &[f64], schedule: &Schedule, nulls: &mut Nulls) -> Said {
    let pairs: Vec<Pair> =
        (0..).zip(differences).map(|(round, d)| Pair::from_difference(round, *d)).collect();
    for look in planned_looks(MOST_PAIRS) {
        let so_far = Pairs { pairs: pairs[..look as usize].to_vec(), reached: look, resolution: 0.0 };
        let judged = judge_pairs(&so_far, schedule, Margin::from_planned(MARGIN), nulls).expect("pairs");
        match judged.verdict {
            Verdict::Slower => return Some(true),
            Verdict::Faster => return Some(false),
            Verdict::Same | Verdict::SlightlySlower | Verdict::SlightlyFaster => return None,
            _ => {}
        }
    }
    None
}

/// Computes the mean of values, and the deviation of one of them.
fn describe(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

/// Compares means as hyperfine's summary does, which runs the first command and then the second: the one that it calls faster, and
/// whether its factor is further from 1 than its deviation.
fn say_hyperfine(runs: &[f64], effect: f64) -> (Said, Said) {
    let (first, second) = runs.split_at(runs.len() / 2);
    let times =
        |runs: &[f64], effect: f64| runs.iter().map(|run| libm::exp(run + effect)).collect::<Vec<_>>();
    let (old, new) = (describe(&times(first, 0.0)), describe(&times(second, effect)));
    let is_slower = new.0 > old.0;
    let ratio = if is_slower { new.0 / old.0 } else { old.0 / new.0 };
    let deviation = ratio * ((old.1 / old.0).powi(2) + (new.1 / new.0).powi(2)).sqrt();
    (Some(is_slower), (ratio - deviation > 1.0).then_some(is_slower))
}

/// Tests the differences after each pair by Student's t at 5 %, until it is significant.
fn say_until_significant(differences: &[f64]) -> Said {
    (FEWEST..=differences.len()).find_map(|count| {
        let (mean, deviation) = describe(&differences[..count]);
        let freedom = (count - 1) as f64;
        // The quantile at 97.5 %, by Cornish and Fisher.
        let quantile = 1.960 + 2.372 / freedom + 2.823 / (freedom * freedom);
        (mean.abs() > quantile * deviation / (count as f64).sqrt()).then_some(mean > 0.0)
    })
}

fn main() {
    println!("| machine | the second takes | tare | means | beyond deviation | until significant |");
    println!("|---|---|---:|---:|---:|---:|");
    let (schedule, mut nulls) = (Schedule::new(&planned_looks(MOST_PAIRS), MOST_PAIRS), Nulls::default());
    for (machine, name) in MACHINES {
        for (effect, truth) in [(0.0, "as long"), (libm::log(1.03), "3 % longer")] {
            let mut counts = [[0_u64; 2]; 4];
            for seed in 0..SESSIONS {
                let mut generator = Generator::for_part(seed, name);
                let runs = draw_runs(machine, 2 * MOST_PAIRS, &mut generator);
                let of_pair = |two: &[f64]| {
                    let (old, new) = if generator.draw_below(2) == 0 { (0, 1) } else { (1, 0) };
                    two[new] + effect - two[old]
                };
                let differences: Vec<f64> = runs.chunks(2).map(of_pair).collect();
                let (means, beyond) = say_hyperfine(&runs, effect);
                let tare = say_tare(&differences, &schedule, &mut nulls);
                let said = [tare, means, beyond, say_until_significant(&differences)];
                for (counts, said) in counts.iter_mut().zip(said) {
                    if let Some(is_slower) = said {
                        counts[usize::from(!is_slower)] += 1;
                    }
                }
            }
            let percent = |count: u64| format!("{:.1}", 100.0 * count as f64 / SESSIONS as f64);
            let cells = counts.map(|[slower, faster]| format!("{} / {}", percent(slower), percent(faster)));
            println!("| {name} | {truth} | {} |", cells.join(" | "));
        }
    }
}

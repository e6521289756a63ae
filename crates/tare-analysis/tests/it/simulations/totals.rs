//! What is typically the same may cost more in total: how well the ratio of mean costs is known, and what it decides.

use tare_analysis::statistics::ratio_of_means::ratio_of_means;
use tare_data::generator::Generator;

use crate::simulations::noise_models::normal;

/// How the cost of a trial comes about; `is_target` is the environment's.
type Noise = fn(&mut Generator, bool) -> f64;

fn plain(generator: &mut Generator, _: bool) -> f64 {
    (0.02 * normal(generator)).exp()
}

/// One trial of the environment in ten takes four times as long.
fn stalls(generator: &mut Generator, is_target: bool) -> f64 {
    let stall = if is_target && generator.below(10) == 0 { 4.0 } else { 1.0 };
    stall * plain(generator, is_target)
}

/// One in ten on both sides.
fn both_stall(generator: &mut Generator, _: bool) -> f64 {
    stalls(generator, true)
}

/// Log-normal, spread 60 %.
fn skewed(generator: &mut Generator, _: bool) -> f64 {
    (0.6 * normal(generator)).exp()
}

/// Student's t with 3 degrees of freedom, 5 % wide.
fn heavy(generator: &mut Generator, _: bool) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(generator).powi(2)).sum();
    (1.0 + 0.05 * normal(generator) / (squares / 3.0).sqrt()).max(0.01)
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
        for rounds in [29, 40, 60, 90, 200] {
            let truth = f64::ln(truth);
            let (mut held, mut by_normal) = (0.0, 0.0);
            for seed in 0..SESSIONS {
                let ratio = ratio_of_means(&costs(noise, rounds, seed)).unwrap();
                held += f64::from(u8::from(ratio.interval.holds(truth)));
                by_normal += f64::from(u8::from((ratio.estimate - truth).abs() <= 1.96 * ratio.error));
            }
            let (held, by_normal) = (held / SESSIONS as f64, by_normal / SESSIONS as f64);
            println!("{name}, {rounds} rounds: {held:.3} held, {by_normal:.3} by two standard errors");
        }
    }
}

//! Kinds of noise that machines make, as simulated sessions of a baseline and an environment.

use tare_analysis::order::Orders;
use tare_analysis::verdicts::pairs::{Pair, Pairs};
use tare_data::generator::Generator;

/// A kind of noise. All but `SkewedTarget` are alike for both environments, so that differences lie symmetrically around the
/// true effect whatever their shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseModel {
    Gaussian,
    /// Student's t with three degrees of freedom: heavy tails.
    HeavyTails,
    /// A trial in twenty stalls.
    Spikes,
    /// Each trial falls on a fast or a slow kind of core.
    Bimodal,
    /// Each trial remembers the one before: autocorrelation 0.9.
    Drift,
    /// The side that runs second is 2 % slower.
    Position,
    /// Each start of the environment, of five rounds, is faster or slower as a whole.
    Instance,
    /// Only the environment stalls, in a third of its rounds.
    SkewedTarget,
}

pub const SYMMETRIC: [NoiseModel; 7] = [
    NoiseModel::Gaussian,
    NoiseModel::HeavyTails,
    NoiseModel::Spikes,
    NoiseModel::Bimodal,
    NoiseModel::Drift,
    NoiseModel::Position,
    NoiseModel::Instance,
];

/// Rounds that share a start under `Instance`.
const ROUNDS_A_START: u32 = 5;

/// Draws a standard normal number (Box and Muller).
pub fn draw_normal(generator: &mut Generator) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - generator.draw_unit())).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * generator.draw_unit())
}

/// Simulates the paired rounds of a session in which the environment's time is exp(effect) times the
/// baseline's.
pub fn simulate_pairs(model: NoiseModel, rounds: u32, effect: f64, seed: u64) -> Pairs {
    let mut generator = Generator::for_part(seed, "noise");
    let mut orders = Orders::new(seed, "simulated");
    let (mut drift, mut of_start) = (0.03 * draw_normal(&mut generator), 0.0);
    let mut pairs = Vec::new();
    for round in 0..rounds {
        if round % ROUNDS_A_START == 0 {
            of_start = 0.015 * draw_normal(&mut generator);
        }
        let mut times = [0.0, effect];
        for (position, target) in orders.draw_next(&[0, 1]).into_iter().enumerate() {
            times[target] += match model {
                NoiseModel::Gaussian => 0.02 * draw_normal(&mut generator),
                NoiseModel::HeavyTails => {
                    let squares: f64 = (0..3).map(|_| draw_normal(&mut generator).powi(2)).sum();
                    0.012 * draw_normal(&mut generator) / (squares / 3.0).sqrt()
                }
                NoiseModel::Spikes => {
                    let stall = if generator.draw_below(20) == 0 {
                        -0.2 * libm::log(1.0 - generator.draw_unit())
                    } else {
                        0.0
                    };
                    0.01 * draw_normal(&mut generator) + stall
                }
                NoiseModel::Bimodal => {
                    0.005 * draw_normal(&mut generator) + 0.1 * generator.draw_below(2) as f64
                }
                NoiseModel::Drift => {
                    drift = 0.9 * drift + 0.03 * (1.0f64 - 0.81).sqrt() * draw_normal(&mut generator);
                    drift
                }
                NoiseModel::Position => 0.01 * draw_normal(&mut generator) + 0.02 * position as f64,
                NoiseModel::Instance => {
                    0.01 * draw_normal(&mut generator) + if target == 1 { of_start } else { 0.0 }
                }
                NoiseModel::SkewedTarget => {
                    let stall = target == 1 && generator.draw_below(3) == 0;
                    let depth = -0.3 * libm::log(1.0 - generator.draw_unit());
                    0.01 * draw_normal(&mut generator) + if stall { depth } else { 0.0 }
                }
            };
        }
        let start = if model == NoiseModel::Instance { round / ROUNDS_A_START } else { round };
        let costs = Some(times.map(libm::exp));
        pairs.push(Pair {
            batches: None,
            at_s: f64::from(round),
            round,
            baseline_start: round,
            start,
            d: times[1] - times[0],
            costs,
        });
    }
    Pairs { pairs, reached: rounds, resolution: 0.0 }
}

/// Simulates noise of 1 % and a fixed order: the baseline always runs first, and takes less time.
pub fn fixed_order(rounds: u32, seed: u64) -> Pairs {
    let mut generator = Generator::for_part(seed, "noise");
    let difference = |round| {
        let noise = 0.01 * (draw_normal(&mut generator) - draw_normal(&mut generator));
        Pair::from_difference(round, noise + 0.02)
    };
    Pairs { pairs: (0..rounds).map(difference).collect(), reached: rounds, resolution: 0.0 }
}

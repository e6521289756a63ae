//! Mutated inputs for every reader of foreign data: `cargo run --release -p tare-fuzz -- TARGET`.
//!
//! Runs on any toolchain, and again the same from its seed. It knows no coverage (`bench/fuzz` does): an input that is
//! answered in a new way is kept and mutated further. An input that panics, takes too long, takes too much memory or breaks the
//! target's own rules is written to a file, which `--replay` runs again.

mod mutate;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tare_data::generator::Generator;

use tare_fuzz::target::Target;
use tare_fuzz::{TARGETS, check_input};

/// Inputs are cut to this: more bytes find nothing that fewer do not, and take longer.
const LONGEST_INPUT: usize = 64 << 10;
/// Inputs that are kept because they were answered in a new way.
const MOST_KEPT: usize = 4000;

/// Feed mutated inputs to a reader of foreign data.
#[derive(Parser)]
struct Args {
    /// Feed this target alone, and not every one in turn.
    target: Option<String>,
    /// Feed each target for this many seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Feed this many inputs instead, which depends on nothing but the seed.
    #[arg(long)]
    inputs: Option<u64>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one input from a file.
    #[arg(long, requires = "target")]
    replay: Option<PathBuf>,
    /// Writes the inputs that a target begins with into a folder, a file each, for a fuzzer that follows coverage.
    #[arg(long, requires = "target")]
    corpus: Option<PathBuf>,
}

thread_local! {
    /// Input that is being run, for the panic hook: with `panic = "abort"` there is no other way to report
    /// it.
    static CURRENT: RefCell<(String, Vec<u8>)> = const { RefCell::new((String::new(), Vec::new())) };
}

fn main() -> ExitCode {
    let args = Args::parse();
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .copied()
        .filter(|t| args.target.as_deref().is_none_or(|name| name == t.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("error: there is no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    std::panic::set_hook(Box::new(|panic| {
        CURRENT.with_borrow(|(name, input)| eprintln!("{panic}\n{}", keep(name, input)));
    }));
    for target in chosen {
        if let Some(folder) = &args.corpus {
            for (number, input) in (target.corpus)().iter().enumerate() {
                let file = folder.join(format!("seed-{number}"));
                std::fs::write(file, input).expect("the folder can be written");
            }
            continue;
        }
        if let Some(file) = &args.replay {
            let input = std::fs::read(file).expect("the file to replay can be read");
            match run(target, &input) {
                Ok(answer) => println!("{}: {answer}", target.name),
                Err(broken) => {
                    eprintln!("error: {}: {broken}", target.name);
                    return ExitCode::FAILURE;
                }
            }
            continue;
        }
        let until = match args.inputs {
            Some(inputs) => Until::Inputs(inputs),
            None => Until::Time(Instant::now() + Duration::from_secs(args.seconds)),
        };
        match fuzz(target, args.seed, until) {
            Ok(said) => println!("{said}"),
            Err(broken) => {
                eprintln!("error: {broken}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[derive(Clone, Copy)]
enum Until {
    Inputs(u64),
    Time(Instant),
}

/// Runs mutated inputs; prints their number, and the number of different answers.
fn fuzz(target: &Target, seed: u64, until: Until) -> Result<String, String> {
    let mut generator = Generator::new(seed);
    let mut corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{} has nothing to begin with", target.name);
    let mut answers = BTreeSet::new();
    let mut slowest = Duration::ZERO;
    let mut count = 0u64;
    for input in &corpus {
        let answer = run(target, input).map_err(|broken| format!("{}: {broken}", target.name))?;
        answers.insert(answer);
    }
    let begun = Instant::now();
    while match until {
        Until::Inputs(inputs) => count < inputs,
        Until::Time(end) => Instant::now() < end,
    } {
        let mut input = mutate::mutate_input(&mut generator, &corpus, target.words);
        input.truncate(LONGEST_INPUT);
        let started = Instant::now();
        let answer = run(target, &input).map_err(|broken| {
            format!("{}, input {count}: {broken}; {}", target.name, keep(target.name, &input))
        })?;
        slowest = slowest.max(started.elapsed());
        count += 1;
        if corpus.len() < MOST_KEPT && answers.insert(answer) {
            corpus.push(input);
        }
    }
    Ok(format!(
        "{}: {count} inputs in {} s from seed {seed}, answered in {} ways, none of them wrong; the slowest took {} us",
        target.name,
        begun.elapsed().as_secs(),
        answers.len(),
        slowest.as_micros(),
    ))
}

/// Runs one input; a panic finds its name and its bytes.
fn run(target: &Target, input: &[u8]) -> Result<String, String> {
    CURRENT.with_borrow_mut(|(name, current)| {
        target.name.clone_into(name);
        input.clone_into(current);
    });
    check_input(target, input)
}

/// Keeps an input that found something, and says where.
fn keep(name: &str, input: &[u8]) -> String {
    let path = std::env::temp_dir().join(format!("fuzz-{name}-{}.input", std::process::id()));
    match std::fs::write(&path, input) {
        Ok(()) => format!("the input is in {}", path.display()),
        Err(error) => format!("the input could not be kept: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_stands_a_few_thousand_inputs() {
        for target in TARGETS {
            println!("{}", fuzz(target, 1, Until::Inputs(3000)).unwrap());
        }
    }

    #[test]
    fn a_target_that_breaks_its_rule_is_found() {
        let target = Target {
            name: "broken",
            corpus: || vec![b"aaaa".to_vec()],
            words: &["b"],
            run: |input| if input.contains(&b'b') { Err("b".into()) } else { Ok(input.len().to_string()) },
        };
        let broken = fuzz(&target, 1, Until::Inputs(10_000)).unwrap_err();
        assert!(broken.contains("broken, input"), "{broken}");
        let input = broken.rsplit("the input is in ").next().unwrap();
        assert!(std::fs::read(input).unwrap().contains(&b'b'));
        std::fs::remove_file(input).unwrap();
    }
}

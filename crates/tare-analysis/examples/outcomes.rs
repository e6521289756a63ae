//! Simulates sessions of made-up commands, and prints how often each outcome gets which name: the table of docs/method/outcomes.md.

#![allow(clippy::disallowed_methods)]

use std::env;

use tare_analysis::outcome::{Word, compare_outcomes};
use tare_specimen::{Command, make_outcomes};

/// Sessions of a command, and of sides that are alike.
const SESSIONS: u64 = 300;
const ALIKE: u64 = 10_000;

const WORDS: [(Word, &str); 7] = [
    (Word::Same, "same"),
    (Word::Differs, "differs"),
    (Word::FailsOnly, "fails only in X"),
    (Word::MoreOften, "more often in X"),
    (Word::NowAndThen, "now and then"),
    (Word::FailsEverywhere, "fails everywhere"),
    (Word::TooFew, "too few"),
];

const COMMANDS: [(&str, Command, u32); 12] = [
    ("fails in X alone", Command::FailsOnly, 10),
    ("fails in X alone", Command::FailsOnly, 6),
    ("fails 1 in 3 everywhere", Command::Fails(1.0 / 3.0, 1.0 / 3.0), 10),
    ("fails 1 in 20 everywhere", Command::Fails(0.05, 0.05), 10),
    ("fails 30 % in X, 2 % elsewhere", Command::Fails(0.3, 0.02), 10),
    ("fails 30 % in X, 2 % elsewhere", Command::Fails(0.3, 0.02), 80),
    ("passes from its second run on", Command::PassesLater, 10),
    ("prints a time and its process number", Command::PrintsTime, 10),
    ("prints lines in any order, one now and then", Command::PrintsInAnyOrder, 10),
    ("is slower in X", Command::IsSlower, 10),
    ("writes another file in X", Command::WritesAnotherFile, 10),
    ("hangs in X", Command::Hangs, 10),
];

fn main() {
    let scale = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let heads: Vec<&str> = WORDS.iter().map(|(_, word)| *word).collect();
    println!("| command | starts a side | {} |", heads.join(" | "));
    println!("|---|---:|{}", "---:|".repeat(WORDS.len()));
    for (name, command, starts) in COMMANDS {
        let mut counts = [0_u64; WORDS.len()];
        for seed in 0..SESSIONS / scale {
            let found = compare_outcomes(&make_outcomes(command, 1, starts, seed));
            let at =
                WORDS.iter().position(|(word, _)| *word == found[0].word).expect("every word has a column");
            counts[at] += 1;
        }
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        println!("| {name} | {starts} | {} |", counts.join(" | "));
    }
    println!("\n| sides that are alike, and vary | sessions | told apart |\n|---|---:|---:|");
    for environments in [1, 5] {
        let is_blamed = |seed: &u64| {
            let found = compare_outcomes(&make_outcomes(Command::VariesAlike, environments, 10, *seed));
            found.iter().any(|one| one.word.is_difference() || !one.differences.is_empty())
        };
        let sessions = ALIKE / scale;
        let blamed = (0..sessions).filter(is_blamed).count();
        println!("| {environments} beside the baseline, ten starts each | {sessions} | {blamed} |");
    }
}

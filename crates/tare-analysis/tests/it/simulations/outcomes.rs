//! Outcomes of made-up commands: each gets its right name, and alike sides are told apart in at most 1 % of sessions.
//!
//! `bench/outcomes` runs many more sessions, and writes the table of docs/method/outcomes.md.

use tare_analysis::outcome::{CommandOutcome, Word, compare_outcomes};
use tare_data::batch::RunEnd;
use tare_data::session::outcome::Part;
use tare_specimen::{Command, make_outcomes};

/// Sessions of each command.
const SESSIONS: u64 = 40;

/// Counts the sessions in which something holds of the outcome in the first environment.
fn count(command: Command, starts: u32, holds: impl Fn(&CommandOutcome) -> bool) -> u64 {
    let outcome = |seed| compare_outcomes(&make_outcomes(command, 1, starts, seed)).remove(0);
    (0..SESSIONS).filter(|seed| holds(&outcome(*seed))).count() as u64
}

fn count_word(command: Command, starts: u32, word: Word) -> u64 {
    count(command, starts, |outcome| outcome.word == word)
}

#[test]
fn made_up_commands_get_their_right_name() {
    for (command, word) in [
        (Command::FailsOnly, Word::FailsOnly),
        (Command::Hangs, Word::FailsOnly),
        (Command::PassesLater, Word::FailsEverywhere),
        (Command::PrintsTime, Word::Same),
        (Command::PrintsInAnyOrder, Word::Same),
        (Command::IsSlower, Word::Same),
        (Command::WritesAnotherFile, Word::Differs),
    ] {
        assert_eq!(count_word(command, 10, word), SESSIONS, "{command:?}");
    }
    let flaky = count_word(Command::Fails(0.333, 0.333), 10, Word::NowAndThen);
    assert!(flaky >= SESSIONS - 1, "{flaky}");
    for command in [Command::Fails(0.05, 0.05), Command::Fails(0.3, 0.02)] {
        assert_eq!(count_word(command, 10, Word::FailsOnly), 0, "{command:?}");
    }
    let told = count_word(Command::Fails(0.3, 0.02), 80, Word::MoreOften);
    assert!(told >= SESSIONS - 2, "{told}");
}

#[test]
fn alike_sides_are_not_told_apart() {
    for environments in [1, 5] {
        let is_blamed = |seed: &u64| {
            let session = make_outcomes(Command::VariesAlike, environments, 10, *seed);
            compare_outcomes(&session)
                .iter()
                .any(|outcome| outcome.word.is_difference() || !outcome.differences.is_empty())
        };
        let blamed = (0..400).filter(is_blamed).count();
        assert!(blamed <= 8, "{blamed} of 400 with {environments}");
    }
}

#[test]
fn a_difference_is_named_and_what_varies_is_not_steady() {
    let outcome = compare_outcomes(&make_outcomes(Command::WritesAnotherFile, 1, 6, 1)).remove(0);
    assert!(outcome.differences.iter().all(|one| one.part == Part::Files) && !outcome.differences.is_empty());
    let outcome = compare_outcomes(&make_outcomes(Command::PrintsInAnyOrder, 1, 6, 1)).remove(0);
    assert_eq!(outcome.unsteady, [Part::Output]);
}

#[test]
fn so_few_starts_that_nothing_could_be_told_are_no_answer() {
    for (starts, word) in [(2, Word::TooFew), (5, Word::Same)] {
        assert_eq!(count_word(Command::IsSlower, starts, word), SESSIONS, "{starts}");
    }
    assert_eq!(count_word(Command::FailsOnly, 2, Word::NowAndThen), SESSIONS, "both counts are shown");
}

#[test]
fn a_difference_that_is_told_is_no_failure_alike_and_ends_of_two_kinds_are_not_more_often() {
    let ending = |command: Command, end: fn(bool, usize) -> i32| {
        let mut session = make_outcomes(command, 1, 10, 1);
        let baseline = session.plan.targets[0].name.clone();
        let mut runs = [0, 0];
        for run in &mut session.outcomes {
            let is_layer = run.target != baseline;
            run.end = RunEnd::ExitCode(end(is_layer, runs[usize::from(is_layer)]));
            runs[usize::from(is_layer)] += 1;
        }
        compare_outcomes(&session).remove(0)
    };
    let by_file = ending(Command::WritesAnotherFile, |_, _| 1);
    assert_eq!((by_file.word, by_file.is_end_told), (Word::Differs, false));
    let now_and_then = ending(Command::WritesAnotherFile, |_, run| i32::from(run == 0));
    assert_eq!((now_and_then.word, now_and_then.is_end_told), (Word::Differs, false));
    assert_eq!(ending(Command::IsSlower, |_, _| 1).word, Word::FailsEverywhere);
    let in_two_ways = |is_layer: bool, run: usize| match (is_layer, run) {
        (false, _) => 1,
        (true, 0) => 0,
        (true, _) => 2,
    };
    assert_eq!(ending(Command::IsSlower, in_two_ways).word, Word::Differs);
    // All fail: the baseline in two ways of which neither is told, the layer in a third.
    let in_three_ways = |is_layer: bool, run: usize| if is_layer { 3 } else { 1 + (run % 2) as i32 };
    let found = ending(Command::IsSlower, in_three_ways);
    assert_eq!((found.word, found.end, found.is_end_told), (Word::Differs, Some(RunEnd::ExitCode(3)), true));
    assert_eq!(found.counts.map(|count| count.so), [0, 10]);
}

//! Everything by which a call is told from a semblance of one, once its command was heard: the baseline's output, and the time of the
//! same command inside.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_data::batch::{Batch, Phase};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::{Case, USER};
use tare_probes::tiny::Output;

use crate::study::calls;

/// The side that others are compared with.
const BASELINE: usize = 0;
/// Times of a command inside that are kept; later ones add nothing.
const MOST_TIMES: usize = 64;
/// Times inside before a call is held against them.
const LEAST_TIMES: usize = 3;

/// A call whose command was heard to begin and to end.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    pub elapsed: Duration,
    pub output: Output,
}

/// Truths of a session, by the words of each command.
#[derive(Debug, Default)]
pub struct Truths {
    /// The output of the baseline's calls; none where they do not agree.
    outputs: BTreeMap<String, Option<Output>>,
    /// Times of the command inside, by the side.
    inside: BTreeMap<(usize, String), Vec<Duration>>,
}

impl Truths {
    /// Notes the times of a command that ran inside a side.
    pub fn note_inside(&mut self, side: usize, case: &Case, batch: &Batch) {
        if !case.probe.starts_with(USER) || batch.series != "run" || batch.phase != Phase::Warm {
            return;
        }
        let times = self.inside.entry((side, name_command(case))).or_default();
        let timed = batch.sample.iter_timed().filter(|timed| timed.operations == 1);
        times.extend(
            timed
                .map(|timed| Duration::from_nanos(timed.elapsed_ns))
                .take(MOST_TIMES.saturating_sub(times.len())),
        );
    }

    /// Checks the calls of a trial, or takes them as the truth where the side is the baseline.
    pub fn check_calls(&mut self, side: usize, case: &Case, calls: &[Heard]) -> Result<(), Failure> {
        let (words, is_baseline) = (name_command(case), side == BASELINE);
        let least = self.inside.get_mut(&(side, words.clone())).and_then(|times| find_least(times));
        let no_call =
            |reason: String| Err(Failure::new(FailureKind::WrongWork, format!("no call: {reason}")));
        if let (Some(least), Some(call)) =
            (least, calls.iter().map(|call| call.elapsed).min().filter(|call| Some(*call) < least))
        {
            return no_call(format!(
                "it took {call:.1?}, and the same command alone at least {least:.1?} inside"
            ));
        }
        for call in calls {
            let known = self.outputs.get_mut(&words);
            match known {
                None if is_baseline => drop(self.outputs.insert(words.clone(), Some(call.output))),
                Some(known) if is_baseline => *known = known.filter(|known| *known == call.output),
                Some(Some(known)) if *known != call.output => {
                    return no_call(format!(
                        "its output is not the baseline's ({} bytes, {} in the baseline); if that is meant, let it print nothing",
                        call.output.bytes, known.bytes
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the words of a command; of the program the name alone, since a call has its whole path.
fn name_command(case: &Case) -> String {
    let mut words = calls::parse_command(case).unwrap_or_default();
    if let Some((_, name)) = words.first().and_then(|first| first.rsplit_once('/')) {
        words[0] = name.to_owned();
    }
    tare_data::shell::join_words(&words)
}

/// Finds the least time that a command takes: as much below the quickest run as that is below the middle, and a tenth at least.
fn find_least(times: &mut [Duration]) -> Option<Duration> {
    times.sort();
    let (least, middle) = (*times.first()?, times[times.len() / 2]);
    (times.len() >= LEAST_TIMES).then(|| (least * 2).saturating_sub(middle).min(least * 9 / 10))
}

#[cfg(test)]
mod tests {
    use tare_data::batch::Sample;
    use tare_data::names::Parameters;
    use tare_probes::tiny::Listening;

    use super::*;

    fn case(probe: &str) -> Case {
        let words = if probe == "env.call" { "[\"/usr/bin/git\",\"log\"]" } else { "[\"git\",\"log\"]" };
        let parameters = Parameters([(calls::COMMAND.to_owned(), words.to_owned())].into());
        Case { probe: probe.into(), parameters, place: None, peer: None }
    }

    fn call(ms: u64, text: &str) -> Heard {
        let mut listening = Listening::for_token("7".into());
        listening.push(format!("@tare-began 7\n{text}@tare-ended 7 1 0\n").as_bytes());
        Heard { elapsed: Duration::from_millis(ms), output: listening.output }
    }

    #[test]
    fn output_that_is_not_the_baselines_is_no_call_where_the_baseline_agrees_with_itself() {
        let mut truths = Truths::default();
        let case = case("env.call");
        let mut check = |side: usize, calls: &[Heard]| truths.check_calls(side, &case, calls);
        assert_eq!(check(1, &[call(9, "")]), Ok(()), "the baseline has printed nothing so far");
        assert_eq!(check(0, &[call(9, "one"), call(9, "one")]), Ok(()));
        assert_eq!(check(1, &[call(9, "one")]), Ok(()));
        let refused = check(1, &[call(9, "one"), call(9, "")]).unwrap_err();
        assert!(refused.reason.contains("(0 bytes, 3 in the baseline)"), "{refused:?}");
        assert_eq!(check(0, &[call(9, "two")]), Ok(()), "the time of day");
        assert_eq!(check(1, &[call(9, "")]), Ok(()));
    }

    #[test]
    fn a_call_that_is_shorter_than_its_command_is_none() {
        let mut truths = Truths::default();
        for ms in [510, 500, 503] {
            let sample = Sample::Throughput { operations: 1, bytes: 0, elapsed_ns: ms * 1_000_000 };
            let batch = Batch { series: "run".into(), phase: Phase::Warm, started_ns: 0, sample };
            truths.note_inside(1, &case("user.command"), &batch);
            truths.note_inside(2, &case("null"), &batch);
        }
        let mut check =
            |side: usize, ms: u64| truths.check_calls(side, &case("env.call"), &[call(ms, "")]).is_ok();
        assert!(check(1, 451) && !check(1, 449) && check(2, 1));
    }
}

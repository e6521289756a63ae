//! The words of warnings: what is doubtful, and what to do about it.

use tare_analysis::findings::{Estimate, Findings, Interval};
use tare_data::batch::RunEnd;
use tare_data::warning::{Group, LimitPair, Limited, SettingPair, Warning};

use crate::here::{describe_limit, describe_setting};
use crate::language::{Language, message, say};
use crate::number::format_percent;
use crate::text::clean_text;
use crate::words::describe_stop;

/// Number of trials that are listed one by one; more are counted.
const MOST_NUMBERED: usize = 5;

/// Describes the doubt in one sentence.
pub fn describe_warning(warning: &Warning, language: Language) -> String {
    let rounds = |count: u32| language.counted(count as usize, "run", "runs");
    let trials = |count: usize| language.counted(count, "trial", "trials");
    match warning {
        Warning::ControlColoured { coloured, cells } => control(*coloured, *cells, language),
        Warning::SkewedTail { hodges_lehmann, median } => skewed(*hodges_lehmann, *median, language),
        Warning::Stalls { one_in, factor } => stalls(*one_in, *factor, language),
        Warning::SlowBatches { one_in, added } => slow_batches(*one_in, *added, language),
        Warning::MeanCost { ratio, low, high } => mean_cost([*ratio, *low, *high], language),
        Warning::Modal { groups } => fallen_into(groups, language),
        Warning::RoundsAlike { rounds, blocks, state_s } => alike(*rounds, *blocks, *state_s, language),
        Warning::CanaryOutside { ratio } => canary(*ratio, language),
        Warning::CarriesOver { ratio } => carried_over(*ratio, language),
        Warning::ClockDisagrees { parts_per_million } => clocks(*parts_per_million, language),
        Warning::CoarseClock { step_ns } => coarse_clock(*step_ns, language),
        Warning::RoundsRepeated { repeated, kept } => repeated_rounds(*repeated, *kept, language),
        Warning::TrialsFailed { failed, of } => {
            say!(language, "{failed} of {trials} failed", failed, trials = trials(*of as usize))
        }
        Warning::SessionFailed { failed, of, mostly } => say!(
            language,
            "{failed} of {trials} failed ({mostly})",
            failed,
            trials = trials(*of),
            mostly = language.translate_text(mostly)
        ),
        Warning::SharedStarts { starts, rounds: of } => say!(
            language,
            "{rounds} share {starts}",
            rounds = rounds(*of),
            starts = language.counted(*starts as usize, "launch", "launches")
        ),
        Warning::OwnControlDiffers { ratio } => own_control(*ratio, language),
        Warning::BrokenOff { rounds, planned } => broken_off(*rounds, *planned, language),
        Warning::EmulatedProcessor => language.word("the CPU is emulated").into(),
        Warning::DamagedLines { lines, trials } => damaged(*lines, trials, language),
        Warning::StrayLines { lines } => say!(
            language,
            "{lines} in the record outside any open trial: left out",
            lines = language.counted(*lines as usize, "line", "lines")
        ),
        Warning::SessionsAtOnce { others } => say!(
            language,
            "{sessions} of tare ran on this machine meanwhile",
            sessions = language.counted(*others as usize, "other session", "other sessions")
        ),
        Warning::SeveralBoots { boots } => {
            say!(language, "its runs ran in {boots} boots of the machine", boots)
        }
        Warning::RunsEnded { command, end, count, runs } => {
            failed_runs(command, *end, *count, &count_runs(*runs, language), language)
        }
        Warning::RunsLeftOut { end, here, runs, of_baseline, baseline_runs } => {
            let runs = count_runs(*runs, language);
            runs_left_out(*end, (*here, &runs), [*of_baseline, *baseline_runs], language)
        }
        Warning::Throttled { share, factor, interval } => {
            let interval = interval.map_or(Interval::UNKNOWN, |[low, high]| Interval::new(low, high));
            throttled(*share, factor.map(|ratio| Estimate { ratio, interval }), language)
        }
        Warning::BaselineThrottled { share } => throttled_baseline(*share, language),
        Warning::Helpers { processors } => helpers(*processors, language),
        Warning::LimitsDiffer { limits, settings } => unlike_limits(limits, settings, language),
        Warning::FilteredBaseline { chains, rules } => filtered_baseline([*chains, *rules], language),
        Warning::DatagramsAstray { lost, late, duplicated, reordered } => {
            astray([*lost, *late, *duplicated, *reordered], language)
        }
    }
}

fn own_control(ratio: f64, language: Language) -> String {
    say!(language, "entered a second time, it takes {ratio}x its own time", ratio = format!("{ratio:.3}"))
}

fn helpers(processors: f64, language: Language) -> String {
    say!(language, "its helpers used {count} processors", count = format!("{processors:.1}"))
}

fn filtered_baseline([chains, rules]: [u64; 2], language: Language) -> String {
    say!(
        language,
        "the baseline's packets pass {chains} with {rules}, and here none",
        chains = language.counted(chains as usize, "chain of packet filters", "chains of packet filters"),
        rules = language.counted(rules as usize, "rule", "rules")
    )
}

fn coarse_clock(step_ns: u64, language: Language) -> String {
    say!(language, "its clock moves in steps of {step_ns} ns", step_ns)
}

fn throttled(share: f64, factor: Option<Estimate>, language: Language) -> String {
    say!(language, "its answers hold {reach}", reach = describe_stop(share, factor, language))
}

fn throttled_baseline(share: f64, language: Language) -> String {
    say!(
        language,
        "throttled in {share} of periods itself: a limit stops all that is measured below it",
        share = format_percent(share)
    )
}

fn unlike_limits(limits: &[LimitPair], settings: &[SettingPair], language: Language) -> String {
    let pair =
        |[here, baseline]: [String; 2]| say!(language, "{here} (the baseline: {baseline})", here, baseline);
    let limit = |LimitPair { limited, here, baseline }: &LimitPair| {
        pair([here, baseline].map(|limit| describe_known_limit(*limited, *limit, language)))
    };
    let setting = |SettingPair { setting, here, baseline }: &SettingPair| {
        pair([here, baseline].map(|value| describe_setting(*setting, value, language)))
    };
    let pairs: Vec<String> = limits.iter().map(limit).chain(settings.iter().map(setting)).collect();
    say!(language, "it has {limits}", limits = language.join_with_commas(&pairs))
}

fn describe_known_limit(limited: Limited, value: Option<f64>, language: Language) -> String {
    let none = match (limited, value) {
        (_, Some(value)) => return describe_limit(limited, value, language),
        (Limited::Processors, None) => message!("all processors"),
        (Limited::Memory, None) => message!("no limit of memory"),
        (Limited::Processes, None) => message!("no limit of processes"),
    };
    language.word(none).to_owned()
}

/// Describes the limits that an environment has because somebody asked for them, to stand beside its name; none where it has none.
pub(crate) fn describe_own_limits(findings: &Findings, name: &str, language: Language) -> Option<String> {
    let own = findings.limits.iter().find(|own| own.target == name)?;
    let limits = own.limits.iter().map(|pair| describe_known_limit(pair.limited, pair.here, language));
    let settings = own.settings.iter().map(|pair| describe_setting(pair.setting, &pair.here, language));
    Some(language.join_with_commas(&limits.chain(settings).collect::<Vec<_>>()))
}

fn carried_over(ratio: f64, language: Language) -> String {
    say!(
        language,
        "trials that follow one of its own take {ratio}x the time of others",
        ratio = format!("{ratio:.3}")
    )
}

fn clocks(parts_per_million: f64, language: Language) -> String {
    say!(
        language,
        "its clock and the host's disagree by {parts} parts per million",
        parts = format!("{parts_per_million:.0}")
    )
}

fn canary(ratio: f64, language: Language) -> String {
    say!(
        language,
        "a fixed piece of arithmetic took {ratio}x the baseline's time just before the trials",
        ratio = format!("{ratio:.2}")
    )
}

fn count_runs(runs: u32, language: Language) -> String {
    language.counted(runs as usize, "run", "runs")
}

fn failed_runs(command: &str, end: RunEnd, count: u32, runs: &str, language: Language) -> String {
    say!(
        language,
        "{command}: {count} of {runs} ended with {end}",
        command = clean_text(command),
        count,
        runs,
        end = describe_end(end, language)
    )
}

fn runs_left_out(
    end: RunEnd,
    (here, runs): (u32, &str),
    of_baseline: [u32; 2],
    language: Language,
) -> String {
    let [of_baseline, baseline_runs] = of_baseline;
    say!(
        language,
        "{here} of {runs} ended with {end}, in the baseline {of_baseline} of {baseline_runs}",
        here,
        runs,
        end = describe_end(end, language),
        of_baseline,
        baseline_runs
    )
}

pub(crate) fn describe_end(end: RunEnd, language: Language) -> String {
    match end {
        RunEnd::ExitCode(code) => say!(language, "exit code {code}", code),
        RunEnd::Signal(signal) => say!(language, "signal {signal}", signal),
        RunEnd::TimedOut => language.word("a time-out").to_owned(),
    }
}

fn control(coloured: usize, cells: usize, language: Language) -> String {
    say!(
        language,
        "the control differs from the baseline in {coloured} of {cells}: this session's noise is above its margin",
        coloured,
        cells = language.counted(cells, "cell", "cells")
    )
}

fn skewed(by_pairs: f64, by_median: f64, language: Language) -> String {
    say!(
        language,
        "differences are skewed: {by_pairs}x by Hodges-Lehmann, {by_median}x by the median",
        by_pairs = format!("{:.3}", libm::exp(by_pairs)),
        by_median = format!("{:.3}", libm::exp(by_median))
    )
}

fn broken_off(done: u32, planned: Option<u32>, language: Language) -> String {
    let rounds = |count: u32| language.counted(count as usize, "run", "runs");
    let of = match planned {
        Some(planned) => say!(language, "{rounds} of {planned}", rounds = done, planned = rounds(planned)),
        None => rounds(done),
    };
    say!(language, "the session broke off after {rounds}", rounds = of)
}

fn repeated_rounds(repeated: u32, kept: u32, language: Language) -> String {
    say!(
        language,
        "{rounds} disturbed and run again ({kept} kept)",
        rounds = language.counted(repeated as usize, "run was", "runs were"),
        kept
    )
}

fn astray([lost, late, duplicated, reordered]: [u64; 4], language: Language) -> String {
    say!(
        language,
        "datagrams: {lost} lost, {late} late, {duplicated} duplicated, {reordered} out of order",
        lost,
        late,
        duplicated,
        reordered
    )
}

fn alike(rounds: u32, blocks: u32, state_s: Option<f64>, language: Language) -> String {
    let blocks = language.counted(blocks as usize, "block", "blocks");
    match state_s {
        Some(state_s) => say!(
            language,
            "successive runs are alike, as in states of about {seconds} s: judged by {blocks} of {rounds} runs",
            seconds = format!("{state_s:.1}"),
            blocks,
            rounds
        ),
        None => {
            say!(language, "successive runs are alike: judged by {blocks} of {rounds} runs", blocks, rounds)
        }
    }
}

fn fallen_into(groups: &[Group], language: Language) -> String {
    let of_group = |group: &Group| {
        let (ratio, share) = (format!("{:.2}", group.ratio), format!("{:.0}", 100.0 * group.share));
        say!(language, "{ratio}x in {share} %", ratio, share)
    };
    let each: Vec<String> = groups.iter().map(of_group).collect();
    say!(
        language,
        "runs fall into {count} groups: {each}",
        count = groups.len(),
        each = language.join_with_commas(&each)
    )
}

/// Counts the damaged lines, and the trials that are left out with them.
fn damaged(lines: u64, trials: &[u64], language: Language) -> String {
    let lines = language.counted(lines as usize, "damaged line", "damaged lines");
    let shown: Vec<String> = trials.iter().take(MOST_NUMBERED).map(u64::to_string).collect();
    let more = trials.len() - shown.len();
    match shown.as_slice() {
        [] => say!(language, "{lines} in the record: no trial is left out", lines),
        [one] => say!(language, "{lines} in the record: trial {trial} is left out", lines, trial = one),
        _ => {
            let shown = language.join_with_commas(&shown);
            let shown = match more {
                0 => shown,
                more => say!(language, "{trials} and {more} more", trials = shown, more),
            };
            say!(language, "{lines} in the record: trials {trials} are left out", lines, trials = shown)
        }
    }
}

fn stalls(one_in: u32, factor: f64, language: Language) -> String {
    say!(
        language,
        "typically the same, but one run in {one_in} takes {factor} times as long",
        one_in,
        factor = format!("{factor:.1}")
    )
}

fn slow_batches(one_in: u32, added: f64, language: Language) -> String {
    say!(
        language,
        "typically the same, but one batch in {one_in} is slow, which changes the mean by {percent} %",
        one_in,
        percent = format!("{:+.0}", added * 100.0)
    )
}

fn mean_cost(mean: [f64; 3], language: Language) -> String {
    let [ratio, low, high] = mean.map(|ratio| format!("{ratio:.2}"));
    say!(language, "typically the same, but the mean cost is {ratio}x [{low}, {high}]", ratio, low, high)
}

/// Advises how to resolve the doubt, in one sentence.
pub(crate) fn advise_on_warning(warning: &Warning, language: Language) -> &'static str {
    language.word(match warning {
        Warning::ControlColoured { .. } => {
            message!("stop other programs on the machine (tare check names them) and run again")
        }
        Warning::SkewedTail { .. } => message!("the interval shown is that of the median"),
        Warning::Stalls { .. } => message!("compare the mean costs, and look at the runs one by one"),
        Warning::SlowBatches { .. } => {
            message!("compare the mean costs: what stalls there is rare, and large")
        }
        Warning::MeanCost { .. } => {
            message!("occasional slow operations raise the mean; a longer --budget narrows its interval")
        }
        Warning::Modal { .. } => message!("look at the runs one by one; pinning may separate the groups"),
        Warning::RoundsAlike { .. } => {
            message!("look for occasional changes; a longer --budget has more blocks")
        }
        Warning::CanaryOutside { .. } => {
            message!("do not take its rows of computing (primes, memory) for its own cost")
        }
        Warning::CarriesOver { .. } => {
            message!("its ratios may be off by part of that: compare it with the baseline alone, or where trials take turns")
        }
        Warning::ClockDisagrees { .. } => message!("trust ratios above that size only"),
        Warning::CoarseClock { .. } => {
            message!("choose another clock source in the environment, e.g. tsc=reliable")
        }
        Warning::RoundsRepeated { .. } => message!("run when the machine is idle"),
        Warning::TrialsFailed { .. } | Warning::SessionFailed { .. } => {
            message!("tare report --json names each failure")
        }
        Warning::SharedStarts { .. } => message!("a longer --budget has room for more launches"),
        Warning::OwnControlDiffers { .. } => {
            message!("its verdict allows for that much; more launches make it smaller")
        }
        Warning::BrokenOff { .. } => message!("tare run --resume FILE continues it"),
        Warning::EmulatedProcessor => {
            message!("a real processor gives other numbers: use a machine that has it, and KVM")
        }
        Warning::DamagedLines { .. } => {
            message!("restore the original file; the disk or a program changed it")
        }
        Warning::StrayLines { .. } => message!("two programs may have written it at once: run again"),
        Warning::SessionsAtOnce { .. } => message!("they disturb each other: run one at a time"),
        Warning::SeveralBoots { .. } => {
            message!("a restart can change the machine's speed: run again without one")
        }
        Warning::RunsEnded { .. } => message!("a run that failed did other work; its output tells why"),
        Warning::RunsLeftOut { .. } => message!("only pairs of runs that ended alike are compared"),
        Warning::Throttled { .. } => {
            message!("raise its limit of processor time, or time work that lasts: tare run -- COMMAND")
        }
        Warning::BaselineThrottled { .. } => message!("run where the limit of processor time does not hold"),
        Warning::Helpers { .. } => message!("measure work on all processors: every side has less of them"),
        Warning::LimitsDiffer { .. } => message!("to compare what else differs, give both the same limits"),
        Warning::FilteredBaseline { .. } => message!("the baseline's firewall is part of the difference"),
        Warning::DatagramsAstray { .. } => {
            message!("the rate counts answered datagrams only; the path to the peer loses or duplicates some")
        }
    })
}

/// Describes a kind of warning, for a note that covers several of them.
pub(crate) fn describe_warning_kind(warning: &Warning) -> &'static str {
    match warning {
        Warning::ControlColoured { .. } => message!("the baseline differs from itself"),
        Warning::SkewedTail { .. } => {
            message!("differences are skewed: their centre and their median disagree")
        }
        Warning::Stalls { .. } => message!("typically the same, but some runs take much longer"),
        Warning::SlowBatches { .. } => message!("typically the same, but some batches are slow"),
        Warning::MeanCost { .. } => message!("typically the same, but the mean cost is not known as well"),
        Warning::Modal { .. } => message!("runs fall into separate groups"),
        Warning::RoundsAlike { .. } => message!("successive runs are alike: blocks of them were judged"),
        Warning::CanaryOutside { .. } => {
            message!("a fixed piece of arithmetic took a different time than in the baseline")
        }
        Warning::CarriesOver { .. } => message!("trials change the time of those that follow"),
        Warning::ClockDisagrees { .. } => message!("its clock and the host's disagree"),
        Warning::CoarseClock { .. } => message!("its clock moves in coarse steps"),
        Warning::RoundsRepeated { .. } => message!("runs were disturbed and repeated"),
        Warning::TrialsFailed { .. } | Warning::SessionFailed { .. } => message!("some trials failed"),
        Warning::SharedStarts { .. } => message!("runs share launches of the environment"),
        Warning::OwnControlDiffers { .. } => message!("the environment differs from itself"),
        Warning::BrokenOff { .. } => message!("the session ended early"),
        Warning::EmulatedProcessor => message!("the CPU is emulated"),
        Warning::DamagedLines { .. } => message!("the record is damaged"),
        Warning::StrayLines { .. } => message!("lines of the record belong to no trial"),
        Warning::SessionsAtOnce { .. } => message!("other sessions ran at the same time"),
        Warning::SeveralBoots { .. } => message!("the machine was restarted during the session"),
        Warning::RunsEnded { .. } | Warning::RunsLeftOut { .. } => message!("some runs failed"),
        Warning::Throttled { .. } => message!("a limit of processor time stopped the environment"),
        Warning::BaselineThrottled { .. } => message!("a limit of processor time stopped the baseline"),
        Warning::Helpers { .. } => message!("its processes worked while others were measured"),
        Warning::LimitsDiffer { .. } => message!("its limits are not the baseline's"),
        Warning::FilteredBaseline { .. } => message!("packet filters of the baseline do not filter here"),
        Warning::DatagramsAstray { .. } => message!("datagrams were lost, late, duplicated or out of order"),
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::OwnLimits;
    use tare_data::warning::Setting;

    use super::*;
    use crate::{json, specimen, view};

    #[test]
    fn limits_have_both_values() {
        let limit = |limited, here, baseline| LimitPair { limited, here, baseline };
        let (here, baseline) = ("10".to_owned(), "usual".to_owned());
        let settings = vec![SettingPair { setting: Setting::Weight, here, baseline }];
        let limits = vec![
            limit(Limited::Processors, Some(0.2), Some(2.0)),
            limit(Limited::Memory, Some(300e6), None),
            limit(Limited::Processes, None, Some(2048.0)),
        ];
        assert_eq!(
            describe_warning(&Warning::LimitsDiffer { limits, settings }, Language::English),
            "it has CPU 0.2 (the baseline: CPU 2), memory 286.1 MiB (the baseline: no limit of memory), no limit of \
             processes (the baseline: 2048 processes), processor weight 10 (the baseline: processor weight usual)"
        );
    }

    #[test]
    fn limits_that_were_asked_for_stand_beside_a_name() {
        let limit = |limited, here, baseline| LimitPair { limited, here, baseline };
        let limits = vec![
            limit(Limited::Processors, Some(0.2), Some(2.0)),
            limit(Limited::Memory, Some(300e6), None),
            limit(Limited::Processes, None, Some(64.0)),
        ];
        let own = OwnLimits { target: "gvisor".into(), limits, settings: vec![] };
        let findings = Findings { limits: vec![own], ..specimen::make_findings(2) };
        let words = "CPU 0.2, memory 286.1 MiB, no limit of processes";
        let of = |name: &str| describe_own_limits(&findings, name, Language::English);
        assert_eq!([of("gvisor").as_deref(), of("container").as_deref()], [Some(words), None]);
        let session = specimen::make_session(2);
        let heading = view::make_heading(&session, &findings, Language::English).remove(0);
        assert!(heading.contains(&format!("gvisor ({words})")), "{heading}");
        let document = json::render_json(&session, &findings);
        assert!(document.contains(&format!("; {words}\"")), "{document}");
    }

    #[test]
    fn one_is_not_several() {
        let words = |warning: Warning| describe_warning(&warning, Language::English);
        let shared = |starts, rounds| words(Warning::SharedStarts { starts, rounds });
        assert_eq!(shared(1, 18), "18 runs share 1 launch");
        assert_eq!(shared(3, 18), "18 runs share 3 launches");
        let repeated = |repeated| words(Warning::RoundsRepeated { repeated, kept: 9 });
        assert_eq!(repeated(1), "1 run was disturbed and run again (9 kept)");
        assert_eq!(repeated(2), "2 runs were disturbed and run again (9 kept)");
    }
}

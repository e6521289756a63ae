//! The words of answers, missing values, families, warnings and endings.

use serde::Serialize;
use serde_json::Value;
use tare_analysis::findings::{
    Answer, Cell, Comparison, Estimate, Family, Interval, Kind, Missing, Needed, Reach, Row, Total, Why,
};
use tare_data::failure::FailureKind;
use tare_data::names::USER;
use tare_data::session::Ending;
use tare_data::session::demand::Work;
use tare_data::session::lasting::LastingWork;
use tare_data::warning::Warning;

use crate::language::{Language, message, say};
use crate::number::{
    Figure, format_percent, format_share_above, format_times, format_times_below, times_range,
};
use crate::text::clean_text;

/// Answer of a cell that is not compared.
pub const NOT_COMPARED: &str = "–";

/// An answer with the factor and the interval that it rests on, to be said.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub answer: Answer,
    pub ratio: f64,
    pub interval: Interval,
    /// The factor beyond which the answer excludes all; none where it excludes nothing.
    pub most: Option<f64>,
    /// The largest factor that counts as the same.
    pub margin: f64,
}

impl Said {
    pub fn of_comparison(comparison: &Comparison) -> Said {
        let Comparison { ratio, interval, margin, .. } = *comparison;
        let answer = comparison.answer();
        // The bound of the typical cost alone has a sign that says so.
        let most = comparison.most().filter(|_| answer.why() != Some(Why::Typical));
        Said { answer, ratio, interval, most, margin }
    }

    /// Says it as the table of answers does: `10x`, `same`, `at most 3 % slower`, `~57x, not sure`.
    pub fn in_words(self, language: Language) -> String {
        let words = self.without_reach(language);
        match self.answer.is_of_short() {
            true => say!(language, "{answer}, short", answer = words),
            false => words,
        }
    }

    /// Says it without a word on the work that it holds for, which the sentence around it has.
    pub fn without_reach(self, language: Language) -> String {
        match self.answer.kind() {
            Kind::Slower | Kind::Faster => self.factor(language),
            Kind::Same => language.word("same").to_owned(),
            Kind::AtLeast => {
                let [times, _] = self.interval.ends(format_times_below);
                let times = language.translate_ratio(&times);
                say!(language, "over {times}", times)
            }
            Kind::AtMost => {
                let share = self.share_above();
                say!(language, "at most {share} slower", share)
            }
            Kind::NotSure => say!(language, "~{times}, not sure", times = self.factor(language)),
            Kind::None => NOT_COMPARED.to_owned(),
        }
    }

    /// Says it in at most eight columns: `10x`, `same`, `<3%`, `>41x`, `~57x?`. A sign behind it tells of short operations.
    pub fn in_short(self, language: Language) -> String {
        match self.answer.kind() {
            Kind::AtMost => format!("<{}", self.share_above().replace(' ', "")),
            Kind::AtLeast => {
                let [times, _] = self.interval.ends(format_times_below);
                format!(">{}", language.translate_ratio(&times))
            }
            Kind::NotSure => format!("~{}?", self.factor(language)),
            Kind::Slower | Kind::Faster | Kind::Same | Kind::None => self.without_reach(language),
        }
    }

    pub(crate) fn share_above(self) -> String {
        format_share_above(self.bound() - 1.0)
    }

    /// Gives the factor that "at most" names: the answer's bound, or the interval's upper end.
    fn bound(self) -> f64 {
        let [_, high] = self.interval.ends(f64::from);
        self.most.unwrap_or(high)
    }

    fn factor(self, language: Language) -> String {
        // An estimate that is not sure has not left the margin, however many digits it has.
        let margin = if self.answer.is_decided() { self.margin } else { f64::NAN };
        language.translate_ratio(&format_times(self.ratio, margin))
    }

    /// Formats the interval of the factor; empty while there are too few rounds for one.
    pub fn interval(self, language: Language) -> String {
        format_range(self.interval.ends(f64::from), self.margin, language)
    }
}

/// Finds the answer with the highest bound, which holds for all of several.
pub(crate) fn find_loosest<'a>(all: impl IntoIterator<Item = &'a Comparison>) -> Option<Said> {
    all.into_iter().map(Said::of_comparison).max_by(|a, b| a.bound().total_cmp(&b.bound()))
}

/// Says the answer of a comparison: `10x`, `same`, `at most 3 % slower`, `~57x, not sure`.
///
/// A factor is how many times as long the environment takes.
pub fn format_answer(comparison: &Comparison, language: Language) -> String {
    Said::of_comparison(comparison).in_words(language)
}

/// Says the same in at most eight columns: `10x`, `same`, `<3%`, `>41x`, `~57x?`.
pub fn format_short_answer(comparison: &Comparison, language: Language) -> String {
    Said::of_comparison(comparison).in_short(language)
}

/// Formats how many times as long an environment takes: `10x`.
pub fn format_factor(comparison: &Comparison, language: Language) -> String {
    Said::of_comparison(comparison).factor(language)
}

/// Formats the interval of the factor, `(6.1 to 21x)`; empty while there are too few rounds for one.
pub fn format_interval(comparison: &Comparison, language: Language) -> String {
    Said::of_comparison(comparison).interval(language)
}

/// Formats the interval of the factor at 95 %, as if no other cell had been measured.
pub(crate) fn format_interval_alone(comparison: &Comparison, language: Language) -> String {
    format_range(comparison.interval_alone.ends(f64::from), comparison.margin, language)
}

/// Formats the ends of an interval of factors, `(6.1 to 21x)`; empty where one is open.
pub(crate) fn format_range([low, high]: [f64; 2], margin: f64, language: Language) -> String {
    match times_range(low, high, margin) {
        None => String::new(),
        Some((low, high)) if high.trim_end_matches('x') == low => {
            format!("({})", language.translate_ratio(&high))
        }
        Some((low, high)) => say!(language, "({low} to {high})", low, high = language.translate_ratio(&high)),
    }
}

/// Formats the ratio of mean costs if its interval does not contain the typical ratio: `1.3x (1.1 to 1.6x)`.
pub fn mean_where_it_differs(comparison: &Comparison, language: Language) -> Option<String> {
    let Total { ratio: mean, low, high } = comparison.total?;
    let differs = !(low..=high).contains(&comparison.ratio) || comparison.answer().why() == Some(Why::Mean);
    let margin = comparison.margin;
    differs.then(|| {
        let mean = language.translate_ratio(&format_times(mean, margin));
        format!("{mean} {}", format_range([low, high], margin, language)).trim_end().to_owned()
    })
}

/// Formats the value of a compared environment: the baseline's times the factor beside it.
pub(crate) fn format_value(row: &Row, comparison: &Comparison) -> String {
    let value = row.scale_baseline(comparison.ratio).unwrap_or(f64::NAN);
    Figure::without_interval(value, row.metric.unit).to_text()
}

/// Explains why a comparison is not decided, or what its answer leaves out; none where it says all.
pub fn explain_doubt(comparison: &Comparison, language: Language) -> Option<String> {
    let starts = || {
        let starts = comparison.starts.map_or(0, |shared| shared.starts) as usize;
        language.counted(starts, "launch", "launches")
    };
    let reach = explain_reach(comparison.answer(), language);
    let doubt = comparison.answer().why().and_then(|why| match why {
        Why::Starts => Some(say!(language, "seen in {starts}: another launch may differ", starts = starts())),
        Why::Cells => Some(language.word("may be chance, as one of many cells").to_owned()),
        Why::Size if comparison.ratio > 1.0 => {
            Some(language.word("it is slower, by an unclear size").to_owned())
        }
        Why::Size => Some(language.word("it is faster, by an unclear size").to_owned()),
        Why::Mean => Some(language.word("typically; the mean cost may differ").to_owned()),
        Why::Rounds => Some(language.word("too few runs for this much noise").to_owned()),
        Why::Seen => {
            let time = language.format_duration(comparison.seen.seconds);
            Some(say!(language, "seen for {time} only: a state of the machine may last longer", time))
        }
        Why::States => Some(language.word("states of seconds come and go: too short a time").to_owned()),
        Why::Tail => Some(language.word("slow batches: their cost is not known closely enough").to_owned()),
        Why::Typical => Some(language.word("typically; slow batches may add more").to_owned()),
        Why::Observed | Why::NotComparable | Why::NotMeasured => None,
    });
    let all: Vec<String> = reach.into_iter().chain(doubt).collect();
    (!all.is_empty()).then(|| all.join(language.word("; ")))
}

/// Explains the work that an answer holds for, where it is short operations, and what work that lasts takes.
fn explain_reach(answer: Answer, language: Language) -> Option<String> {
    answer.is_of_short().then(|| match answer.reach() {
        Reach::Stopped(stop) => describe_stop(stop.share(), stop.factor(), language),
        Reach::Differs(long) => say!(
            language,
            "for short operations; work that lasts takes {times}",
            times = format_estimate(long, language)
        ),
        Reach::Open | Reach::Short | Reach::Lasting => language
            .word("for short operations; what work that lasts takes is not known closely enough")
            .to_owned(),
    })
}

/// Formats how many times as long something takes, with its interval: `5.1x (4.9 to 5.2x)`.
pub(crate) fn format_estimate(Estimate { ratio, interval }: Estimate, language: Language) -> String {
    let times = language.translate_ratio(&format_times(ratio, f64::NAN));
    format!("{times} {}", format_range(interval.ends(f64::from), f64::NAN, language)).trim_end().to_owned()
}

/// Formats what lasting work takes beyond short turns, `0.98 to 1.02x`; none where there is no interval.
pub(crate) fn format_excess(excess: Estimate, language: Language) -> Option<String> {
    let [low, high] = excess.interval.ends(f64::from);
    let (low, high) = times_range(low, high, f64::NAN)?;
    let high = language.translate_ratio(&high);
    Some(say!(language, "{low} to {high}", low, high))
}

/// Returns the word for a kind of work that lasts.
pub(crate) fn describe_lasting_work(work: LastingWork) -> &'static str {
    match work {
        LastingWork::Arithmetic => message!("arithmetic"),
        LastingWork::Processors => message!("arithmetic, all processors"),
        LastingWork::Calls => message!("calls and forks"),
    }
}

/// Describes the work that answers hold for, where an environment was stopped in this share of its periods.
pub(crate) fn describe_stop(share: f64, factor: Option<Estimate>, language: Language) -> String {
    let share = format_percent(share);
    match factor.map(|factor| (factor.interval.is_bounded(), format_estimate(factor, language))) {
        Some((true, times)) => say!(
            language,
            "for short operations; throttled in {share} of periods: work that lasts takes {times}",
            share,
            times
        ),
        Some((false, times)) => say!(
            language,
            "for short operations; throttled in {share} of periods: work that lasts takes about {times}",
            share,
            times
        ),
        None => say!(
            language,
            "for short operations; throttled in {share} of periods: work that lasts takes longer",
            share
        ),
    }
}

/// Checks if an answer says less than it seems to: of the typical cost alone, or of a short time.
pub(crate) fn leaves_out(comparison: &Comparison) -> bool {
    matches!(comparison.answer().why(), Some(Why::Mean | Why::Seen | Why::Typical))
}

/// Checks if there is more to know of a comparison than its answer: stalls, groups, few starts, a short time, the mean.
pub fn has_more_to_know(comparison: &Comparison) -> bool {
    let is_known_elsewhere =
        |warning: &Warning| matches!(warning, Warning::RoundsRepeated { .. } | Warning::EmulatedProcessor);
    leaves_out(comparison)
        || mean_where_it_differs(comparison, Language::English).is_some()
        || comparison.warnings.iter().any(|warning| !is_known_elsewhere(warning))
}

/// Finds the number of rounds that would decide a comparison that lacks rounds.
pub fn rounds_needed(comparison: &Comparison) -> Option<u32> {
    match comparison.needed? {
        Needed::Rounds(rounds) => Some(rounds),
        Needed::Starts(_) | Needed::LessNoise => None,
    }
}

/// Smallest difference that is shown: nobody needs "below 0 %".
const LEAST_EFFECT: f64 = 0.001;

/// Finds the smallest difference from the baseline that a comparison could have found, as a share that shows.
pub fn find_smallest_difference(comparison: &Comparison) -> Option<f64> {
    let share = (comparison.smallest?.differs - 1.0).abs();
    share.is_finite().then(|| share.max(LEAST_EFFECT))
}

/// Describes a cell in one line: `10x (6.1 to 21x)`, `not measured: not permitted: needs root`.
pub fn describe_cell(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Compared(comparison) => {
            let (answer, interval) =
                (format_answer(comparison, language), format_interval(comparison, language));
            format!("{answer} {interval}").trim_end().to_owned()
        }
        Cell::Observed(_) => language.word("observed, never compared").into(),
        Cell::Missing(found) => describe_missing(found, language),
    }
}

/// Says the answer of a cell; a dash where nothing is compared.
pub fn cell_word(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Compared(comparison) => format_answer(comparison, language),
        Cell::Observed(_) | Cell::Missing(_) => NOT_COMPARED.to_owned(),
    }
}

/// Says the answer of a cell in a few letters.
pub fn short_cell_word(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Compared(comparison) => format_short_answer(comparison, language),
        Cell::Observed(_) | Cell::Missing(_) => NOT_COMPARED.to_owned(),
    }
}

/// Describes a cell without a comparison, with the reason.
pub(crate) fn describe_missing(missing: &Missing, language: Language) -> String {
    let word = language.word(missing_word(missing));
    match explain_missing(missing, language) {
        reason if reason.is_empty() => word.into(),
        reason => format!("{word}: {reason}"),
    }
}

/// Returns the word of a cell without a comparison.
pub fn missing_word(missing: &Missing) -> &'static str {
    match missing.why() {
        Why::NotComparable => message!("not comparable"),
        _ => message!("not measured"),
    }
}

/// Explains why there is no comparison.
pub fn explain_missing(missing: &Missing, language: Language) -> String {
    match missing {
        Missing::Failed(failure) if failure.kind == FailureKind::NotComparable => {
            language.translate_text(&failure.reason)
        }
        Missing::Failed(failure) => {
            let kind = language.word(failure_kind(failure.kind));
            format!("{kind}: {}", language.translate_text(&failure.reason))
                .trim_end_matches([':', ' '])
                .to_owned()
        }
        Missing::NotReached => language.word("the session ended before it").into(),
        Missing::NoBaseline(_) => language.word("the baseline was not measured").into(),
        Missing::NotComparable { reason, .. } => language.translate_text(reason),
    }
}

/// Returns the words for a kind of failure: those of `tare-data`, which are in records.
pub(crate) fn failure_kind(kind: FailureKind) -> &'static str {
    kind.description()
}

/// Returns the kind of a missing value, in a word or two.
pub fn missing_kind(missing: &Missing) -> &'static str {
    match missing {
        Missing::Failed(failure) => failure.kind.description(),
        Missing::NotReached => message!("not reached"),
        Missing::NoBaseline(_) => message!("no baseline"),
        Missing::NotComparable { .. } => message!("not comparable"),
    }
}

/// Translates the title of a row. A user command keeps its words.
pub fn translate_row_title(row: &Row, language: Language) -> String {
    let label = clean_text(&row.label);
    if row.probe.starts_with(USER) { label } else { language.translate_title(&label) }
}

/// Finds the name of a variant in files for programs, which is the one that serde gives it.
pub fn machine_name(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.into_iter().next().map(|(name, _)| name).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Finds the name of the kind of a missing value in files for programs.
pub fn missing_name(missing: &Missing) -> String {
    match missing {
        Missing::Failed(failure) => machine_name(&failure.kind),
        _ => machine_name(missing),
    }
}

/// Returns the word for a family of probes.
pub fn describe_family(family: Family) -> &'static str {
    match family {
        Family::Cpu => message!("CPU"),
        Family::Memory => message!("memory"),
        Family::SystemCall => message!("system calls"),
        Family::Process => message!("processes"),
        Family::Ipc => message!("IPC"),
        Family::Time => message!("clock"),
        Family::File => message!("files"),
        Family::Network => message!("network"),
        Family::Start => message!("start"),
        Family::Other => message!("other"),
    }
}

/// Describes an early end of a session.
pub fn describe_ending(ending: Ending) -> Option<&'static str> {
    match ending {
        Ending::Complete => None,
        Ending::Early => {
            Some(message!("The session ended early: what is open needs more time than it had taken."))
        }
        Ending::Interrupted => {
            Some(message!("The session was stopped early: the report shows the runs until then."))
        }
        Ending::BaselineFailed => {
            Some(message!("The session ended early: the baseline gave no value in ten runs in a row."))
        }
        Ending::SubjectsFailed => {
            Some(message!("The session ended early: every other environment was given up."))
        }
        Ending::BrokenOff => Some(message!("The record breaks off: the report shows the runs until then.")),
    }
}

pub fn find_comparison(cell: &Cell) -> Option<&Comparison> {
    match cell {
        Cell::Compared(comparison) => Some(comparison),
        Cell::Observed(_) | Cell::Missing(_) => None,
    }
}

/// Returns the word for a kind of work.
pub fn describe_work(work: Work, language: Language) -> &'static str {
    language.word(match work {
        Work::Computing => message!("computing"),
        Work::OtherCalls => message!("other system calls"),
        Work::CallsInARow => message!("calls in a row, beyond what a loop pays"),
        Work::ShortPauses => message!("calls after 2 to 15 µs of computing"),
        Work::Pauses => message!("calls after 15 to 100 µs of computing"),
        Work::LongPauses => message!("calls after 100 µs of computing"),
        Work::Lookups => message!("paths looked up"),
        Work::FurtherFolders => message!("further folders in paths"),
        Work::Missing => message!("paths that do not exist"),
        Work::DistinctPaths => message!("different paths, first use"),
        Work::NewFiles => message!("different files, first read"),
        Work::Opens => message!("files opened and closed"),
        Work::Entries => message!("folder entries listed"),
        Work::Reads => message!("reads of files"),
        Work::ReadKib => message!("further KiB read"),
        Work::Writes => message!("writes to files"),
        Work::WrittenKib => message!("further KiB written"),
        Work::Creates => message!("files and folders made"),
        Work::Renames => message!("files renamed"),
        Work::Removes => message!("files and folders removed"),
        Work::Syncs => message!("writes made durable"),
        Work::Maps => message!("memory mapped and unmapped"),
        Work::FileMaps => message!("files mapped, first page"),
        Work::Protects => message!("mappings protected"),
        Work::Breaks => message!("heap up and down"),
        Work::Faults => message!("pages touched first"),
        Work::FilePages => message!("file pages touched first"),
        Work::CopiedPages => message!("file pages copied"),
        Work::Forks => message!("processes forked"),
        Work::Spawns => message!("processes by vfork"),
        Work::Threads => message!("threads"),
        Work::Execs => message!("programs started (exec)"),
        Work::Messages => message!("messages on pipes, sockets"),
        Work::Waits => message!("waits for another process"),
        Work::Futexes => message!("futex calls"),
        Work::Signals => message!("signals"),
    })
}

#[cfg(test)]
mod tests {
    use tare_data::unit::Direction;

    use super::*;
    use crate::specimen;

    #[test]
    fn a_difference_that_could_have_been_missed_is_never_shown_as_nothing() {
        let shown = |differs: f64| {
            let mut found = specimen::make_comparison(134.0, 10.4, 1);
            found.smallest.as_mut().expect("it has one").differs = differs;
            crate::number::format_percent(find_smallest_difference(&found).expect("it is finite"))
        };
        assert_eq!([shown(1.0002), shown(0.9998), shown(1.026)], ["0.1 %", "0.1 %", "2.6 %"]);
    }

    #[test]
    fn the_loosest_of_several_bounds_is_the_one_that_is_shown() {
        let bounded = |high: f64, more: f64| {
            let mut found = specimen::make_comparison(100.0, 1.0, 1);
            found.interval = Interval::new(0.99, high);
            found.slow.as_mut().expect("it counted slow batches").most = more;
            found
        };
        // The row of the higher interval is not that of the higher bound.
        let rows = [bounded(1.03, 0.0), bounded(1.018, 0.05)];
        let shown = |found: Option<Said>| found.map(Said::share_above);
        assert_eq!(shown(find_loosest(&rows)), shown(find_loosest(&rows[1..])));
        assert_ne!(shown(find_loosest(&rows)), shown(find_loosest(&rows[..1])));
        assert_eq!(shown(find_loosest(&[])), None);
    }

    #[test]
    fn the_quotient_of_two_shown_values_is_the_factor_beside_them() {
        let mut row = specimen::make_findings(2).rows.remove(0);
        let mut found = specimen::make_comparison(238.0, 5.3, 1);
        row.baseline.as_mut().expect("a baseline").median = 238.0;
        // An interval over all rounds, of which only some are pairs.
        (found.interval, found.level.median) = (Interval::new(2.6, 9.8), 2570.0);
        assert_eq!(format_value(&row, &found), "1.26 µs");
        row.metric.direction = Direction::Higher;
        assert_eq!(format_value(&row, &found), "44.9 ns");
    }
}

//! The words of verdicts, missing values, families, warnings and endings.

use serde::Serialize;
use serde_json::Value;
use tare_analysis::findings::{Cell, Comparison, Family, Missing, Needed, Row, Shown, Side, Total, Verdict};
use tare_data::failure::FailureKind;
use tare_data::names::USER;
use tare_data::session::Ending;
use tare_data::session::demand::Work;

use crate::language::{Language, message, say};
use crate::number::{NO_INTERVAL, compact_interval, format_percent, format_ratio, ratio_interval};
use crate::text::clean_text;
use crate::verdict_words::{VerdictWords, verdict_words};

/// Computes the factor by which an environment is slower or, if that is its verdict, faster.
pub fn compute_factor(comparison: &Comparison) -> f64 {
    if is_speedup(comparison) { 1.0 / comparison.ratio } else { comparison.ratio }
}

/// Checks if the factor of a verdict is that of a faster environment.
fn is_speedup(comparison: &Comparison) -> bool {
    VerdictWords::from_verdict(comparison.verdict).factor == Some(Side::Faster)
}

/// Says the verdict of a cell: `3.4x slower`, `same`, `slightly slower (0.8 %)`.
pub fn format_verdict(comparison: &Comparison, language: Language) -> String {
    let line = VerdictWords::from_verdict(comparison.verdict);
    let (word, size) =
        (language.word(line.word), language.translate_ratio(&format_ratio(compute_factor(comparison))));
    let starts = || {
        let starts = comparison.starts.map_or(0, |shared| shared.starts) as usize;
        language.counted(starts, "start", "starts")
    };
    match comparison.verdict {
        Verdict::SlowerInFewStarts => {
            say!(language, "{size} slower in {starts}", size = size, starts = starts())
        }
        Verdict::FasterInFewStarts => {
            say!(language, "{size} faster in {starts}", size = size, starts = starts())
        }
        Verdict::SlightlySlower | Verdict::SlightlyFaster => {
            format!("{word} ({})", format_percent((comparison.ratio - 1.0).abs()))
        }
        Verdict::Slower | Verdict::SlowerUnconfirmed | Verdict::Faster | Verdict::FasterUnconfirmed => {
            say!(language, "{size} {word}", size = size, word = word) + line.mark
        }
        Verdict::SlowerUnclear
        | Verdict::FasterUnclear
        | Verdict::TypicallySame
        | Verdict::Same
        | Verdict::Inconclusive => word.to_owned(),
    }
}

/// Formats the ratio of mean costs if its interval does not contain the typical ratio: `1.30x [1.12, 1.62]`.
pub fn mean_where_it_differs(comparison: &Comparison, language: Language) -> Option<String> {
    let Total { ratio: mean, low, high } = comparison.total?;
    let differs = !(low..=high).contains(&comparison.ratio) || comparison.verdict == Verdict::TypicallySame;
    differs.then(|| {
        format!(
            "{} {}",
            language.translate_ratio(&format_ratio(mean)),
            interval_of(low, high, mean, language)
        )
    })
}

/// Formats the interval of the factor in the verdict, or of the slowdown if it states none.
pub fn format_interval(comparison: &Comparison, language: Language) -> String {
    let (low, high, factor) = bounds(comparison);
    interval_of(low, high, factor, language)
}

/// Formats an interval, which is the same in every language; only its lack is put into words.
fn interval_of(low: f64, high: f64, factor: f64, language: Language) -> String {
    has_interval(ratio_interval(low, high, factor), language)
}

fn has_interval(text: String, language: Language) -> String {
    if text == NO_INTERVAL { language.word("no interval").to_owned() } else { text }
}

/// Formats the interval in few columns.
pub fn narrow_interval(comparison: &Comparison, language: Language) -> String {
    let (low, high, _) = bounds(comparison);
    has_interval(compact_interval(low, high), language)
}

fn bounds(comparison: &Comparison) -> (f64, f64, f64) {
    match is_speedup(comparison) {
        true => (1.0 / comparison.high, 1.0 / comparison.low, compute_factor(comparison)),
        false => (comparison.low, comparison.high, comparison.ratio),
    }
}

/// Finds the number of rounds that would decide a comparison that lacks rounds.
pub fn rounds_needed(comparison: &Comparison) -> Option<u32> {
    match comparison.needed? {
        Needed::Rounds(rounds) => Some(rounds),
        Needed::Starts(_) | Needed::LessNoise => None,
    }
}

/// Computes the smallest difference from the baseline that a comparison could have found, as a share.
pub fn smallest_difference(comparison_cell: &Cell) -> Option<f64> {
    let smallest = find_comparison(comparison_cell)?.smallest?;
    Some((smallest.differs - 1.0).abs()).filter(|share| share.is_finite())
}

/// Describes a cell in one line: `3.4x slower [3.2, 3.5]`, `not measured: not permitted: needs root`.
pub fn describe_cell(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Compared(comparison) => {
            format!("{} {}", format_verdict(comparison, language), format_interval(comparison, language))
        }
        Cell::Observed(_) => language.word(verdict_words(Shown::Observed).word).into(),
        Cell::Missing(found) => describe_missing(found, language),
    }
}

/// Says a cell without its interval and reasons: `3.4x slower`, `not measured`.
pub fn cell_word(cell: &Cell, language: Language) -> String {
    match cell {
        Cell::Compared(comparison) => format_verdict(comparison, language),
        Cell::Observed(_) | Cell::Missing(_) => language.word(verdict_words(cell.to_shown()).word).into(),
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
    verdict_words(missing.to_shown()).word
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
        Ending::Interrupted => {
            Some(message!("The session was stopped early: the report shows the rounds until then."))
        }
        Ending::BaselineFailed => {
            Some(message!("The session ended early: the baseline gave no value in ten rounds in a row."))
        }
        Ending::SubjectsFailed => {
            Some(message!("The session ended early: every other environment was given up."))
        }
        Ending::BrokenOff => Some(message!("The record breaks off: the report shows the rounds until then.")),
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

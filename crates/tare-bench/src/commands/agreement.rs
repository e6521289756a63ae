//! Agreement: every probe compared with the tool that it replaces, row by row, printed and kept in docs/method/agreement.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::agent::Workspace;
use crate::document::{self, Document, Lines, format_table_line};
use crate::duel::{Duel, Figure, Found, Placement, run_duel};
use crate::duels;
use crate::interrupt;
use crate::machine;
use crate::progress::Progress;
use crate::ratio::{Holds, Ratio};
use crate::setting::Setting;

const HEAD: &str = "\
# Agreement with the tools that tare replaces
Written by `./bench/agreement`, which says with `--help` how it is used; a row is one measurement of it.

Tare's probe and the tool run in turn on one machine, with the same parameters, on the same file system and, where the
row says so, both on one processor. In each round both run once, in random order, each in a process of its own:
tare through the agent of the release binary, as in a session. The ratio is tare's figure over the tool's, by the
engine of a session with one look at the end: the Hodges-Lehmann estimate over rounds, or the median where the rounds
are skewed or fall into groups, with a 95 % interval. tare's and the tool's own columns are medians over rounds.

`Holds` says *yes* where the whole interval lies where it must, *reached* where the interval reaches what is required
and goes beyond it too, **no** where it lies outside. What is only shown has no requirement: unpinned round trips sit
in one of two regimes for a whole run, by where the scheduler put the two ends. UnixBench is compared where somebody has
built it; it is under the GPL, and nothing here builds or fetches it. Its dhrystone and whetstone are another
compiler's code than tare's, which is why they may differ by a quarter: gcc does whetstone's fourth module while it
compiles, and puts the procedures of the second, sixth and seventh in place where tare calls them. Its spawn is linked with the C library at run time, tare's
is static, and a fork has less to copy: against UnixBench's own source linked statically the ratio was 1.071
[1.029, 1.134] in twelve rounds.

What a short loop of system calls takes depends on the state of the branch predictor as well, and so on code around the calls
that takes next to no time itself. On an AMD EPYC (Zen 4, with retpolines and safe returns) two C programs do the round trips of
TCP_RR over the pair of cards on one processor, and differ in two reads of the clock a round trip: the one that reads takes
12.9 us, the other 13.7, and with the C library's calls 13.9, as long as netperf. tare reads the clock around each round trip and
takes 12.9. There `net.rr TCP, veth, 1 CPU` has 1.08 of netperf's transactions [1.07, 1.09] in each of four measurements; it
had 0.95 on another EPYC, and 0.99 on an Intel machine.
";

const COLUMNS: &str = "\
| row | tool | figure | tare | tool's | tare / tool | must be | holds | rounds | day |
|---|---|---|---:|---:|---|---|---|---:|---|";

/// Which rows are wanted; all when nothing is named.
pub struct Choice {
    pub families: Vec<String>,
    /// Patterns of names, in which `*` matches anything.
    pub rows: Vec<String>,
    /// Rows that a run which broke off has measured are left out.
    pub resume: bool,
}

impl Choice {
    fn wants(&self, name: &str) -> bool {
        let all = self.families.is_empty() && self.rows.is_empty();
        all || self.rows.iter().any(|row| matches(row, name))
            || self.families.iter().any(|family| name.starts_with(family.as_str()))
    }

    /// Refuses names that match nothing.
    fn check(&self, names: &[String]) -> Result<(), String> {
        let unknown = |row: &&String| !names.iter().any(|name| matches(row, name));
        let means_nothing = |family: &&String| !names.iter().any(|name| name.starts_with(family.as_str()));
        match self.rows.iter().find(unknown).or(self.families.iter().find(means_nothing)) {
            Some(name) => Err(format!("no row is named '{name}'; there are\n{}", names.join("\n"))),
            None => Ok(()),
        }
    }
}

/// Matches a name against a pattern in which `*` matches anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| matches(tail, &rest[at..]))
}

/// Measures the rows wanted; whether all that were measured hold.
pub fn run_agreement(setting: &Setting, choice: &Choice, unixbench: Option<PathBuf>) -> Result<bool, String> {
    let mut duels = duels::list_all_duels(unixbench.as_deref());
    let order: Vec<String> = duels.iter().map(|duel| duel.name()).collect();
    choice.check(&order)?;
    let workspace = Workspace::from_setting(setting)?;
    let document = Document {
        path: document::document_path(&setting.docs, "agreement.md"),
        head: HEAD.into(),
        machine: machine::describe_machine(&workspace.start_agent(setting.seed)?),
        tools: machine::list_tool_versions(),
        columns: COLUMNS.into(),
        order,
    };
    println!("{}\n{}\n", document.machine, document.tools);
    let known = if choice.resume { recent(&document, setting.rounds()) } else { BTreeSet::new() };
    let is_wanted = |name: &str| choice.wants(name) && !known.contains(name);
    let mut wanted: Vec<_> = duels.iter_mut().filter(|duel| is_wanted(&duel.name())).collect();
    let mut progress = Progress::new(wanted.len(), setting.rounds(), setting.seconds());
    let mut all_hold = true;
    for duel in &mut wanted {
        println!("{} {}", progress.start_row(), duel.name());
        let found = run_duel(duel.as_mut(), &workspace, setting, &progress);
        interrupt::check_interrupted()?;
        progress.end_row(found.is_ok());
        print(duel.as_ref(), &found);
        all_hold &= found
            .iter()
            .flatten()
            .all(|(figure, ratio)| ratio.check_requirement(figure.required) != Holds::No);
        // Kept at once: a run that breaks off loses nothing but the row that it was at.
        if !setting.quick {
            document.write_rows(&BTreeMap::from([(duel.name(), lines(duel.as_ref(), found))]))?;
        }
    }
    if setting.quick {
        println!("\n--quick: nothing is kept");
        return Ok(true);
    }
    println!("\nkept in {}", document.path.display());
    Ok(all_hold)
}

/// Finds rows of the document that were measured today or yesterday, on this machine, in as many rounds.
fn recent(document: &Document, rounds: u32) -> BTreeSet<String> {
    let days = [machine::format_today(), machine::format_yesterday()];
    let is_recent = |line: &String| {
        let mut cells = line.trim_end_matches('|').rsplit('|').map(str::trim);
        let (day, counted) =
            (cells.next().unwrap_or_default(), cells.next().and_then(|n| n.parse::<u32>().ok()));
        days.iter().any(|known| known == day) && counted.is_some_and(|counted| counted >= rounds)
    };
    let measured = document.read_machine_rows().into_iter().filter_map(|(name, lines)| match lines {
        Lines::Measured(lines) if lines.iter().all(is_recent) => Some(name),
        _ => None,
    });
    measured.collect()
}

/// Prints the result of a row at once.
fn print(duel: &dyn Duel, found: &Found) {
    let name = duel.name();
    match found {
        Err(reason) => println!("{name:32} not measured: {reason}"),
        Ok(figures) => {
            for (figure, ratio) in figures {
                println!(
                    "{name:32} {:20} {:>24} {:>12} / {:<12} {:14} {}",
                    figure.name,
                    ratio.to_text(),
                    format_number(ratio.tare),
                    format!("{} {}", format_number(ratio.tool), figure.unit),
                    figure.required.to_text(),
                    ratio.check_requirement(figure.required).to_text(),
                );
            }
        }
    }
}

fn lines(duel: &dyn Duel, found: Found) -> Lines {
    match found {
        Err(reason) => Lines::Absent(reason.lines().collect::<Vec<_>>().join(" ")),
        Ok(figures) => {
            let tool = match duel.placement() {
                Placement::Free => duel.describe_tool(),
                Placement::Pinned => format!("{}; both on one processor", duel.describe_tool()),
                Placement::Apart => format!("{}; an end on each of two processors", duel.describe_tool()),
            };
            let row = |(figure, ratio): &(Figure, Ratio)| {
                format_table_line([
                    format!("`{}`", duel.name()).as_str(),
                    &tool,
                    figure.name,
                    &format_number(ratio.tare),
                    &format!("{} {}", format_number(ratio.tool), figure.unit),
                    &ratio.to_text(),
                    &figure.required.to_text(),
                    ratio.check_requirement(figure.required).to_text(),
                    &ratio.rounds.to_string(),
                    &machine::format_today(),
                ])
            };
            Lines::Measured(figures.iter().map(row).collect())
        }
    }
}

/// Formats a number with four significant digits.
pub fn format_number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { libm::log10(value.abs()).floor() as i32 };
    format!("{value:.*}", (3 - digits).clamp(0, 6) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let mut names: Vec<String> = duels::list_all_duels(None).iter().map(|duel| duel.name()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| !name.contains('`') && !name.contains('|')));
    }

    #[test]
    fn rows_are_chosen_by_family_or_name() {
        let choice = |families: &[&str], rows: &[&str]| Choice {
            families: families.iter().map(|f| (*f).to_owned()).collect(),
            rows: rows.iter().map(|r| (*r).to_owned()).collect(),
            resume: false,
        };
        assert!(choice(&[], &[]).wants("sys.mix"));
        assert!(choice(&["file"], &[]).wants("file.seq write 4KiB"));
        assert!(!choice(&["file"], &[]).wants("sys.mix"));
        assert!(!choice(&[], &["sys.mix"]).wants("sys.mix 2"));
        assert!(choice(&[], &["net.*1 CPU"]).wants("net.rr UDP, veth, 1 CPU"));
        assert!(!choice(&[], &["net.*1 CPU"]).wants("net.rr UDP, 2 CPUs"));
        let names = ["sys.mix".to_owned()];
        assert!(choice(&["net"], &[]).check(&names).is_err());
        assert!(choice(&["sys"], &["sys.mix"]).check(&names).is_ok());
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [0.0, 0.66123, 1512.34, 145_374.7, 25.8].map(format_number),
            ["0.000", "0.6612", "1512", "145375", "25.80"]
        );
    }
}

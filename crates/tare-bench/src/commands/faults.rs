//! Faults by groups: the faults that sessions of each meet, and one table of all.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tare_bench::kills::count::{self, Counts};
use tare_bench::kills::faults;
use tare_bench::kills::injected::{self, CALLS, Whose};
use tare_bench::kills::liar::{self, LIES, SLOW};
use tare_bench::kills::machine::{self, DISKS};
use tare_bench::kills::site::Site;
use tare_data::generator::Generator;

use crate::interrupt;
use crate::setting::find_tare_binary;

/// The moments of faults of the machine are drawn from this.
const SPAN_MS: u64 = 2_500;
/// Disks of each kind, from small to large.
const SIZES: [u64; 8] = [8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 6 << 20, 12 << 20, 24 << 20];
/// Differences of clocks, in seconds: a minute, a step back, a day, years.
const STEPS: [i64; 4] = [60, -60, 86_400, 300_000_000];

/// Kind of fault that sessions meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Group {
    Random,
    Host,
    Everybody,
    Liar,
    Power,
    Disk,
    Clock,
    Writers,
}

/// Sessions that meet faults.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// Groups of faults, comma-separated. All of them unless given.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    only: Vec<Group>,
    /// Sessions of the random group, which meet each of its faults in turn.
    #[arg(long, value_name = "N", default_value_t = 90)]
    rounds: u32,
    /// Times that the power is cut, the clock is another, others want to write.
    #[arg(long, value_name = "N", default_value_t = 20)]
    times: u32,
    /// Interval of the calls that fail: every N-th does.
    #[arg(long, value_name = "N", default_value_t = 1)]
    step: u32,
    /// Seed of environments and moments, to repeat them.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Environments of the random group, comma-separated.
    #[arg(long = "in", value_name = "ENVIRONMENTS", value_delimiter = ',', default_values = faults::TARGETS)]
    environments: Vec<String>,
    /// The tare that meets them. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk in which sessions build.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

/// Has sessions meet faults; false where something was wrong.
pub fn run_faults(request: &Request) -> Result<bool, String> {
    let tare = find_tare_binary(request.tare.as_deref())?;
    let folder =
        tempfile::Builder::new().prefix("faults-").tempdir_in(&request.scratch).map_err(|e| e.to_string())?;
    let site = Site { tare: &tare, folder: folder.path() };
    let mut counts = Counts::new();
    site.make_folders().and_then(|()| meet(request, site, &mut counts)).map_err(|e| e.to_string())?;
    print!("\n{}", count::render_counts(&counts));
    counts.iter().for_each(|(name, count)| count.wrong.iter().for_each(|wrong| println!("{name}: {wrong}")));
    Ok(count::is_well(&counts))
}

fn meet(request: &Request, site: Site<'_>, counts: &mut Counts) -> io::Result<()> {
    let report = &mut |line: &str| {
        println!("{line}");
        interrupt::check_interrupted().map_err(io::Error::other)
    };
    let is_chosen = |group| request.only.is_empty() || request.only.contains(&group);
    if is_chosen(Group::Random) {
        let targets: Vec<&str> = request.environments.iter().map(String::as_str).collect();
        let (rounds, seed) = (request.rounds, request.seed);
        counts.extend(faults::Faults { site, targets: &targets, rounds, seed }.run_rounds(report)?);
    }
    for (group, whose) in [(Group::Host, Whose::Host), (Group::Everybody, Whose::Everybody)] {
        if !is_chosen(group) {
            continue;
        }
        if !injected::is_possible() {
            report("strace is not installed: no call fails")?;
            continue;
        }
        for (calls, error) in CALLS {
            let name = calls.split(',').next().unwrap_or_default();
            let count = counts.entry(format!("{name} {error}, {}", whose.words())).or_default();
            injected::inject_failures(&site, (calls, error), whose, request.step, count, report)?;
        }
    }
    if is_chosen(Group::Liar) {
        let lies: Vec<&str> = LIES.into_iter().chain(SLOW).collect();
        let actor = format!("{} lie", std::env::current_exe()?.display());
        let count = counts.entry(format!("{} lies", lies.len())).or_default();
        liar::run_lies(&site, &lies, &actor, count, report)?;
    }
    of_machine(request, &site, &is_chosen, counts, report)
}

fn of_machine(
    request: &Request,
    site: &Site<'_>,
    is_chosen: &dyn Fn(Group) -> bool,
    counts: &mut Counts,
    report: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut generator = Generator::for_part(request.seed, "machine");
    let times = request.times;
    let mut moment = || Duration::from_millis(generator.draw_below(SPAN_MS));
    if is_chosen(Group::Power) {
        let count = counts.entry("power is cut".into()).or_default();
        for at in 0..times {
            machine::cut_power(site, moment(), count)?;
            report(&format!("power is cut, {} of {times}: {:?}", at + 1, count.wrong))?;
        }
    }
    if is_chosen(Group::Disk) {
        for disk in DISKS {
            let count = counts.entry(format!("full disk: {disk}")).or_default();
            for bytes in SIZES {
                machine::full_disk(site, disk, bytes, count)?;
                report(&format!("disk of {} kB for {disk}: {:?}", bytes >> 10, count.wrong))?;
            }
        }
    }
    if is_chosen(Group::Clock) {
        let count = counts.entry("another clock".into()).or_default();
        for at in 0..times {
            let seconds = STEPS[at as usize % STEPS.len()];
            machine::run_with_shifted_clock(site, seconds, moment(), count)?;
            report(&format!("clock {seconds} s off, {} of {times}: {:?}", at + 1, count.wrong))?;
        }
    }
    if is_chosen(Group::Writers) {
        let count = counts.entry("two more writers".into()).or_default();
        for at in 0..times {
            machine::two_writers(site, moment(), count)?;
            report(&format!("two more writers, {} of {times}: {:?}", at + 1, count.wrong))?;
        }
    }
    Ok(())
}

//! Files of a kernel that an environment may have covered with anything, and facts from them: parsed, judged and shown.

use tare_analysis::here::changes::choose_changes;
use tare_analysis::here::costs::compute_costs;
use tare_analysis::here::costs::pair::pair_with;
use tare_analysis::here::limits::read_limits;
use tare_analysis::here::recognise_layers;
use tare_data::facts::{Facts, Surroundings};
use tare_probes::here::texts::parse_as_every_file;
use tare_report::here::{Here, render_here_json, render_here_terminal};
use tare_report::language::Language;

use crate::target::Target;

/// Columns of the text that is rendered.
const WIDTH: usize = 80;
/// Lines that a text may have.
const MOST_LINES: usize = 14;

pub static TARGET: Target = Target {
    name: "surroundings",
    corpus,
    words: &[
        " - cgroup2 cgroup2 rw",
        "/docker/",
        "0::/../..",
        "\\040",
        "burst.gaps\t",
        "burst.ran\t",
        "price.getppid\t",
        "limit.cpu\t",
        "namespace.pid\t",
        "place.work.type\t",
        "\u{1b}[1m",
        "1e308",
        "nan",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let table =
        "1 0 0:9 / / rw - ext4 /dev/sda rw\n2 1 0:3 /a\\040b /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let groups = "4:memory:/docker/a1\n3:cpu,cpuacct:/x\n0::/y/z\n";
    let stat = "17 (a) b (c)) R 1 0\n";
    let facts = "kernel.name\tLinux\nnamespace.pid\t4026532800\nnamespace.mnt\t4026532801\nlimit.cpu\t0.5\ncpu.allowed\t2\n\
                 burst.threads\t2\nburst.gaps\t25000-100000 125000-200000 225000-300000\nburst.ran\t50000 50000 50000\nprice.getppid\t1 2 3 4 5 6 7 8\n\
                 cycle.addition\t0.5 0.5 0.5 0.5 0.5 0.5\ncycle.multiplication\t1.5 1.5 1.5 1.5 1.5 1.5\n\
                 cost.sync.work\t9 9 9 9 9 9\ncost.write.work\t1 1 1 1 1 1\nplace.work.type\text4\n";
    [table, groups, stat, facts].map(|text| text.as_bytes().to_vec()).into()
}

fn run(input: &[u8]) -> Result<String, String> {
    let noted = parse_as_every_file(input);
    // A byte that is not UTF-8 takes three once it is.
    let read = String::from_utf8_lossy(input).len();
    if noted > 4 * read + 1_000 {
        return Err(format!("{noted} bytes of facts from {read} bytes"));
    }
    let mut facts = Facts::default();
    for line in String::from_utf8_lossy(input).lines() {
        if let Some((key, value)) = line.split_once('\t') {
            facts.add_fact(key, value);
        }
    }
    let found = recognise_layers(&facts);
    let limits = read_limits(&facts);
    let costs = compute_costs(&facts, &found);
    let changes = choose_changes(&facts, &found, &limits, &costs);
    let pair = pair_with(&facts, &facts);
    let surroundings = Surroundings { facts, lost: Vec::new(), took_ms: 1 };
    let here = Here {
        surroundings: &surroundings,
        found: &found,
        limits: &limits,
        costs: &costs,
        changes: &changes,
        pair: Some(&pair),
        command: None,
    };
    let text = render_here_terminal(&here, false, WIDTH, Language::English);
    if text.contains('\u{1b}') {
        return Err("an escape sequence is shown".into());
    }
    // The first sentence names a kernel, however long its name is.
    let named = |key: &str| surroundings.facts.get(key).map_or(0, str::len);
    let long: usize = ["kernel.name", "kernel.release", "vdso.release", "cpuid.brand", "cpuinfo.model"]
        .map(named)
        .iter()
        .sum();
    if long < WIDTH && text.lines().count() > MOST_LINES {
        return Err(format!("{} lines", text.lines().count()));
    }
    let json = render_here_json(&here);
    if serde_json::from_str::<serde_json::Value>(&json).is_err() {
        return Err("the document is not JSON".into());
    }
    let layers: Vec<&str> = found.layers.iter().map(|layer| layer.name).take(4).collect();
    Ok(format!("{} {}", layers.join(" "), costs.len().min(9)))
}

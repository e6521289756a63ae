//! First screens of made-up places: where, at most three lines of costs, one change, and what was not told.

use insta::assert_snapshot;
use tare_analysis::here::changes::choose_changes;
use tare_analysis::here::costs::compute_costs;
use tare_analysis::here::limits::read_limits;
use tare_analysis::here::recognise_layers;
use tare_data::facts::{Facts, HowLost, Lost, Surroundings};

use super::{Here, render_here_terminal};
use crate::language::Language;

const WIDTH: usize = 80;

/// Facts of a KVM guest whose cycle takes half a nanosecond, without namespaces of its own.
const MACHINE: [(&str, &str); 21] = [
    ("kernel.name", "Linux"),
    ("kernel.release", "6.18.1"),
    ("vdso.release", "6.18.1"),
    ("vdso", "present"),
    ("program.machine", "x86_64"),
    ("cpuinfo.kind", "x86"),
    ("cpuid.hypervisor", "yes"),
    ("cpuid.interfaces", "KVMKVMKVM"),
    ("mounts", "read"),
    ("root.mount", "whole"),
    ("root.is_mount", "yes"),
    ("tracer", "0"),
    ("ptrace.request", "done"),
    ("process.user", "0"),
    ("process.users", "0 0 4294967295"),
    ("cpu.allowed", "2"),
    ("cpu.online", "2"),
    ("cycle.addition", "0.5 0.5 0.5 0.5 0.5 0.5"),
    ("cycle.multiplication", "1.5 1.5 1.5 1.5 1.5 1.5"),
    ("place.work.type", "ext4"),
    ("place.own.type", "tmpfs"),
];
const FIRST: [(&str, u64); 8] = [
    ("cgroup", 4_026_531_835),
    ("ipc", 4_026_531_839),
    ("mnt", 4_026_531_832),
    ("net", 4_026_531_833),
    ("pid", 4_026_531_836),
    ("time", 4_026_531_834),
    ("user", 4_026_531_837),
    ("uts", 4_026_531_838),
];
const BOXED: [&str; 5] = ["mnt", "pid", "ipc", "uts", "net"];

/// Makes eight blocks of a time.
fn blocks(ns: &str) -> String {
    [ns; 8].join(" ")
}

/// Renders the first screen of a place by its own namespaces, facts and times in ns.
fn screen(own: &[&str], more: &[(&str, &str)], times: &[(&str, &str)]) -> String {
    let mut facts = Facts::default();
    for (kind, first) in FIRST {
        let number = if own.contains(&kind) { 4_026_532_800 } else { first };
        facts.add_fact(format!("namespace.{kind}"), number.to_string());
    }
    let facts_of = MACHINE.iter().chain(more).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    facts.0.extend(facts_of);
    facts.0.extend(times.iter().map(|(key, ns)| ((*key).to_owned(), blocks(ns))));
    let found = recognise_layers(&facts);
    let limits = read_limits(&facts);
    let costs = compute_costs(&facts, &found);
    let changes = choose_changes(&facts, &found, &limits, &costs);
    let lost = vec![Lost { step: "landlock", how: HowLost::Signal(31) }];
    let surroundings = Surroundings { facts, lost, took_ms: 1 };
    let here = Here {
        surroundings: &surroundings,
        found: &found,
        limits: &limits,
        costs: &costs,
        changes: &changes,
        pair: None,
        command: None,
    };
    let text = render_here_terminal(&here, false, WIDTH, Language::English);
    assert!(text.lines().count() <= 14, "{text}");
    text
}

const USUAL: [(&str, &str); 5] = [
    ("price.getppid", "180"),
    ("price.new-page", "1700"),
    ("price.fork", "200000"),
    ("price.open", "900"),
    ("price.stat", "700"),
];

#[test]
fn a_job_of_continuous_integration() {
    let more = [
        ("mounts.signs", "docker-files"),
        ("marks", "/.dockerenv /var/run/docker.sock"),
        ("variables", "CI GITHUB_ACTIONS"),
        ("seccomp.mode", "2"),
        ("seccomp.filters", "1"),
        ("network", "loopback"),
    ];
    let syncs = [("cost.sync.work", "2800000"), ("cost.write.work", "16000")];
    assert_snapshot!(screen(&BOXED, &more, &[&USUAL[..], &syncs].concat()));
}

#[test]
fn a_sandbox_of_gvisor() {
    let more =
        [("kernel.release", "4.19.0-gvisor"), ("kernel.version", "#1 SMP Sun Jan 10 15:06:54 PST 2016")];
    let times = [("price.getppid", "17000"), ("price.open", "57000"), ("price.stat", "15000")];
    assert_snapshot!(screen(&[], &more, &times));
}

#[test]
fn a_share_of_windows() {
    let more = [
        ("kernel.release", "6.6.114.1-microsoft-standard-WSL2"),
        ("kernel.osrelease", "6.6.114.1-microsoft-standard-WSL2"),
        ("vdso.release", "6.6.114"),
        ("mounts.signs", "drvfs"),
        ("cpuid.interfaces", "Microsoft Hv"),
        ("process.user", "1000"),
        ("place.work.device", "0:70"),
        ("place.home.device", "8:32"),
    ];
    let names = [("cost.name.work", "900000"), ("cost.name.own", "1000")];
    assert_snapshot!(screen(&BOXED[..4], &more, &[&USUAL[..], &names].concat()));
}

#[test]
fn an_unprivileged_container_of_lxc() {
    let more =
        [("mounts.signs", "lxcfs"), ("process.users", "0 100000 65536"), ("marks.control_groups", "lxc")];
    assert_snapshot!(screen(&[&BOXED[..], &["user"]].concat(), &more, &USUAL));
}

#[test]
fn a_quota_of_half_a_processor() {
    let more = [
        ("mounts.signs", "dev-64m"),
        ("limit.cpu", "0.5"),
        ("limit.memory", "209715200"),
        ("cpu.throttled", "0.4"),
        ("burst.gaps", "25000-100000 125000-200000 225000-300000"),
        ("burst.ran", "50000 50000 50000"),
        ("burst.threads", "2"),
    ];
    assert_snapshot!(screen(&BOXED, &more, &USUAL));
}

#[test]
fn a_machine_with_noisy_neighbours() {
    assert_snapshot!(screen(&[], &[("cpu.stolen", "0.22")], &USUAL));
}

#[test]
fn an_emulator_of_programs() {
    let more =
        [("cpuinfo.kind", "arm"), ("ptrace.request", "ENOSYS"), ("vdso", "absent"), ("cpuid.interfaces", "")];
    let times = [("cost.new_code", "7000"), ("cost.known_code", "67"), ("price.getppid", "700")];
    assert_snapshot!(screen(&[], &more, &times));
}

//! Control groups: environments are below those of the process that enters them, so that its limits are theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tare_lab::host::mounts::{self, Mount};

use crate::bench::actor::Actor;
use crate::bench::{Bench, TARE, parse_if_ready};

const ENVIRONMENTS: [&str; 8] =
    ["native", "container", "bwrap", "nspawn", "gvisor", "oci:runc", "oci:crun", "podman"];

/// Groups of a name below this process's own: of each hierarchy its kinds, and the folder.
struct Groups {
    name: String,
    made: Vec<(String, PathBuf)>,
}

impl Groups {
    fn make(purpose: &str) -> Groups {
        let name = format!("{purpose}-{}", std::process::id());
        let mounts = mounts::list_mounts().unwrap();
        let make = |line: &str| {
            let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
            let is_of = |mount: &&Mount| match kinds {
                "" => mount.filesystem == "cgroup2",
                _ => mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == kinds),
            };
            let group = mounts.iter().find(is_of)?.point.join(path.trim_start_matches('/')).join(&name);
            // A group of cpuset takes no process before it has processors.
            (kinds != "cpuset" && fs::create_dir(&group).is_ok()).then(|| (kinds.to_owned(), group))
        };
        let made = fs::read_to_string("/proc/self/cgroup").unwrap().lines().filter_map(make).collect();
        Groups { name, made }
    }

    /// Lists what a process is in without being below these.
    fn list_others(&self, groups: &str) -> Vec<String> {
        let is_other = |line: &&str| {
            let (kinds, path) = line.split_once(':').unwrap().1.split_once(':').unwrap();
            self.made.iter().any(|(made, _)| made == kinds) && !path.contains(&self.name)
        };
        groups.lines().filter(is_other).map(str::to_owned).collect()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.made.iter().for_each(|(_, group)| drop(fs::remove_dir(group)));
    }
}

#[test]
fn environments_stay_below_the_groups_of_the_process_that_enters_them() {
    let test = "environments_stay_below_the_groups_of_the_process_that_enters_them";
    let groups = Groups::make("shell");
    if groups.made.is_empty() {
        return println!("SKIPPED {test}: no control group may be made");
    }
    let bench = Bench::new();
    let is_ready = |text: &&str| parse_if_ready(test, text).is_some();
    let ready: Vec<&str> = ENVIRONMENTS.into_iter().filter(is_ready).collect();
    let mut actor = Actor::start_in(&bench, &ready, groups.made.iter().map(|(_, group)| group));
    actor.wait_until_ready();
    let session = fs::read_dir(bench.scratch_folder()).unwrap().next().unwrap().unwrap().file_name();
    let mark = format!("TARE_SESSION={}/", session.to_str().unwrap().strip_prefix("tare-").unwrap());
    let mut found = 0;
    for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|word| word.starts_with(mark.as_bytes())) {
            let of = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            let words = String::from_utf8_lossy(&fs::read(process.join("cmdline")).unwrap_or_default())
                .replace('\0', " ");
            assert_eq!(groups.list_others(&of), [""; 0], "{words}");
            found += 1;
        }
    }
    actor.dismiss();
    assert!(found >= ready.len(), "{found} processes of {}", ready.len());
    assert!(
        groups
            .made
            .iter()
            .all(|(_, group)| fs::read_dir(group).unwrap().flatten().all(|entry| !entry.path().is_dir()))
    );
}

/// Limits a group to some microseconds of each 100 ms; None where that is not allowed.
fn limit_to(quota_us: u32, groups: &Groups) -> Option<&PathBuf> {
    let is_limited = |group: &PathBuf| {
        let write =
            |file: &str, limit: &str| group.join(file).exists() && fs::write(group.join(file), limit).is_ok();
        write("cpu.cfs_quota_us", &quota_us.to_string()) || write("cpu.max", &format!("{quota_us} 100000"))
    };
    groups.made.iter().map(|(_, group)| group).find(|group| is_limited(group))
}

/// Measures in an environment that a script launches, and in one that `env` does.
fn measure_launched(bench: &Bench, name: &str, script: &str, measured: &[&str]) -> Value {
    let file = bench.scratch_folder().join(format!("{name}.sh"));
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let environments = format!("exec:{}?name={name},exec:env?name=plain", file.display());
    let output = Command::new(TARE)
        .args(["run", "--json", "--in", &environments])
        .arg(format!("--record={}", bench.scratch_folder().join(format!("{name}.tare")).display()))
        .arg(format!("--scratch={}", bench.scratch_folder().display()))
        .args(measured)
        .env("XDG_STATE_HOME", bench.state_folder())
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Lists the warnings of some kinds about an environment.
fn list_warnings(document: &Value, name: &str, kinds: &[&str]) -> Vec<String> {
    let warnings = document["warnings"].as_array().unwrap().iter();
    let of = warnings.filter(|of| of["environment"] == name);
    let found = of.map(|of| of["warning"]["kind"].as_str().unwrap().to_owned());
    found.filter(|kind| kinds.contains(&kind.as_str())).collect()
}

#[test]
fn helpers_that_work_while_others_are_measured_are_told_of() {
    let bench = Bench::new();
    let script = "(while :; do :; done) & (while :; do :; done) & exec \"$@\"";
    let document =
        measure_launched(&bench, "helped", script, &["full", "--only", "cpu.primes", "--rounds", "4"]);
    let told = |name: &str| list_warnings(&document, name, &["helpers"]);
    assert_eq!([told("helped"), told("plain"), told("native")], [vec!["helpers".to_owned()], vec![], vec![]]);
    let rows = document["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["probe"] == "helpers").unwrap();
    let processors = |cell: &Value| cell["observed"]["median"].as_f64().unwrap();
    let cells = row["cells"].as_array().unwrap();
    assert!(processors(&cells[0]) >= 0.1 && processors(&cells[1]) < 0.1, "{row}");
}

#[test]
fn an_environment_that_its_quota_stops_is_never_plainly_the_same() {
    let test = "an_environment_that_its_quota_stops_is_never_plainly_the_same";
    let groups = Groups::make("quota");
    let Some(group) = limit_to(5_000, &groups) else {
        return println!("SKIPPED {test}: no control group may have a quota");
    };
    let bench = Bench::new();
    let script = format!("echo $$ > '{}' && exec \"$@\"", group.join("cgroup.procs").display());
    let document =
        measure_launched(&bench, "limited", &script, &["full", "--only", "cpu.primes", "--rounds", "4"]);
    let mut compared = 0;
    for cell in document["rows"].as_array().unwrap().iter().flat_map(|row| row["cells"].as_array().unwrap()) {
        if cell["comparison"].is_object() {
            let is_limited = cell["environment"] == "limited";
            assert_eq!(cell["reach"], if is_limited { "stopped" } else { "short" }, "{cell}");
            assert!(!is_limited || cell["stop"]["factor"] == 20.0, "{}", cell["stop"]);
            compared += 1;
        }
    }
    assert!(compared >= 2, "{document}");
    let kinds =
        |name: &str| list_warnings(&document, name, &["throttled", "baseline_throttled", "limits_differ"]);
    assert_eq!(kinds("limited"), ["throttled"]);
    assert_eq!((kinds("plain"), kinds("native")), (vec![], vec![]));
    let is_named = |document: &Value, name: &str| {
        let all = document["plan"]["environments"].as_array().unwrap();
        let of = all.iter().find(|of| of["name"] == name).unwrap();
        of["short_description"].as_str().unwrap().contains("CPU 0.05")
    };
    assert_eq!(["limited", "plain"].map(|name| is_named(&document, name)), [true, false]);
    let session = tare_record::read_session(&bench.scratch_folder().join("limited.tare")).unwrap().session;
    let of_pairs = |name: &'static str| {
        session.trials.iter().filter(move |of| of.target == name && of.partner.is_some())
    };
    for name in ["limited", "plain"] {
        assert!(of_pairs(name).all(|trial| trial.inside.run_delay_ns.is_some()), "how long {name} waited");
    }
    // A launcher joins its group where commands of one's own have layers over this machine's files, too.
    let of_command = measure_launched(&bench, "command", &script, &["-r", "2", "--", "true"]);
    assert!(is_named(&of_command, "command"), "{}", of_command["plan"]);
}

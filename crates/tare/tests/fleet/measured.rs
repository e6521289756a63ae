//! Measured fleets: sessions on three nodes, a node that dies, a slow node, and an ordinary user.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tare_data::session::Session;

use crate::cluster::{Cluster, NOBODY, NODES, Said};

const WAIT: Duration = Duration::from_secs(60);
/// Study that takes no time.
const STUDY: &str = "name='tiny'\ntitle='x'\nabout='x'\nbudget='5s'\n[[case]]\nprobe='sys.getppid'\n";

fn session(record: &Path) -> Session {
    tare_record::read_session(record).unwrap_or_else(|e| panic!("{}: {e}", record.display())).session
}

/// Computes the median of a case's headline metric in the baseline.
fn figure(record: &Path, probe: &str) -> f64 {
    let findings = tare_analysis::compute_findings(&session(record), &tare_analysis::Options::default());
    let row = findings.rows.iter().find(|row| row.headline && row.probe == probe).unwrap();
    row.baseline.as_ref().unwrap().median
}

/// Collects the output of a fleet's jobs, to explain why a test failed.
fn logs(folder: &Path) -> String {
    let mut folders = vec![folder.join("cells")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.extension().is_some_and(|ending| ending == "log") {
                true => {
                    text +=
                        &format!("{}: {}\n", path.display(), fs::read_to_string(&path).unwrap_or_default())
                }
                false if path.is_dir() => folders.push(path),
                false => {}
            }
        }
    }
    text
}

/// Kills the session of a node as the kernel's memory killer would, in the middle of its rounds.
fn kill_session(folder: &Path, node: &str, session: u32) {
    let part = folder.join(format!("cells/{node}/{session}.part"));
    let marks =
        [format!("--node\0{node}\0"), format!("--session\0{session}\0"), folder.display().to_string()];
    let end = Instant::now() + WAIT;
    loop {
        assert!(Instant::now() < end, "{} never began", part.display());
        std::thread::sleep(Duration::from_millis(5));
        let rounds = fs::read_to_string(&part).map_or(0, |text| {
            [r#"{"end":"#, r#"{"pair":"#].map(|line| text.matches(line).count()).iter().sum()
        });
        if rounds < 4 {
            continue;
        }
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            if marks.iter().all(|mark| words.contains(mark)) {
                let pid = entry.file_name().to_str().unwrap().parse().unwrap();
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        return;
    }
}

/// Lists the files of a fleet with this extension, by node.
fn records(folder: &Path, ending: &str) -> BTreeMap<&'static str, BTreeSet<String>> {
    let of = |node: &&'static str| {
        let entries = fs::read_dir(folder.join("cells").join(node)).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        (*node, names.filter(|name| name.ends_with(ending)).collect())
    };
    NODES.iter().map(of).collect()
}

#[test]
fn a_fleet_is_measured_whatever_dies_and_what_is_slow_shows() {
    let Some(cluster) =
        Cluster::start("a_fleet_is_measured_whatever_dies_and_what_is_slow_shows", Some("n2"))
    else {
        return;
    };
    fs::write(cluster.path("tiny.toml"), STUDY).unwrap();
    let folder = cluster.path("fleet");
    let words = [
        "fleet",
        "run",
        "tiny.toml",
        "--on",
        "slurm",
        "--into",
        "fleet",
        "--sessions",
        "2",
        "--in",
        "native",
        // More than a second, in which one is killed, however busy this machine is.
        "--rounds",
        "60",
        "--at-once",
        "2",
    ];
    let mut run = cluster.tare_command(0, &words);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    kill_session(&folder, "n1", 1);
    let said = Said::from_output(run.wait_with_output().unwrap());
    assert_eq!(said.code, Some(3), "{said:?}");
    let printed = logs(&folder);
    assert!(said.out.contains("5 of 6 sessions on 3 nodes"), "{said:?} {printed}");
    let why = "n1 session 1  broke off: its job ended before its session did: FAILED (";
    assert!(said.out.contains(why), "{said:?}");
    let before = records(&folder, ".tare");
    assert_eq!(before["n1"], ["2.tare".to_owned()].into());
    // Its measurements so far are kept.
    assert!(!session(&folder.join("cells/n1/1.part")).trials.is_empty());
    let said = cluster.run_tare(0, &["fleet", "run", "fleet"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("6 of 6 sessions on 3 nodes\n"), "{said:?}");
    assert_eq!(said.err.matches("submitted: ").count(), 1, "only what was missing: {said:?}");
    let mut expected = before;
    expected.get_mut("n1").unwrap().insert("3.tare".into());
    assert_eq!(records(&folder, ".tare"), expected);
    every_record_knows_its_cell(&folder);
    slow_ones_show(&folder);
    another_plan_is_not_measured(&cluster, &folder);
}

fn every_record_knows_its_cell(folder: &Path) {
    let (mut sessions, mut machines) = (BTreeSet::new(), BTreeSet::new());
    let parquet = records(folder, ".parquet");
    for (node, names) in records(folder, ".tare") {
        for name in names {
            let header = session(&folder.join("cells").join(node).join(&name)).header;
            let (identity, fleet) = (header.identity.unwrap(), header.fleet.unwrap());
            assert_eq!((fleet.node.as_str(), format!("{}.tare", fleet.session)), (node, name.clone()));
            assert_eq!(header.host.get("host.name"), Some(node));
            assert_eq!(header.host.get("slurm.node"), Some(node));
            assert!(parquet[node].contains(&name.replace("tare", "parquet")));
            machines.insert(identity.machine);
            assert!(sessions.insert(identity.session));
        }
    }
    assert_eq!((sessions.len(), machines.len()), (6, NODES.len()));
}

fn slow_ones_show(folder: &Path) {
    let cell = |node: &str| figure(&folder.join(format!("cells/{node}/2.tare")), "sys.getppid");
    let others = cell("n1").max(cell("n3"));
    assert!(cell("n2") > 1.5 * others, "{} against {others}", cell("n2"));
}

fn another_plan_is_not_measured(cluster: &Cluster, folder: &Path) {
    let plan = folder.join("plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    let hash = "0".repeat(64);
    let cell = ["fleet", "cell", "fleet", "--node", "n1", "--session", "9", "--plan", &hash];
    let said = cluster.run_tare(0, &cell);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(said.err.contains("is not the one that was submitted"), "{said:?}");
    assert!(fs::read_to_string(folder.join("cells/n1/9.why")).unwrap().contains("submitted"));
    assert!(!folder.join("cells/n1/9.part").exists());
    assert_eq!(fs::read_to_string(&plan).unwrap(), text);
}

#[test]
fn an_ordinary_user_without_a_home_measures_a_fleet_and_stops_it() {
    let Some(cluster) = Cluster::start("an_ordinary_user_without_a_home_measures_a_fleet_and_stops_it", None)
    else {
        return;
    };
    let mine = cluster.folder_of(NOBODY, "mine");
    let mine = mine.to_str().unwrap();
    let scratch = format!("{mine}/scratch");
    cluster.folder_of(NOBODY, "mine/scratch");
    let into = format!("{mine}/fleet");
    let words =
        ["fleet", "run", "quick", "--on", "slurm", "--into", &into, "--sessions", "1", "--in", "native"];
    let more = ["--only", "sys.getppid", "--scratch", &scratch];
    let said = cluster.run_tare(NOBODY, &[&words[..], &more[..], &["--rounds", "6"]].concat());
    assert_eq!(said.code, Some(0), "{said:?} {}", logs(Path::new(&into)));
    assert!(said.out.starts_with("3 of 3 sessions on 3 nodes\n"), "{said:?}");
    // Journals had a place, and it is empty again.
    let state = format!("{scratch}/tare-state-{NOBODY}");
    assert_eq!(
        fs::read_dir(&state).unwrap().flatten().filter(|entry| entry.file_name() != "begun").count(),
        0
    );
    let into = format!("{mine}/stopped");
    let words =
        ["fleet", "run", "quick", "--on", "slurm", "--into", &into, "--sessions", "1", "--in", "native"];
    let mut run = cluster.tare_command(NOBODY, &[&words[..], &more[..], &["--rounds", "100000"]].concat());
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + WAIT;
    while !Path::new(&format!("{into}/cells/n3/1.part")).exists() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(run.id() as i32).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let said = Said::from_output(run.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.out.contains("0 of 3 sessions on 3 nodes"), "{said:?}");
    for node in NODES {
        assert!(Path::new(&format!("{into}/cells/{node}/1.why")).exists(), "{node}: {said:?}");
        assert!(!Path::new(&format!("{into}/cells/{node}/1.job")).exists(), "{node}");
    }
}

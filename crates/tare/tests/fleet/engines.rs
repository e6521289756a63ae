//! Engines without a cluster: machines reached by ssh, a user-defined engine, and printed jobs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cluster::Said;
use crate::refusals::find_tare;

/// Stand-in for ssh: every machine is this one.
const SSH: &str = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nexec sh -c \"$*\"\n";

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        let folder = tempfile::Builder::new().prefix("engines-").tempdir_in("/var/tmp").unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let ssh = folder.path().join("bin/ssh");
        fs::write(&ssh, SSH).unwrap();
        fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).unwrap();
        Place(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn run_tare(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(find_tare());
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).env("PATH", path);
        command.env("XDG_STATE_HOME", self.path("state")).env("NO_COLOR", "1").env("LC_ALL", "C");
        Said::from_output(command.output().unwrap())
    }
}

pub fn list_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn machines_behind_ssh_share_nothing_and_their_records_come_back() {
    let place = Place::new();
    let scratch = place.path("far");
    fs::create_dir(&scratch).unwrap();
    let on = format!("ssh?scratch={}", scratch.display());
    let words = [
        "fleet",
        "run",
        "quick",
        "--on",
        &on,
        "--nodes",
        "a,b",
        "--sessions",
        "1",
        "--into",
        "f",
        "--in",
        "native",
    ];
    let said =
        place.run_tare(&[&words[..], &["--only", "sys.getppid", "--rounds", "4", "--at-once", "1"]].concat());
    assert_eq!(said.code, Some(0), "{said:?} {:?}", fs::read_to_string(place.path("f/cells/a/1.log")));
    assert_eq!(said.out, "2 of 2 sessions on 2 nodes\n");
    for node in ["a", "b"] {
        assert_eq!(list_names(&place.path(&format!("f/cells/{node}"))), ["1.log", "1.parquet", "1.tare"]);
    }
    assert_eq!(list_names(&scratch), [""; 0], "a folder stayed there");
    assert_eq!(list_names(&place.path("f")), ["cells", "plan.json", "tare"]);
    // Nothing is missing, and nothing is done again.
    let said = place.run_tare(&["fleet", "run", "f"]);
    assert_eq!((said.code, said.err.contains("submitted: ")), (Some(0), false), "{said:?}");
    // A folder in which others may write runs nothing.
    fs::set_permissions(place.path("f"), fs::Permissions::from_mode(0o777)).unwrap();
    let said = place.run_tare(&["fleet", "run", "f"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("others may write in"), "{said:?}");
}

#[test]
fn an_engine_of_ones_own_is_four_templates() {
    let place = Place::new();
    let engine = "about='this machine'\nnodes=['echo', 'x1,x2 x1']\nsubmit=['sh', '-s']\n\
                  script='''\ntest {node} = x1 || exit 1\nexec {command}\n'''\n";
    fs::write(place.path("own.toml"), engine).unwrap();
    let words =
        ["fleet", "run", "quick", "--on", "own.toml", "--sessions", "1", "--into", "f", "--in", "native"];
    let said = place.run_tare(&[&words[..], &["--only", "null", "--rounds", "4"]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.starts_with("1 of 2 sessions on 2 nodes\n"), "{said:?}");
    assert!(said.out.contains("x2 session 1  missing: its job ended and wrote nothing"), "{said:?}");
    let status = place.run_tare(&["fleet", "status", "--json", "f"]);
    let document: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((&document["whole"], &document["of"]), (&1.into(), &2.into()));
    assert_eq!(document["missing"][0]["node"], "x2");
    // The plan's copy counts, whatever happens to the file.
    fs::write(place.path("own.toml"), "").unwrap();
    let said = place.run_tare(&["fleet", "print", "f"]);
    assert!(said.out.contains("--node x2 --session 1"), "{said:?}");
    assert!(!said.out.contains("--node x1"), "{said:?}");
}

#[test]
fn what_cannot_be_a_fleet_is_refused_with_the_next_step() {
    let place = Place::new();
    fs::write(
        place.path("pairs.toml"),
        "name='p'\ntitle='x'\nabout=''\nbudget='5s'\n[[case]]\nprobe='net.rr'\npeers=['node']\n",
    )
    .unwrap();
    for (words, error) in [
        (&["run", "quick"][..], "--on slurm"),
        (&["run", "quick", "--on", "slrum", "--nodes", "a", "--into", "f"], "did you mean 'slurm'?"),
        (
            &["run", "quick", "--on", "slurm?partiton=x", "--nodes", "a", "--into", "f"],
            "did you mean 'partition'?",
        ),
        (&["run", "quick", "--on", "ssh", "--into", "f"], "--nodes n1,n2,n3"),
        (&["run", "quick", "--on", "ssh", "--nodes", "../a", "--into", "f"], "is not the name of a node"),
        (&["run", "quick", "--on", "ssh", "--nodes", "a", "--into", "a b"], "letters, digits"),
        (&["run", "quick", "--on", "ssh", "--nodes", "a"], "--into FOLDER"),
        (&["run", "pairs.toml", "--on", "ssh", "--nodes", "a,b", "--into", "f"], "leave the peer 'node' out"),
        (&["status", "nothing"], "plan.json"),
    ] {
        let said = place.run_tare(&[&["fleet"], words].concat());
        assert!(matches!(said.code, Some(2 | 5)), "{words:?}: {said:?}");
        assert!(said.err.contains(error), "{words:?}: {said:?}");
    }
}

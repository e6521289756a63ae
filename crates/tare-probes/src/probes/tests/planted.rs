//! A trial's folder in which somebody else plants links: nothing behind them is written, read or removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tare_data::failure::Failure;

use super::{Place, find_agent, make_trial_request, take_turn};
use crate::harness::folder::Folder;
use crate::harness::trial::Trial;
use crate::probes::run_of;

/// Files by the probes that make them, with a parameter.
const FILES: [(&str, &str, &str); 13] = [
    ("file.sync", "", "log"),
    ("file.copy", "", "from"),
    ("file.copy", "", "to"),
    ("file.random", "", "file.0"),
    ("file.queue", "", "queue"),
    ("file.seq", "op=write", "written-0"),
    ("file.seq", "op=read", "read"),
    ("proc.shell", "", "sort.src"),
    ("sys.operation", "operation=write-1k", "f"),
    ("sys.operation", "operation=file-page", "f"),
    ("sys.operation", "operation=stat-new", "turn-0"),
    ("sys.operation", "operation=exec", "i"),
    ("sys.operation", "operation=stat-8", "d"),
];

fn run(folder: &Folder, probe: &str, parameter: &str) -> Result<(), Failure> {
    let _turn = take_turn();
    let parameters: Vec<_> = parameter.split_once('=').into_iter().collect();
    let request = make_trial_request(crate::find_probe(probe).unwrap(), &parameters);
    let (program, mut sink) = (find_agent(), |_| {});
    run_of(probe).unwrap()(&mut Trial::new(&request, &program, Some(folder.door()), &mut sink))
}

#[test]
fn a_file_behind_a_planted_link_is_not_touched() {
    for (probe, parameter, name) in FILES {
        let (place, outside) = (Place::new(), Place::new());
        let precious = outside.0.join("precious");
        fs::write(&precious, "precious\n").unwrap();
        let target = if name == "d" { &outside.0 } else { &precious };
        let folder = Folder::make_fresh(&place.0).unwrap();
        symlink(target, folder.path().join(name)).unwrap();
        let done = run(&folder, probe, parameter);
        assert!(done.is_err(), "{probe} {parameter} follows {name}");
        drop(folder);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious\n", "{probe} {name}");
        assert_eq!(fs::read_dir(&outside.0).unwrap().count(), 1, "{probe} {name}");
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 0, "{probe} {name}");
    }
}

#[test]
fn a_folder_that_is_replaced_by_a_link_is_worked_in_all_the_same() {
    let (place, outside) = (Place::new(), Place::new());
    fs::write(outside.0.join("log"), "precious\n").unwrap();
    let folder = Folder::make_fresh(&place.0).unwrap();
    let moved = place.0.join("moved");
    fs::rename(folder.path(), &moved).unwrap();
    symlink(&outside.0, folder.path()).unwrap();
    for (probe, parameter) in [("file.sync", ""), ("file.meta", ""), ("sys.operation", "operation=list")] {
        run(&folder, probe, parameter).unwrap_or_else(|failure| panic!("{probe}: {failure}"));
    }
    assert!(moved.join("log").exists());
    drop(folder);
    assert_eq!(fs::read_to_string(outside.0.join("log")).unwrap(), "precious\n");
    assert_eq!(fs::read_dir(&outside.0).unwrap().count(), 1);
    assert_eq!(fs::read_dir(moved).unwrap().count(), 0);
    assert!(Folder::make_fresh(&place.0).is_err(), "the link is in the way, and stays");
    assert!(Path::new(&place.0).join("tare-trial").is_symlink());
}

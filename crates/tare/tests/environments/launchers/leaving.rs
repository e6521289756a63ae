//! Programs that launchers leave running: they end with their start, whatever they did to hide, unless the launcher declares them.

use std::fs;
use std::iter;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tare_data::session::specification::Specification;
use tare_lab::ownership::clean::{Outcome, remove_leftovers};

use crate::bench::actor::Actor;
use crate::bench::{Bench, Spoken, TARE, control_groups};

use super::write_launcher;

/// A launcher that leaves a program behind, which has cut itself loose of everything.
struct Leaving {
    specification: Specification,
    program: String,
}

impl Leaving {
    fn write(bench: &Bench, number: u32, leaves: &str) -> Leaving {
        let seconds = format!("9{number}{}", std::process::id());
        let cleared = if leaves.is_empty() { "env -i" } else { "" };
        let script = format!(
            "[ \"$1\" = version ] && exit\nsetsid -f {cleared} sleep {seconds} >/dev/null 2>&1 </dev/null\nexec \"$@\""
        );
        let launcher = write_launcher(bench, "leaves", &script);
        let template = bench.folder.path().join("leaves.toml");
        let text = "name = 'leaves'\ntitle = 'a box of mine'\nsummary = 's'\nstands_for = 'x'\ninstall = 'make box'\n";
        let words = format!("enter = ['{}']\nversion = ['version']\n{leaves}\n", launcher.display());
        fs::write(&template, format!("{text}{words}")).unwrap();
        let specification = template.to_str().unwrap().parse().unwrap();
        Leaving { specification, program: format!("sleep\0{seconds}\0") }
    }

    /// Waits until as many run as it has left: `setsid` does not wait until the program has begun.
    fn wait_until_left(&self, count: usize) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.count() != count && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.count(), count);
    }

    /// Counts what it has left and still runs.
    fn count(&self) -> usize {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| line == self.program.as_bytes()).count()
    }
}

#[test]
fn whatever_a_launcher_leaves_running_ends_with_its_start_alone() {
    let bench = Bench::new();
    let leaving = Leaving::write(&bench, 1, "");
    let session = bench.make_session();
    let mut starts = [(); 2].map(|()| Spoken::enter_environment(&session, &leaving.specification));
    starts.iter_mut().for_each(|inside| inside.run_null_trial(1, Some("own")));
    let [first, second] = starts;
    // A look comes before the first start.
    leaving.wait_until_left(3);
    assert!(first.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(leaving.count(), 1);
    assert!(second.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(leaving.count(), 0);
    let id = session.id().to_owned();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert!(control_groups(|name| name.contains(&id)).is_empty());
}

#[test]
fn what_a_launcher_left_running_goes_after_its_session_was_killed() {
    let bench = Bench::new();
    let leaving = Leaving::write(&bench, 2, "");
    let mut actor = Actor::start(&bench, &[&leaving.specification.to_string()]);
    actor.wait_until_ready();
    leaving.wait_until_left(2);
    actor.kill();
    for outcome in remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap() {
        assert_eq!(outcome.left_because, None, "{}", outcome.what);
    }
    assert_eq!(leaving.count(), 0);
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn whatever_a_call_leaves_running_ends_with_it() {
    let bench = Bench::new();
    if control_groups(|name| name == "cgroup.procs").is_empty() || !rustix::process::geteuid().is_root() {
        return println!("SKIPPED whatever_a_call_leaves_running_ends_with_it: no control group may be made");
    }
    let leaving = Leaving::write(&bench, 4, "");
    let mut command = Command::new(TARE);
    command.args(["run", "--calls", "--rounds", "1", "--in"]).arg(leaving.specification.to_string());
    command.args(["--", "true"]).current_dir(bench.folder.path());
    assert!(command.env("XDG_STATE_HOME", bench.folder.path()).output().unwrap().status.success());
    leaving.wait_until_left(0);
}

#[test]
fn what_a_launcher_declares_it_leaves_is_spared_and_named() {
    let bench = Bench::new();
    let leaving = Leaving::write(&bench, 3, "leaves = ['sleep', 'no-such-program']");
    let session = bench.make_session();
    let mut inside = Spoken::enter_environment(&session, &leaving.specification);
    inside.run_null_trial(1, Some("own"));
    assert!(inside.leave_environment().iter().all(|o| o.left_because.is_none() || o.is_declared()));
    session.close();
    // A look leaves once, and so does the start.
    assert_eq!(leaving.count(), 2);
    let clean = || remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap();
    // A process that another test of this program is about to start has the journal's lock as well, for a moment.
    let until = Instant::now() + Duration::from_secs(10);
    let named = iter::repeat_with(clean).find(|named| !named.is_empty() || Instant::now() > until).unwrap();
    assert!(named.iter().all(Outcome::is_declared), "{named:?}");
    let pids =
        named.iter().filter_map(|outcome| outcome.what.strip_prefix("process ")?.strip_suffix(" (sleep)"));
    let pids: Vec<&str> = pids.collect();
    assert_eq!(pids.len(), 2, "{named:?}");
    assert!(Command::new("kill").args(pids).status().unwrap().success());
    while leaving.count() > 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // Nor is the journal looked at while such a process has its lock.
    let is_empty = || fs::read_dir(bench.state_folder()).unwrap().next().is_none();
    while !is_empty() && Instant::now() < until {
        assert!(clean().iter().all(|outcome| outcome.left_because.is_none()));
    }
    assert!(is_empty());
}

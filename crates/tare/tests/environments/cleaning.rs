//! Cleaning up after a killed session while another one is running.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tare_bench::programs::copy_program;
use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::remove_leftovers;
use tare_lab::ownership::workspace::SessionWorkspace;

use crate::bench::actor::Actor;
use crate::bench::{Bench, Spoken, TARE, find_programs, parse_if_ready};
use crate::paths::list_namespaces;

/// Lists the ready environments of a default session, except full kernels, which have their own test.
fn defaults(test: &str) -> Vec<&'static str> {
    let all = environments::PROVIDERS.iter().flat_map(|provider| provider.by_default.tried);
    let quick = all.copied().filter(|text| !["uml", "qemu"].contains(text));
    quick.filter(|text| parse_if_ready(test, text).is_some()).collect()
}

/// Cleans; everything must have gone, and a second time there is nothing to do.
fn clean_all(bench: &Bench) {
    let journals = std::fs::read_dir(bench.state_folder()).unwrap().map(|entry| entry.unwrap().path());
    let sessions: Vec<String> =
        journals.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    for outcome in remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap() {
        assert_eq!(outcome.left_because, None, "{}", outcome.what);
    }
    assert_eq!(bench.list_remains(), [""; 0]);
    for session in sessions {
        assert_eq!(list_namespaces(&session), [""; 0]);
    }
    assert_eq!(remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap(), []);
}

#[test]
fn nothing_is_left_of_a_session_that_was_killed() {
    let bench = Bench::new();
    let mut actor = Actor::start(&bench, &defaults("nothing_is_left_of_a_session_that_was_killed"));
    actor.wait_until_ready();
    actor.kill();
    clean_all(&bench);
}

#[test]
fn nothing_is_left_whenever_it_is_killed() {
    let enters = defaults("nothing_is_left_whenever_it_is_killed");
    let bench = Bench::new();
    // While it starts, copies the agent, enters the first environments, enters the slow ones.
    for wait_ms in [0, 5, 10, 20, 30, 40, 50, 75, 100, 150, 200, 300] {
        let actor = Actor::start(&bench, &enters);
        std::thread::sleep(Duration::from_millis(wait_ms));
        actor.kill();
        clean_all(&bench);
    }
}

/// Asserts that namespaces, device pairs, bridges, taps, rules and serving programs are all removed.
#[test]
fn nothing_is_left_of_a_network_whenever_it_is_killed() {
    let test = "nothing_is_left_of_a_network_whenever_it_is_killed";
    let nets = ["veth", "bridge", "nat", "slirp", "pasta"].map(|net| format!("container?net={net}"));
    let others = ["gvisor?net=sandbox", "uml?net=tap"];
    let all =
        nets.iter().map(String::as_str).chain(others).filter(|text| parse_if_ready(test, text).is_some());
    let enters: Vec<&str> = all.collect();
    let bench = Bench::new();
    let mut actor = Actor::start(&bench, &enters);
    actor.wait_until_ready();
    actor.kill();
    clean_all(&bench);
    for wait_ms in [10, 20, 30, 40, 50, 60, 70, 85, 100, 120, 150, 200, 300, 500] {
        let actor = Actor::start(&bench, &enters);
        std::thread::sleep(Duration::from_millis(wait_ms));
        actor.kill();
        clean_all(&bench);
    }
}

/// Asserts that full kernels and engines clean up: helper processes of a kernel are hard to attribute, and an
/// engine has its own storage.
#[test]
fn nothing_is_left_of_a_slow_start_that_was_killed() {
    for text in SLOW {
        kill_in_start("nothing_is_left_of_a_slow_start_that_was_killed", text, &[60, 200, 400]);
    }
}

/// Kills sessions at several moments of their start.
fn kill_in_start(test: &str, text: &str, waits_ms: &[u64]) {
    if parse_if_ready(test, text).is_none() {
        return;
    }
    let bench = Bench::new();
    let mut actor = Actor::start(&bench, &[text]);
    actor.wait_until_ready();
    actor.kill();
    clean_all(&bench);
    for wait_ms in waits_ms {
        let actor = Actor::start(&bench, &[text]);
        std::thread::sleep(Duration::from_millis(*wait_ms));
        actor.kill();
        clean_all(&bench);
    }
}

/// Environments whose start takes many steps.
const SLOW: [&str; 4] = ["nspawn", "podman", "uml", "qemu"];

#[test]
fn a_living_session_is_left_alone() {
    let bench = Bench::new();
    let session = bench.make_session();
    let native = "native".parse::<Specification>().unwrap();
    let mut inside = Spoken::enter_environment(&session, &native);
    let mut actor = Actor::start(&bench, &["native", "container"]);
    actor.wait_until_ready();
    assert_eq!(remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap(), []);
    actor.kill();
    let gone = remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap();
    assert!(gone.iter().all(|outcome| outcome.left_because.is_none()), "{gone:?}");
    inside.run_null_trial(1, Some("own"));
    inside.leave_environment();
    assert!(session.folder().exists());
    session.close();
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn a_session_that_is_dropped_leaves_nothing() {
    let bench = Bench::new();
    let session = bench.make_session();
    let spoken = ["native", "container"]
        .map(|text| Spoken::enter_environment(&session, &text.parse::<Specification>().unwrap()));
    drop(session);
    drop(spoken);
    clean_all(&bench);
}

#[test]
fn the_scratch_folder_must_be_on_a_disk() {
    let bench = Bench::new();
    let mut setting =
        tare_lab::ownership::workspace::Setting { scratch: "/dev/shm".into(), ..bench.make_setting() };
    assert!(SessionWorkspace::make_workspace(&setting).is_ok(), "no file is measured there");
    setting.wanted.disk = true;
    let refused = SessionWorkspace::make_workspace(&setting).unwrap_err();
    assert!(refused.what.contains("/dev/shm is not on a disk"), "{refused}");
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn a_runtime_that_is_missing_is_named_with_the_command_that_installs_it() {
    for (text, command) in [
        ("proot", "apt-get install proot"),
        ("bwrap", "apt-get install bubblewrap"),
        ("oci:crun", "apt-get install crun"),
        ("gvisor", "go install"),
    ] {
        let not_ready =
            environments::parse_environment(text).unwrap().check_ready(&Programs::default()).unwrap_err();
        assert!(not_ready.reason.contains("not installed"), "{not_ready:?}");
        assert!(not_ready.command.unwrap().contains(command));
    }
}

/// Debian's user without files.
const NOBODY: u32 = 65534;

#[test]
fn an_unprivileged_user_enters_what_the_kernel_allows() {
    let test = "an_unprivileged_user_enters_what_the_kernel_allows";
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {test}: only root can become another user");
    }
    // Readable and writable by all, and on a disk.
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let program = bench.folder.path().join("actor");
    copy_program(&std::env::current_exe().unwrap(), &program).unwrap();
    copy_program(&bench.binary, &bench.folder.path().join("tare")).unwrap();
    for path in ["", "state", "scratch", "share"] {
        std::os::unix::fs::chown(bench.folder.path().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let enters = ["native", "container", "bwrap", "proot", "oci:runc", "oci:crun"];
    let mut actor = Actor::start_as(NOBODY, &program, &bench, &enters);
    actor.wait_until_ready();
    actor.dismiss();
    assert_eq!(bench.list_remains(), [""; 0]);
    let mut actor = Actor::start_as(NOBODY, &program, &bench, &enters);
    actor.wait_until_ready();
    actor.kill();
    // A journal that another user wrote is not believed until root owns it.
    let refused = remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap_err();
    assert!(refused.to_string().contains("belongs to another user"), "{refused}");
    let journals = std::fs::read_dir(bench.state_folder()).unwrap().map(|entry| entry.unwrap().path());
    for path in journals.chain([bench.state_folder(), bench.folder.path().to_owned()]) {
        std::os::unix::fs::chown(path, Some(0), Some(0)).unwrap();
    }
    clean_all(&bench);
}

/// A session with a network in a mount namespace whose /run/netns is as on a machine where nobody used it, and the first
/// `ip netns add` of that machine meanwhile.
const FIRST_NAMESPACE: &str = r#"
umount --lazy /run/netns 2>/dev/null
"$TARE" run --in 'container?net=bridge' --only sys.getppid --rounds 6 --scratch "$SCRATCH" --record "$SCRATCH/r.tare" >/dev/null &
for _ in $(seq 400); do
    ls /run/netns /run/tare-netns 2>/dev/null | grep -q '^tare-' && break
    sleep 0.02
done
ip netns add "other-$$" || exit 9
wait $!; code=$?
ip netns delete "other-$$"
"$TARE" clean >&2 || exit 8
exit $code
"#;

#[test]
fn nothing_is_left_where_iproute2_mounts_over_its_folder_meanwhile() {
    let name = "nothing_is_left_where_iproute2_mounts_over_its_folder_meanwhile";
    if parse_if_ready(name, "container?net=bridge").is_none() || find_programs().find("ip").is_none() {
        println!("SKIPPED {name}: it needs root, and ip");
        return;
    }
    let bench = Bench::new();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", FIRST_NAMESPACE]).env("TARE", TARE);
    command.env("SCRATCH", bench.scratch_folder()).env("XDG_STATE_HOME", bench.state_folder());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(matches!(ended.status.code(), Some(0 | 7)) && !said.contains("is left"), "{ended:?}");
}

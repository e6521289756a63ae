//! Commands that reach for the machine around them, and mounts of others: what they change and leave is the environment's own.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Resource, Rlimit, Signal, geteuid, kill_process, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::faults::kill::{under_way, wait_until};
use crate::program::{Program, Said};
use crate::refusals::find_tare;

/// Longest session here, in seconds.
const PATIENCE: &str = "100";

/// Tells whether this is root, and prints that the test is skipped if not.
fn is_root(test: &str) -> bool {
    if !geteuid().is_root() {
        println!("SKIPPED {test}: only root can do what it tries");
    }
    geteuid().is_root()
}

/// Prepares a session of one round of a command, which is killed when it takes too long.
fn session(program: &Program, environments: &str, more: &[&str], command: &[&str]) -> Command {
    let fixed = ["run", "--in", environments, "--against", "native", "-w", "0", "--rounds", "1", "--record"];
    let _ = fs::remove_file(program.path("s.tare"));
    let run = program.tare_command(&[&fixed[..], &["s.tare"], more, &["--"], command].concat());
    let mut timed = Command::new("timeout");
    timed.args(["-s", "KILL", PATIENCE]).arg(run.get_program()).args(run.get_args());
    timed.current_dir(program.path("")).env("XDG_STATE_HOME", program.path("state")).env("LC_ALL", "C");
    timed
}

fn run(program: &Program, environments: &str, command: &[&str]) -> Said {
    Said::from_output(session(program, environments, &[], command).output().unwrap())
}

#[test]
fn a_folder_that_a_command_made_is_removed_however_deep_it_is() {
    let program = Program::new();
    for levels in ["3", "2000"] {
        let script = "cd $(mktemp -d /var/tmp/XXXX); i=0; while [ $i -lt $0 ]; do mkdir d && cd -P d || exit 1; i=$((i+1)); done";
        let mut command = session(&program, "native", &[], &["sh", "-c", script, levels]);
        let few = Rlimit { current: Some(200), maximum: Some(200) };
        // SAFETY: setrlimit is one system call, which allocates nothing.
        unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, few)?)) };
        let said = Said::from_output(command.output().unwrap());
        assert_eq!(said.code, Some(0), "{levels}: {said:?}");
        assert_eq!(program.list_remains(), Vec::<PathBuf>::new(), "{levels}");
        program.clean_nothing();
    }
}

#[test]
fn what_a_command_leaves_running_ends_with_its_start() {
    let program = Program::new();
    let ready = program.run_tare(&["check", "--in", "native,proot,container", "--json"]).parse_json();
    let is_ready = |name: &str| {
        let all = ready["environments"].as_array().unwrap();
        all.iter().any(|of| of["environment"] == name && of["ready"] == true)
    };
    let environments: Vec<&str> =
        ["native", "proot", "container"].into_iter().filter(|of| is_ready(of)).collect();
    let asleep = format!("6{}", std::process::id());
    let runs = || {
        let all = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
        all.filter(|line| *line == format!("sleep\0{asleep}\0").into_bytes()).count()
    };
    let script = "setsid env -i sleep $0 >/dev/null 2>&1 </dev/null &";
    let said = run(&program, &environments.join(","), &["sh", "-c", script, &asleep]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(runs(), 0, "in {environments:?}");
    // A session that is killed cannot end them, and cleaning does.
    let slow = format!("{script} sleep 60");
    let mut child = session(&program, "native", &[], &["sh", "-c", &slow, &asleep]).spawn().unwrap();
    wait_until("it sleeps", || runs() > 0);
    let tare = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    kill_process(Pid::from_raw(tare.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(runs() > 0);
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    assert_eq!(runs(), 0, "after cleaning");
}

#[test]
fn host_name_devices_and_shared_memory_of_a_command_are_its_own() {
    if !is_root("host_name_devices_and_shared_memory_of_a_command_are_its_own") {
        return;
    }
    let program = Program::new();
    let command = "hostname changed || exit 1; ipcmk -M 4096 >&2 || exit 2; chmod 0600 /dev/null /dev/zero || exit 3; \
                   echo x >/etc/hostname";
    let run = session(&program, "native", &[], &["sh", "-c", command]);
    let words: Vec<&str> = run.get_args().map(|word| word.to_str().unwrap()).collect();
    // In namespaces of the test's own, so that nothing comes of a failure.
    let script = "hostname before; ipcs -m | grep -c 0x >&2; \"$@\" >&2; code=$?; ipcs -m | grep -c 0x; hostname; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--uts", "--ipc", "sh", "-c", script, "sh", "timeout"]).args(words);
    command.current_dir(program.path("")).env("XDG_STATE_HOME", program.path("state")).env("LC_ALL", "C");
    let modes =
        || ["/dev/null", "/dev/zero", "/etc/hostname"].map(|path| fs::metadata(path).unwrap().permissions());
    let before = modes();
    let said = Said::from_output(command.output().unwrap());
    assert_eq!(said.code, Some(0), "the command itself succeeds: {said:?}");
    assert_eq!(said.out, "0\nbefore\n", "{said:?}");
    assert_eq!(modes(), before);
}

#[test]
fn a_guest_kernel_that_is_a_process_shows_nothing_of_the_host() {
    let test = "a_guest_kernel_that_is_a_process_shows_nothing_of_the_host";
    if !is_root(test) {
        return;
    }
    if Command::new("linux.uml").arg("--version").output().is_err() {
        return println!("SKIPPED {test}: user-mode Linux is not installed");
    }
    let program = Program::new();
    let victim = program.path("victim.html");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "mine").unwrap();
    let script = "mkdir -p /tmp/m; mount -t hostfs none /tmp/m -o /run/tare-own 2>/dev/null; \
                  for at in $0 /proc/1/root$0; do mount -t hostfs none /tmp/m -o $at && echo evil >/tmp/m/file; done; \
                  mount -t hostfs none /tmp/m -o / && for f in /tmp/m/usr/bin/linux* /tmp/m/lib/*/libc.so.6; do \
                  chmod 0600 $f; (: >>$f); done; touch /var/tmp/honest";
    let about = || fs::metadata("/usr/bin/linux.uml").map(|about| (about.len(), about.permissions())).ok();
    let before = about();
    let said = run(&program, "uml", &["sh", "-c", script, victim.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(fs::read(victim.join("file")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
    assert_eq!(about(), before);
}

#[test]
fn a_neighbour_writes_in_no_file_of_the_folder() {
    let program = Program::new();
    let work = program.path("work.html");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("thesis"), "mine").unwrap();
    for (name, is_link) in [(".tare-neighbour", true), (".tare-neighbour", false)] {
        let _ = fs::remove_file(work.join(name));
        match is_link {
            true => symlink("thesis", work.join(name)).unwrap(),
            false => fs::write(work.join(name), "mine").unwrap(),
        }
        let more = ["--work", "share", "--neighbour", "sync"];
        let mut command = session(&program, "native", &more, &["true"]);
        let said = Said::from_output(command.current_dir(&work).output().unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(fs::read(work.join("thesis")).unwrap(), b"mine");
        assert_eq!(fs::read(work.join(name)).unwrap(), b"mine");
        let names =
            fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
        assert_eq!(names, [".tare-neighbour", "s.tare", "s.html", "thesis"].map(Into::into).into());
        ["s.tare", "s.html"].iter().for_each(|name| fs::remove_file(work.join(name)).unwrap());
    }
}

#[test]
fn a_mount_that_never_answers_is_left_out() {
    if !is_root("a_mount_that_never_answers_is_left_out") {
        return;
    }
    let program = Program::new();
    let point = program.path("mount.html");
    fs::create_dir(&point).unwrap();
    let said = run(&program, "native,container", &["true"]);
    assert_eq!(said.code, Some(0), "without it: {said:?}");
    let Ok(device) = open("/dev/fuse", OFlags::RDWR, Mode::empty()) else {
        return println!("SKIPPED a_mount_that_never_answers: this kernel has no FUSE");
    };
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
    let (data, at) = (CString::new(data).unwrap(), CString::new(point.to_str().unwrap()).unwrap());
    let mut command = session(&program, "native,container", &[], &["true"]);
    let mount_it = move || {
        // SAFETY: between fork and exec there is one thread.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
        mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        Ok(mount(c"silent", at.as_c_str(), c"fuse", flags, Some(data.as_c_str()))?)
    };
    // SAFETY: only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(mount_it) };
    let said = Said::from_output(command.output().unwrap());
    drop(device);
    assert_eq!(said.code, Some(0), "{said:?}");
    let record = tare_record::read_session(&program.path("s.tare")).unwrap().session;
    assert!(record.trials.iter().any(|trial| trial.failure.is_none()), "{said:?}");
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}

#[test]
fn others_than_root_measure_commands_whatever_is_mounted_below_their_folders() {
    if !is_root("others_than_root_measure_commands_whatever_is_mounted") {
        return;
    }
    let place = tempfile::Builder::new().prefix("escapes-").tempdir_in("/var/tmp").unwrap();
    let script = "set -e; D=$1; cp \"$2\" $D/tare; chmod 755 $D $D/tare; mkdir $D/u $D/u/here; chown -R 61001:61001 $D/u\n\
                  run() { (cd $D/u/here; rm -f *.tare *.html; setpriv --reuid=61001 --regid=61001 --clear-groups \
                  env HOME=$D/u XDG_STATE_HOME=$D/u/state timeout -s KILL 100 $D/tare run --in native --rounds 1 --scratch $D/u \
                  --record a.tare -- sh -c 'echo x >file && echo y >/var/tmp/y' >&2); }\n\
                  run; echo without\n\
                  mkdir -p $D/m/deep $D/u/here/m; mount -t tmpfs t $D/m/deep; run; echo below /var/tmp\n\
                  mount -t tmpfs t $D/u/here/m; run; echo below the folder\n\
                  mount -t tmpfs t /var/tmp; mkdir -p $D/u/here $D/u/state; chmod -R 777 /var/tmp; echo done\n";
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]);
    let said = Said::from_output(command.arg(place.path()).arg(find_tare()).output().unwrap());
    assert!(said.out.starts_with("without\n"), "without a mount: {said:?}");
    assert_eq!(said.out, "without\nbelow /var/tmp\nbelow the folder\ndone\n", "{said:?}");
}

#[test]
fn a_terminal_that_is_closed_ends_a_session_in_order() {
    let program = Program::new();
    let child = under_way(&program, &["--in", "native,container", "--only", "sys.getppid,proc.spawn"]);
    // The shell sends it, and then the kernel; and a manager of services may add its own.
    for signal in [Signal::HUP, Signal::HUP, Signal::TERM, Signal::HUP] {
        kill_process(Pid::from_child(&child), signal).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    let said = Said::from_output(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(program.list_processes(), Vec::<String>::new());
    assert_eq!(program.list_mounts(), Vec::<String>::new());
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}

#[test]
fn a_machine_that_was_renamed_cleans_up_after_its_sessions() {
    if !is_root("a_machine_that_was_renamed_cleans_up_after_its_sessions") {
        return;
    }
    let program = Program::new();
    let words =
        ["run", "--in", "native,container", "--only", "sys.*", "--rounds", "200", "--record", "s.tare"];
    let run = program.tare_command(&words);
    let words: Vec<&str> = run.get_args().map(|word| word.to_str().unwrap()).collect();
    let script = "T=$1; hostname one; \"$@\" >/dev/null 2>&1 & P=$!; \
                  for i in $(seq 200); do ls state/tare/*.journal >/dev/null 2>&1 && break; sleep .1; done; sleep 2\n\
                  kill -9 $P; wait $P 2>/dev/null; sleep .3; hostname two; \"$T\" clean";
    let mut command = Command::new("unshare");
    command.args(["--uts", "bash", "-c", script, "bash"]).arg(find_tare()).args(words);
    command.current_dir(program.path("")).env("XDG_STATE_HOME", program.path("state")).env("LC_ALL", "C");
    let said = Said::from_output(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("removed  journal"), "{said:?}");
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
    // A journal of another machine with the same home is named, and removed only on demand.
    let journal = program.path("state/tare").join(format!("a1.{}.journal", "0".repeat(32)));
    let line = r#"{"session":{"scratch":"/var/tmp/tare-a1","pid":1,"started_ticks":1,"running":{"machine":"0","boot":"0 pid:[1]"},"host":"far"}}"#;
    fs::write(&journal, format!("{line}\n")).unwrap();
    for (words, is_there) in [
        (&["clean"][..], true),
        (&["clean", "--from-host", "near"], true),
        (&["clean", "--from-host", "far"], false),
    ] {
        let said = program.run_tare(words);
        assert_eq!((said.code, journal.exists()), (Some(0), is_there), "{words:?}: {said:?}");
        assert_eq!(said.out.contains("--from-host far"), is_there, "{words:?}: {said:?}");
    }
}

#[test]
fn proot_leaves_no_loader_when_it_is_killed() {
    let test = "proot_leaves_no_loader_when_it_is_killed";
    if Command::new("proot").arg("--version").output().is_err() {
        return println!("SKIPPED {test}: proot is not installed");
    }
    let loaders = || {
        let names = fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("prooted-")).collect::<BTreeSet<_>>()
    };
    let before = loaders();
    let program = Program::new();
    let mut child = under_way(&program, &["--in", "native,proot", "--only", "sys.getppid"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    let left: Vec<_> = loaders().difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

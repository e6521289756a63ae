//! Files that the user names or that tare writes: no read hangs, and nothing is replaced unasked.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::faults::kill::under_way;
use crate::program::{Program, Said};

/// Time limit for a program that measures next to nothing. Waiting for a pipe would take forever.
const ENDS: Duration = Duration::from_secs(60);

const SMALL: [&str; 7] = ["run", "--in", "native", "--only", "sys.getppid", "--rounds", "1"];

fn small(program: &Program, more: &[&str]) -> Said {
    program.run_tare(&[&SMALL[..], more].concat())
}

fn ends(mut command: Command) -> Said {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + ENDS;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Said::from_output(child.wait_with_output().unwrap())
}

#[test]
fn a_records_name_can_have_host_time_and_random_digits() {
    let program = Program::new();
    for _ in 0..2 {
        assert_eq!(small(&program, &["--record", "%h_%t_%r_100%%.tare"]).code, Some(0));
    }
    let names = fs::read_dir(program.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with("_100%.tare"));
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let host = rustix::system::uname();
    assert!(names.iter().all(|name| name.starts_with(host.nodename().to_str().unwrap())), "{names:?}");
    for wrong in ["%x.tare", "a%"] {
        let said = small(&program, &["--record", wrong]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("%h is the host name"), "{said:?}");
    }
}

/// Records a session in `s.tare`, and returns the bytes of its record.
fn recorded(program: &Program) -> Vec<u8> {
    let said = small(program, &["--record", "s.tare", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    fs::read(program.path("s.tare")).unwrap()
}

fn is_page(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.starts_with("<!"))
}

#[test]
fn no_output_replaces_a_record() {
    let program = Program::new();
    let said = small(&program, &["--record", "new.tare", "--html", "./new.tare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(!program.path("new.tare").exists(), "refused before anything is measured");
    let record = recorded(&program);
    symlink("s.tare", program.path("link")).unwrap();
    fs::copy(program.path("s.tare"), program.path("other.tare")).unwrap();
    for output in ["--html=s.tare", "--html=link", "--export=junit=s.tare", "--html=other.tare"] {
        let said = program.run_tare(&["report", "s.tare", output]);
        assert_eq!(said.code, Some(2), "{output}: {said:?}");
        assert!(said.err.contains("is a record"), "{said:?}");
    }
    assert_eq!(fs::read(program.path("s.tare")).unwrap(), record);
    // A record may be called as a page would be.
    let said = small(&program, &["--record", "zz.html"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(tare_record::read_session(&program.path("zz.html")).is_ok());
    assert!(is_page(&program.path("zz-2.html")), "{said:?}");
}

#[test]
fn a_page_that_was_not_named_replaces_nothing_and_follows_no_link() {
    let program = Program::new();
    fs::write(program.path("data.html"), "mine").unwrap();
    fs::write(program.path("precious"), "mine").unwrap();
    symlink("precious", program.path("data-2.html")).unwrap();
    let said = small(&program, &["--record", "data.tare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for name in ["data.html", "precious"] {
        assert_eq!(fs::read_to_string(program.path(name)).unwrap(), "mine");
    }
    assert!(is_page(&program.path("data-3.html")) && said.out.contains("data-3.html"), "{said:?}");
}

#[test]
fn a_page_that_was_named_keeps_its_mode_and_no_link_of_another_user_is_followed() {
    let program = Program::new();
    recorded(&program);
    let page = program.path("page.html");
    fs::write(&page, "old").unwrap();
    fs::set_permissions(&page, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("page.html", program.path("own")).unwrap();
    assert_eq!(program.run_tare(&["report", "s.tare", "--html", "own"]).code, Some(0));
    assert!(is_page(&page));
    assert_eq!(fs::metadata(&page).unwrap().mode() & 0o777, 0o600);
    let trap = program.path("trap");
    symlink("page.html", &trap).unwrap();
    if std::os::unix::fs::lchown(&trap, Some(1234), None).is_err() {
        println!("SKIPPED no_link_of_another_user_is_followed: only root can make a link another user's");
        return;
    }
    fs::write(&page, "old").unwrap();
    let said = program.run_tare(&["report", "s.tare", "--html", "trap"]);
    assert_eq!((said.code, fs::read_to_string(&page).unwrap().as_str()), (Some(4), "old"), "{said:?}");
}

#[test]
fn what_is_named_is_a_regular_file_or_nothing() {
    let program = Program::new();
    recorded(&program);
    assert!(Command::new("mkfifo").arg(program.path("pipe")).status().unwrap().success());
    symlink("pipe", program.path("pipe.toml")).unwrap();
    symlink("/dev/zero", program.path("zero.toml")).unwrap();
    for (arguments, code) in [
        (&["report", "pipe"][..], 5),
        (&["report", "s.tare", "--beside", "pipe"], 5),
        (&["report", "s.tare", "--published", "zero.toml"], 2),
        (&["report", "s.tare", "--published", "pipe.toml"], 2),
        (&["compare", "s.tare", "--to", "pipe"], 5),
        (&["import", "pipe"], 5),
        (&["run", "zero.toml"], 2),
        (&["run", "pipe.toml"], 2),
        (&["run", "--resume", "pipe"], 4),
        (&["run", "--peer", "tare://127.0.0.1:9/?secret-file=pipe", "--only", "net.rr"], 4),
    ] {
        let said = ends(program.tare_command(arguments));
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.err.contains("not a regular file"), "{arguments:?}: {said:?}");
    }
}

#[test]
fn a_record_is_written_by_one_session_at_a_time() {
    let program = Program::new();
    let mut child = under_way(&program, &["--in", "native", "--only", "sys.getppid"]);
    let said = program.run_tare(&["run", "--resume", "s.tare"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("s.tare is being written by another session"), "{said:?}");
    // Another record may be written meanwhile, and both hold that.
    assert_eq!(small(&program, &["--record", "t.tare", "--json"]).code, Some(0));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    child.wait().unwrap();
    for record in ["s.tare", "t.tare"] {
        let said = program.run_tare(&["report", record]);
        assert!(said.out.contains("session of tare ran on this machine meanwhile"), "{record}: {said:?}");
    }
}

#[test]
fn a_full_output_and_a_limit_on_files_are_errors_of_storage() {
    let program = Program::new();
    recorded(&program);
    for arguments in [&["report", "s.tare"][..], &["clean"], &["list", "probes"]] {
        let mut command = program.tare_command(arguments);
        let said =
            Said::from_output(command.stdout(fs::File::create("/dev/full").unwrap()).output().unwrap());
        assert_eq!(said.code, Some(4), "{arguments:?}: {said:?}");
        let mut command = program.tare_command(arguments);
        // SAFETY: close is one system call, which allocates nothing.
        unsafe {
            command.pre_exec(|| {
                rustix::io::close(1);
                Ok(())
            })
        };
        let said = Said::from_output(command.output().unwrap());
        assert_eq!(said.code, Some(4), "closed, {arguments:?}: {said:?}");
    }
    // Standard error may be full as well: a gate and a note have their exit code all the same.
    let whole = fs::read(program.path("s.tare")).unwrap();
    fs::write(program.path("torn.tare"), &whole[..whole.len() - 9]).unwrap();
    for arguments in [
        &["report", "s.tare", "--fail-if", "missing", "--fail-if", "slower"][..],
        &["report", "s.tare", "--published", "ascii-wsl2-unixbench"],
        &["report", "torn.tare"],
    ] {
        let code =
            |errors: Stdio| program.tare_command(arguments).stderr(errors).output().unwrap().status.code();
        let (full, nowhere) = (code(fs::File::create("/dev/full").unwrap().into()), code(Stdio::null()));
        assert_eq!(full, nowhere, "{arguments:?}");
    }
    let tare = env!("CARGO_BIN_EXE_tare");
    let script = format!("ulimit -f 200; exec {tare} {} --scratch . --record u.tare", SMALL.join(" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(program.path("")).env("XDG_STATE_HOME", program.path("state"));
    let said = ends(shell);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("File too large"), "{said:?}");
    assert!(!program.path("u.tare").exists(), "a record without a session is in the way of the next");
}

/// Asserts that logarithms do not come from the C library, which picks an implementation by the processor.
#[test]
fn a_report_has_the_same_bytes_whatever_the_processor_can_do() {
    let program = Program::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
    let report = |tunables: &str| {
        let mut command = program.tare_command(&["report", record, "--json"]);
        let output = command.env("GLIBC_TUNABLES", tunables).output().unwrap();
        assert!(output.status.success() && output.stdout.len() > 50_000, "{output:?}");
        output.stdout
    };
    assert!(report("") == report("glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F"), "figures differ");
}

#[test]
fn a_session_works_in_the_current_folder_where_the_usual_ones_cannot_be_written() {
    let test = "a_session_works_in_the_current_folder_where_the_usual_ones_cannot_be_written";
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {test}: only root can mount over the usual folders");
    }
    let program = Program::new();
    let read_only = "mount -t tmpfs -o ro none /var/tmp && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", read_only, "sh"]).arg(program.tare_command(&[]).get_program());
    command.args(SMALL).current_dir(program.path(".")).env_remove("XDG_STATE_HOME").env("HOME", "/nowhere");
    let said = ends(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    let here = program.path(".").canonicalize().unwrap();
    let says = format!("the session works in {}", here.display());
    assert!(said.err.contains("the usual folder cannot be written") && said.err.contains(&says), "{said:?}");
    let state = program.path(&format!("tare-state-{}", rustix::process::geteuid().as_raw()));
    assert_eq!(program.list_remains(), [state], "the list of begun sessions stays");
}

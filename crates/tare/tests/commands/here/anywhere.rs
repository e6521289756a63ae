//! `tare here` where things are forbidden, missing or hang: it answers in time, and names what it lost.

#![allow(unsafe_code, reason = "mounting is a call")]

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tare_data::facts::HowLost;

/// Time in which an answer is there, whatever the machine does: the program's own is 3 s.
const LONGEST: Duration = Duration::from_secs(10);

/// Runs words of a shell that end in `tare here --json` for `$T`; None where they cannot be run here.
fn run_in_shell(words: &str) -> Option<Output> {
    let started = Instant::now();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", words]).env("T", env!("CARGO_BIN_EXE_tare")).env("LC_ALL", "C");
    let output = command.output().ok()?;
    if output.stdout.is_empty() && !output.status.success() {
        println!("SKIPPED {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    assert!(started.elapsed() < LONGEST, "{words}: {:?}", started.elapsed());
    Some(output)
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

fn list_lost(found: &Value) -> Vec<&str> {
    found["lost"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect()
}

#[test]
fn without_proc_it_still_answers() {
    let Some(output) = run_in_shell("umount -l /proc; exec $T here --json") else { return };
    let found = document(&output);
    assert!(found["facts"]["kernel.release"].is_string());
    assert!(found["facts"].get("mounts").is_none(), "{}", found["facts"]);
}

#[test]
fn a_pipe_in_place_of_status_holds_nobody_up() {
    let words = "f=$(mktemp -u); mkfifo $f; mount --bind $f /proc/$$/status; rm $f; exec $T here --json";
    let Some(output) = run_in_shell(words) else { return };
    let found = document(&output);
    assert!(found["facts"].get("tracer").is_none(), "{}", found["facts"]);
    assert!(found["facts"]["seccomp.by_call"].is_string());
}

#[test]
fn a_false_proc_with_a_huge_mount_table_is_not_read() {
    let line = r"36 35 98:0 /\040\134 /run/.containerenv rw - ext3 /dev/\040root rw";
    let words = format!(
        "mount -t tmpfs none /proc; mkdir /proc/self; yes '{line}' | head -c 100000000 >/proc/self/mountinfo; exec $T here --json"
    );
    let Some(output) = run_in_shell(&words) else { return };
    let found = document(&output);
    assert!(found["facts"].get("mounts.signs").is_none(), "{}", found["facts"]);
    let layers = found["where"].as_array().unwrap();
    assert!(
        layers.iter().all(|layer| layer["name"] != "podman" || layer["confidence"] == "possible"),
        "{layers:?}"
    );
}

/// A control group of a test's own, in whichever version the controller is.
struct Group(PathBuf);

impl Group {
    fn make(controller: &str, files: [&str; 2], value: &str) -> Option<Group> {
        let name = format!("tare-here-test-{}-{}", std::process::id(), value);
        let one = Path::new("/sys/fs/cgroup").join(controller).join(&name);
        let two = Path::new("/sys/fs/cgroup").join(&name);
        let (path, file) = if one.parent()?.is_dir() { (one, files[0]) } else { (two, files[1]) };
        std::fs::create_dir(&path).ok()?;
        let group = Group(path);
        std::fs::write(group.0.join(file), value).ok()?;
        Some(group)
    }

    /// Runs `tare here` in it; the shell becomes the program, so that it is one process.
    fn run(&self) -> Option<Output> {
        run_in_shell(&format!("echo $$ >{}/cgroup.procs; exec $T here --json", self.0.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let ends = Instant::now() + Duration::from_secs(5);
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < ends {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn four_processes_are_enough() {
    let Some(group) = Group::make("pids", ["pids.max", "pids.max"], "4") else {
        println!("SKIPPED pids: no control group can be made");
        return;
    };
    let Some(output) = group.run() else { return };
    let found = document(&output);
    assert_eq!(found["limits"]["processes"]["value"], 4.0);
    assert!(!found["where"].is_null());
}

#[test]
fn thirty_two_mebibytes_are_enough() {
    let Some(group) = Group::make("memory", ["memory.limit_in_bytes", "memory.max"], "33554432") else {
        println!("SKIPPED memory: no control group can be made");
        return;
    };
    let Some(output) = group.run() else { return };
    let found = document(&output);
    assert_eq!(found["limits"]["memory"]["value"], 33_554_432.0);
    // A busy machine may have had no time for a step.
    let had_no_time =
        |step: &&Value| [HowLost::Late, HowLost::NotReached].iter().any(|how| step["how"] == how.describe());
    let lost: Vec<&Value> =
        found["lost"].as_array().unwrap().iter().filter(|step| !had_no_time(step)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn a_quota_behind_a_namespace_shows_by_its_gaps() {
    let Some(group) = Group::make("cpu", ["cpu.cfs_quota_us", "cpu.max"], "50000") else {
        println!("SKIPPED cpu: no control group can be made");
        return;
    };
    // No table of mounts tells of groups whose file systems are not mounted.
    let words = format!(
        "echo $$ >{}/cgroup.procs; umount -R -l /sys/fs/cgroup; exec unshare -C $T here --json",
        group.0.display()
    );
    // Other tests use the processors as well: the group has the greatest weight, and three tries.
    for (file, weight) in [("cpu.shares", "262144"), ("cpu.weight", "10000")] {
        let _ = std::fs::write(group.0.join(file), weight);
    }
    let mut middles = Vec::new();
    for _ in 0..3 {
        let Some(output) = run_in_shell(&words) else { return };
        let found = document(&output);
        assert!(found["limits"]["cpu"].is_null(), "{}", found["limits"]);
        match found["limits"]["cpu_hidden"]["value"][1].as_f64() {
            Some(middle) => return assert!((0.3..0.7).contains(&middle), "{middle}"),
            None => middles.push(found["facts"]["burst.gaps"].clone()),
        }
    }
    panic!("{middles:?}");
}

/// Numbers of requests of FUSE (fuse.h), and the length of the header of requests and answers.
const INIT: u32 = 26;
const GETATTR: u32 = 3;
const REQUEST_HEADER: usize = 40;

/// A mounted FUSE file system that answers only until it is told to hang.
struct Hung {
    point: PathBuf,
    hangs: Arc<AtomicBool>,
}

impl Hung {
    fn mount(folder: &Path) -> Option<Hung> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").ok()?;
        let options = format!(
            "fd={},rootmode=40755,user_id=0,group_id=0,default_permissions\0",
            std::os::fd::AsRawFd::as_raw_fd(&device)
        );
        let point = std::ffi::CString::new(folder.to_str()?).ok()?;
        // SAFETY: all texts end with a zero and live through the call.
        let mounted = unsafe {
            libc::mount(c"tare-test".as_ptr(), point.as_ptr(), c"fuse".as_ptr(), 0, options.as_ptr().cast())
        };
        if mounted != 0 {
            return None;
        }
        let hangs = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&hangs);
        std::thread::spawn(move || serve(device, &told));
        Some(Hung { point: folder.to_owned(), hangs })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Requests that wait are answered with an error from then on.
        let point = std::ffi::CString::new(self.point.to_str().unwrap()).unwrap();
        // SAFETY: the text ends with a zero.
        unsafe { libc::umount2(point.as_ptr(), libc::MNT_FORCE | libc::MNT_DETACH) };
    }
}

/// Answers the first request and those for the attributes of the root, until it is told to hang.
fn serve(mut device: File, hangs: &AtomicBool) {
    let mut request = vec![0u8; 1 << 17];
    while let Ok(length) = device.read(&mut request) {
        if length < REQUEST_HEADER || hangs.load(Ordering::Relaxed) {
            continue;
        }
        let code = u32::from_le_bytes(request[4..8].try_into().unwrap());
        let unique = &request[8..16];
        let body: Option<Vec<u8>> = match code {
            // Major and minor number of the protocol, and zeros for everything that need not be offered.
            INIT => Some([&7u32.to_le_bytes()[..], &31u32.to_le_bytes(), &[0; 56]].concat()),
            GETATTR => {
                let mut body = vec![0u8; 104];
                body[16] = 1; // number of the root
                body[76..80].copy_from_slice(&0o40755u32.to_le_bytes());
                body[80] = 2; // links
                Some(body)
            }
            _ => None,
        };
        let error = if body.is_some() { 0 } else { -libc::ENOSYS };
        let body = body.unwrap_or_default();
        let length = (16 + body.len()) as u32;
        let _ = device.write_all(&[&length.to_le_bytes()[..], &error.to_le_bytes(), unique, &body].concat());
    }
}

#[test]
fn a_share_that_hangs_costs_itself_alone() {
    let folder = tempfile::tempdir().unwrap();
    let Some(share) = Hung::mount(folder.path()) else {
        println!("SKIPPED fuse: it cannot be mounted");
        return;
    };
    let started = Instant::now();
    let mut shell = Command::new("sh");
    shell.args(["-ec", "cd \"$0\"; echo ready; read go; exec $T here --json"]).arg(&share.point);
    shell
        .env("T", env!("CARGO_BIN_EXE_tare"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    if line != "ready\n" {
        println!("SKIPPED fuse: nobody can work there");
        let _ = shell.kill();
        let _ = shell.wait();
        return;
    }
    share.hangs.store(true, Ordering::Relaxed);
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let lost = list_lost(&found);
    assert!(lost.contains(&"work") && lost.contains(&"files"), "{lost:?}");
    drop(share);
    let _ = shell.wait();
}

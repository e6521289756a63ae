//! Services of systemd: one is booted in a container of its own, and asked there to start sandboxed services.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tare_bench::programs::copy_program;

use crate::bench::{TARE, control_groups, find_programs, parse_if_ready};

/// Longest that systemd may take to boot, and to power off: only a defect waits so long.
const WAIT: Duration = Duration::from_secs(90);
/// Boots systemd in a root in memory with this machine's /usr, and with a folder of a disk. It leaves the control groups that it makes
/// below its own, so it has some to itself.
const BOOT: &str = r#"
for at in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ ! -e "$at/cgroup.procs" ] || { mkdir "$at/$3"; echo $$ >"$at/$3/cgroup.procs"; }
done
mount -t tmpfs none "$1"; cd "$1"
mkdir -p usr etc/systemd var/lib var/tmp proc sys dev run tmp root srv/disk
for link in bin sbin lib lib64; do ln -s "usr/$link" "$link"; done
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc/
: > etc/machine-id; : > etc/os-release
exec systemd-nspawn --quiet --directory="$1" --bind-ro=/usr --bind="$2":/srv/disk --private-network --register=no \
    --keep-unit --machine="$3" --kill-signal=SIGRTMIN+3 --boot systemd.unit=basic.target
"#;

/// A systemd that was booted, in a container.
struct Booted {
    nspawn: Child,
    /// Process 1 of the container.
    leader: u32,
    folder: tempfile::TempDir,
    /// Name of the container and of its control groups.
    name: String,
}

impl Booted {
    fn boot() -> Booted {
        let folder = tempfile::Builder::new().prefix("systemd-").tempdir_in("/var/tmp").unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root", "disk"] {
            fs::create_dir(path(name)).unwrap();
        }
        copy_program(Path::new(TARE), &path("disk/tare")).unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap().replace('.', "");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-ec", BOOT, "-"]);
        command.args([path("root"), path("disk"), PathBuf::from(&name)]).stdin(Stdio::null());
        let log = fs::File::create(path("log")).unwrap();
        let nspawn = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut booted = Booted { nspawn, leader: 0, folder, name };
        let end = Instant::now() + WAIT;
        while !booted.is_running() {
            assert!(
                Instant::now() < end,
                "{}",
                fs::read_to_string(booted.folder.path().join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        booted
    }

    fn is_running(&mut self) -> bool {
        let pid = self.nspawn.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        self.leader = children.split_whitespace().find_map(|child| child.parse().ok()).unwrap_or(0);
        let state = self.enter("systemctl").arg("is-system-running").output().unwrap();
        ["running\n", "degraded\n"].iter().any(|word| state.stdout == word.as_bytes())
    }

    fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.leader)).args(["--all", "--"]);
        command.args(["sh", "-c", "cd /srv/disk && exec \"$@\"", "-", program]);
        command
    }

    /// Measures; returns the cells of headlines.
    fn measure(&self, environments: &str, arguments: &[&str]) -> Vec<serde_json::Value> {
        let fixed = ["--rounds", "1", "--json", "--scratch", "/srv/disk", "--in", environments];
        let mut command = self.enter("/srv/disk/tare");
        command.arg("run").args(fixed).args(arguments);
        let said = command.env("XDG_STATE_HOME", "/srv/disk/state").env("HOME", "/root").output().unwrap();
        let errors = String::from_utf8_lossy(&said.stderr);
        let document: serde_json::Value =
            serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
        let rows = document["rows"].as_array().unwrap().iter().filter(|row| row["headline"] == true);
        let cells: Vec<_> = rows.flat_map(|row| row["cells"].as_array().unwrap().clone()).collect();
        assert!(!cells.is_empty(), "{errors}");
        cells
    }
}

impl Drop for Booted {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.nspawn), Signal::TERM);
        let end = Instant::now() + WAIT;
        while self.nspawn.try_wait().is_ok_and(|status| status.is_none()) {
            if Instant::now() > end {
                let _ = self.nspawn.kill();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        for group in control_groups(|name| name == self.name) {
            let _ = Command::new("find")
                .arg(group)
                .args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])
                .status();
        }
    }
}

#[test]
fn services_of_a_booted_systemd_are_entered_and_left() {
    let test = "services_of_a_booted_systemd_are_entered_and_left";
    if parse_if_ready(test, "nspawn").is_none() {
        return;
    }
    if let Some(missing) = ["nsenter", "systemctl"].iter().find(|name| find_programs().find(name).is_none()) {
        return println!("SKIPPED {test}: there is no {missing}");
    }
    let booted = Booted::boot();
    let services = "systemd-run,systemd-run?profile=dynamic";
    let only = "sys.getppid,file.meta,proc.exec";
    let cells = [
        booted.measure(services, &["--record", "a.tare", "--only", only]),
        // A user of the service's own does not see this program, and cannot call it.
        booted.measure("systemd-run", &["calls", "--record", "b.tare"]),
        // The number of the boot that this container shows is not the kernel's, and a view of a command shows that one.
        booted.measure("unshare", &["--record", "c.tare", "--", "/bin/true"]),
    ];
    for cell in cells.iter().flatten() {
        assert!(cell["missing"].is_null(), "{cell}");
    }
    let left =
        booted.enter("systemctl").args(["list-units", "--all", "--plain", "run-*.service"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&left.stdout).contains(".service"), "{left:?}");
}

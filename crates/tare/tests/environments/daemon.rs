//! Docker's real daemon, in namespaces of its own: this machine's programs in its containers.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, TARE, control_groups, find_programs};

/// Starts a daemon whose files are in a folder, and measures a command there: to its end, killed, and where the daemon sees other mounts.
/// `$1` is the folder, `$2` the program under test, `$3` a name for control groups. What is found is written into files of the folder.
const SCRIPT: &str = r#"
export HOME="$1" XDG_STATE_HOME="$1/state" DOCKER_HOST="unix://$1/docker.sock" PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C
# Helpers of containerd have their sockets here. Both daemons write here, too: their syncs of a disk that is written elsewhere take longer
# than dockerd waits for a containerd that it starts, which is why it starts none.
mount -t tmpfs none /run
ip link set lo up
containerd --root /run/held --state /run/state --address /run/containerd.sock >"$1/log" 2>&1 &
dockerd --host "$DOCKER_HOST" --containerd /run/containerd.sock --data-root /run/data --exec-root /run/exec --pidfile "$1/pid" \
    --cgroup-parent "$3" --bridge=none --iptables=false --ip-forward=false --ip-masq=false >>"$1/log" 2>&1 &
for _ in $(seq 1200); do
    docker version >/dev/null 2>&1 && break
    kill -0 $! || exit 99
    sleep 0.1
done
docker version >/dev/null 2>&1 || exit 99
set -e
remains() { docker ps --all --quiet; docker volume ls --quiet; docker images --quiet; ls ../scratch; }
tare=$2 scratch="$1/scratch"
cd "$1/work"
set -- run --in native,docker --scratch "$scratch" --runs 2
"$tare" "$@" --record ../1.tare -- sh -ec "test \$(cat seen) = seen; echo x >written; rm -f /etc/debian_version
    touch /usr/bin/tare-trap /tare-trap; mv seen moved; mv moved seen; test -x /bin/ls; test -z \"\$(ls -A $scratch/tare-*)\"" >../said 2>&1
"$tare" "$@" --record ../shared.tare --work share -- sh -c 'echo x >>shared' >>../said 2>&1
remains >../remains
"$tare" "$@" --record ../2.tare -- sleep 30 >../killed 2>&1 &
for _ in $(seq 300); do
    [ -z "$(docker ps --quiet)" ] || break
    sleep 0.1
done
docker volume ls --quiet >../volumes
kill -9 $!; wait $! || true
"$tare" clean >../cleaned 2>&1
remains >../remains-killed
unshare --mount "$tare" "$@" --record ../3.tare -- true >../elsewhere 2>&1 || true
"#;

#[test]
fn a_command_runs_in_containers_of_a_real_daemon() {
    const TEST: &str = "a_command_runs_in_containers_of_a_real_daemon";
    let programs = find_programs();
    let missing =
        ["docker", "dockerd", "containerd", "runc", "unshare"].map(|name| (name, programs.find(name)));
    if let Some((name, _)) = missing.iter().find(|(_, found)| found.is_none()) {
        return println!("SKIPPED {TEST}: {name} is not installed");
    }
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {TEST}: only root can start Docker's daemon");
    }
    let bench = Bench::new();
    let (folder, groups) = (bench.folder.path(), format!("docker-test-{}", std::process::id()));
    fs::create_dir(folder.join("work")).unwrap();
    fs::write(folder.join("work/seen"), "seen").unwrap();
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        SCRIPT,
        "-",
    ]);
    let ended = command.arg(folder).arg(TARE).arg(&groups).status().unwrap();
    for group in control_groups(|name| name == groups) {
        let _ = fs::remove_dir(group);
    }
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    if ended.code() == Some(99) {
        let why = read("log");
        return println!(
            "SKIPPED {TEST}: dockerd does not start: {}",
            why.lines().last().unwrap_or_default()
        );
    }
    let said = read("said");
    assert!(ended.success(), "{ended}: {said} {}", read("log"));
    assert!(!said.contains("fails") && !said.contains("not measured"), "{said}");
    let left = fs::read_dir(folder.join("work")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["seen", "shared"], "{said}");
    // A run to warm up and one that is timed, in each of both.
    assert!(read("work/shared").lines().count() >= 4, "{said}");
    assert!(!Path::new("/tare-trap").exists() && !Path::new("/usr/bin/tare-trap").exists());
    assert_eq!(read("remains"), "", "{said}");
    assert!(read("volumes").lines().count() > 5, "{}", read("killed"));
    assert_eq!(read("remains-killed"), "", "{}", read("cleaned"));
    assert!(read("elsewhere").contains("sees other mounts than this process"), "{}", read("elsewhere"));
}

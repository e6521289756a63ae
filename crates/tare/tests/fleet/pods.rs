//! A pod: the job of a manifest, started by crun like in a pod with pod security 'restricted'. It has no root
//! user, no capabilities, a read-only root, no privilege escalation, and a filter of system calls.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tare_analysis::findings::{Cell, Missing};

use crate::cluster::Said;
use crate::engines::{Place, list_names};

/// Folder of an emptyDir, as the kubelet names it.
const SCRATCH: &str = "kubernetes.io~empty-dir/scratch";
/// The filter of system calls that engines have by default.
const PROFILE: &str = "/usr/share/containers/seccomp.json";
/// System calls that a kubelet's engine also refuses to processes without capabilities.
const REFUSED: [&str; 12] = [
    "unshare",
    "setns",
    "mount",
    "umount",
    "umount2",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsmount",
    "clone",
    "clone3",
];
/// Flags of clone(2) that make namespaces.
const NAMESPACES: u64 = 0x7e02_0000;

/// Builds the filter for a container without capabilities on this processor.
fn seccomp() -> Option<Value> {
    let profile: Value = serde_json::from_slice(&fs::read(PROFILE).ok()?).unwrap();
    let architecture = if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" };
    let empty = Vec::new();
    let list = |of: &Value| of.as_array().unwrap_or(&empty).clone();
    let holds = |rule: &&Value| {
        let architectures = list(&rule["includes"]["arches"]);
        list(&rule["includes"]["caps"]).is_empty()
            && (architectures.is_empty() || architectures.iter().any(|of| of == architecture))
    };
    let with_args = |rule: &Value| {
        let names: Vec<Value> =
            list(&rule["names"]).into_iter().filter(|name| REFUSED.iter().all(|of| name != of)).collect();
        let mut made = json!({ "names": names, "action": rule["action"], "args": list(&rule["args"]) });
        if let Some(number) = rule["errnoRet"].as_u64() {
            made["errnoRet"] = number.into();
        }
        (!names.is_empty()).then_some(made)
    };
    let rules = list(&profile["syscalls"]);
    let mut calls: Vec<Value> = rules.iter().filter(holds).filter_map(with_args).collect();
    let flags = json!({ "index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ" });
    calls.push(json!({ "names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [flags] }));
    calls.push(json!({ "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS }));
    Some(json!({ "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": libc::EPERM, "syscalls": calls }))
}

/// Reads the value of a manifest's key, from the first line that has it.
fn value<'a>(manifest: &'a str, key: &str) -> &'a str {
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("{key}: {manifest}"))
}

/// Pod whose volumes are two folders of a place.
struct Pod {
    place: Place,
    user: u32,
    seccomp: Value,
}

impl Pod {
    /// Builds the pod of a manifest, and prints that the test is skipped where pods cannot run.
    fn of(test: &str, place: Place, manifest: &str) -> Option<Pod> {
        for (key, expected) in [
            ("runAsNonRoot", "true"),
            ("readOnlyRootFilesystem", "true"),
            ("allowPrivilegeEscalation", "false"),
            ("drop", "[ALL]"),
            ("type", "RuntimeDefault"),
        ] {
            assert_eq!(value(manifest, key), expected);
        }
        let user = value(manifest, "runAsUser").parse().unwrap();
        for folder in [
            "bundle/root/fleet",
            "bundle/root/var/tmp",
            "bundle/root/proc",
            "bundle/root/dev",
            "bundle/root/sys",
            "bundle/root/usr",
            SCRATCH,
        ] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        // The image has a shell: here that of this machine.
        for name in ["bin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), place.path("bundle/root").join(name)).unwrap();
        }
        // As an emptyDir is.
        fs::set_permissions(place.path(SCRATCH), fs::Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        give_to_user(&place.path("f"), user);
        let Some(seccomp) = seccomp() else {
            println!(
                "SKIPPED {test}: {PROFILE} is not there (apt-get install golang-github-containers-common)"
            );
            return None;
        };
        Some(Pod { place, user, seccomp })
    }

    fn bundle(&self, words: &[String], user: u32) -> Value {
        let bind = |from: &str, to: &str| {
            let source = self.place.path(from);
            json!({ "destination": to, "type": "bind", "source": source, "options": ["rbind", "rw", "nosuid", "nodev"] })
        };
        let tmpfs = |at: &str, options: &[&str]| json!({ "destination": at, "type": "tmpfs", "source": "tmpfs", "options": options });
        let namespaces = ["pid", "ipc", "uts", "mount", "network"].map(|kind| json!({ "type": kind }));
        json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": { "uid": user, "gid": user },
                "args": words,
                "env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=pod", "HOME=/", "TARE_POD=pod", "TARE_POD_CPU=1"],
                "cwd": "/",
                "capabilities": {},
                "noNewPrivileges": true,
            },
            "root": { "path": "root", "readonly": true },
            "hostname": "pod",
            "mounts": [
                { "destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"] },
                tmpfs("/dev", &["nosuid", "strictatime", "mode=755", "size=65536k"]),
                tmpfs("/dev/shm", &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
                { "destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"] },
                { "destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro", "nosuid", "nodev"] },
                bind("f", "/fleet"),
                bind(SCRATCH, "/var/tmp"),
            ],
            "linux": {
                "namespaces": namespaces,
                "seccomp": self.seccomp,
                "maskedPaths": ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi", "/sys/firmware"],
                "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
            },
        })
    }

    /// Runs a command in a container of the pod, as this user.
    fn run(&self, words: &[String], user: u32) -> Said {
        fs::write(self.place.path("bundle/config.json"), self.bundle(words, user).to_string()).unwrap();
        let name = format!("tare-pod-{}", std::process::id());
        let run = "umount -l /sys/fs/cgroup/unified 2>/dev/null\nexec crun --root \"$1\" --cgroup-manager=disabled run --bundle \"$2\" \"$3\"";
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", run, "sh"])
            .arg(self.place.path("crun"))
            .arg(self.place.path("bundle"));
        Said::from_output(command.arg(name).stdin(Stdio::null()).env("LC_ALL", "C").output().unwrap())
    }

    /// Runs `tare check` in the pod, and returns whether the container is ready, with the reason.
    fn container_is_ready(&self, user: u32) -> (bool, String) {
        let said =
            self.run(&["/fleet/tare", "check", "--in", "container", "--json"].map(str::to_owned), user);
        let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let rows = document["environments"].as_array().unwrap();
        let row = rows.iter().find(|row| row["environment"] == "container").unwrap();
        (row["ready"] == true, row.to_string())
    }
}

/// Gives a folder with all that is in it to a user, as a volume is given to a pod's group.
pub fn give_to_user(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give_to_user(&entry.unwrap().path(), user));
    }
}

#[test]
fn a_node_is_measured_in_a_restricted_pod() {
    let test = "a_node_is_measured_in_a_restricted_pod";
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED {test}: only root can start a container as another user");
        return;
    }
    if Command::new("crun").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED {test}: crun is not installed (apt-get install crun)");
        return;
    }
    let place = Place::new();
    let words = [
        "fleet",
        "run",
        "quick",
        "--on",
        "kubernetes",
        "--nodes",
        "n1",
        "--sessions",
        "1",
        "--into",
        "f",
        "--plan-only",
    ];
    let more = ["--in", "native,container", "--only", "sys.getppid", "--rounds", "6"];
    let said = place.run_tare(&[&words[..], &more].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let manifest = place.run_tare(&["fleet", "print", "f"]).out;
    let Some(pod) = Pod::of(test, place, &manifest) else { return };
    let words: Vec<String> = serde_json::from_str(value(&manifest, "command")).unwrap();
    let said = pod.run(&words, pod.user);
    let cells = pod.place.path("f/cells/n1");
    assert_eq!(said.code, Some(0), "{said:?} {:?}", fs::read_to_string(cells.join("1.why")));
    assert_eq!(list_names(&cells), ["1.parquet", "1.tare"]);
    assert_eq!(list_names(&pod.place.path(SCRATCH)), [format!("tare-state-{}", pod.user)]);
    let session = tare_record::read_session(&cells.join("1.tare")).unwrap().session;
    let findings = tare_analysis::compute_findings(&session, &tare_analysis::Options::default());
    let row = findings.rows.iter().find(|row| row.headline).unwrap();
    assert!(row.baseline.as_ref().is_some_and(|level| level.median > 0.0), "{row:?}");
    let fact = |key: &str| session.header.host.get(key);
    assert_eq!((fact("kubernetes.pod"), fact("kubernetes.cpu")), (Some("pod"), Some("1")));
    // A case that needs more than such a pod has is a gap with its reason, and costs the node nothing else.
    let Cell::Missing(Missing::Failed(failure)) = &row.cells[0] else { panic!("{row:?}") };
    assert!(failure.reason.contains("may not make namespaces"), "{failure:?}");
    let status = pod.place.run_tare(&["fleet", "status", "f"]);
    assert_eq!(status.out, "1 of 1 sessions on 1 nodes\n");
    for user in [pod.user, 0] {
        let (is_ready, row) = pod.container_is_ready(user);
        assert!(!is_ready && row.contains("may not make namespaces"), "user {user}: {row}");
    }
}

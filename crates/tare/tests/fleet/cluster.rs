//! A temporary cluster: a Slurm controller and three nodes from Debian's packages, on a separate bridge.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tare_bench::programs::copy_program;

/// Longest that anything here may take: only a defect waits so long.
const WAIT: Duration = Duration::from_secs(60);
/// Time in which jobs that were cancelled end.
const JOBS_END: Duration = Duration::from_secs(10);
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// User and group ID of `nobody`.
pub const NOBODY: u32 = 65534;
/// Instructions of the filter that slows a node: each system call reads its arguments as often, so that no kernel can remember
/// the answer.
const FILTER: usize = 2000;
const PROGRAMS: [&str; 7] = ["slurmctld", "slurmd", "sbatch", "munged", "ip", "nsenter", "tc"];

/// Lock that allows one cluster at a time, because they share the processors.
static ALONE: Mutex<()> = Mutex::new(());

pub struct Cluster {
    folder: tempfile::TempDir,
    tag: String,
    daemons: Vec<Child>,
    _alone: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Starts a cluster, and prints that the test is skipped without Slurm or the right to create nodes.
    /// Every system call on `slow` is slower.
    pub fn start(test: &str, slow: Option<&str>) -> Option<Cluster> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED {test}: only root can make network namespaces for nodes");
            return None;
        }
        if let Some(missing) = PROGRAMS.iter().find(|program| found(program).is_none()) {
            println!(
                "SKIPPED {test}: {missing} is not installed (apt-get install slurmctld slurmd slurm-client munge)"
            );
            return None;
        }
        let folder = tempfile::Builder::new().prefix("tare-slurm-").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let tag = format!("tf{}", std::process::id());
        let mut cluster = Cluster { folder, tag, daemons: Vec::new(), _alone: alone };
        cluster.write_files();
        cluster.make_network();
        cluster.start_daemons(slow);
        Some(cluster)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds a command of the program under test, run by a user on the login node.
    pub fn tare_command(&self, user: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace("hub")));
        command.args([format!("--setuid={user}"), format!("--setgid={user}")]).arg("--");
        command.arg(self.path("tare")).args(arguments).current_dir(self.folder.path());
        command.env("SLURM_CONF", self.path("slurm.conf")).env("NO_COLOR", "1").env("LC_ALL", "C");
        command.env_remove("HOME").stdin(Stdio::null());
        if user == 0 {
            command.env("XDG_STATE_HOME", self.path("state")).env("XDG_CACHE_HOME", self.path("cache"));
        } else {
            command.env_remove("XDG_STATE_HOME");
        }
        command
    }

    pub fn run_tare(&self, user: u32, arguments: &[&str]) -> Said {
        Said::from_output(self.tare_command(user, arguments).output().unwrap())
    }

    /// Creates a folder that belongs to a user.
    pub fn folder_of(&self, user: u32, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(user), Some(user)).unwrap();
        path
    }

    /// Builds a command that runs in the network and mount namespaces of a node, or of the hub.
    fn on(&self, node: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(node))).arg("--");
        command
    }

    fn namespace(&self, node: &str) -> String {
        format!("{}-{node}", self.tag)
    }

    fn write_files(&self) {
        let folder = self.folder.path().display();
        copy_program(Path::new(env!("CARGO_BIN_EXE_tare")), &self.path("tare")).unwrap();
        fs::set_permissions(self.path("tare"), Permissions::from_mode(0o755)).unwrap();
        for name in ["state", "ctld", "munge"] {
            fs::create_dir(self.path(name)).unwrap();
        }
        let key: String = (0..64).map(|at| char::from(b'0' + at % 10)).collect();
        fs::write(self.path("munge/key"), key).unwrap();
        fs::set_permissions(self.path("munge/key"), Permissions::from_mode(0o600)).unwrap();
        let mut hosts = "127.0.0.1 localhost\n10.88.0.1 hub\n".to_owned();
        let mut nodes = String::new();
        for (at, node) in NODES.iter().enumerate() {
            let address = format!("10.88.0.{}", 11 + at);
            hosts.push_str(&format!("{address} {node}\n"));
            nodes.push_str(&format!("NodeName={node} NodeAddr={address} CPUs=2 State=UNKNOWN\n"));
        }
        fs::write(self.path("hosts"), hosts).unwrap();
        let conf = format!(
            "ClusterName=test\nSlurmctldHost=hub(10.88.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             CredType=cred/munge\nAuthInfo=socket={folder}/munge/socket\nStateSaveLocation={folder}/ctld\n\
             SlurmdSpoolDir={folder}/spool-%n\nSlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/%n.pid\n\
             SlurmctldLogFile={folder}/ctld.log\nSlurmdLogFile={folder}/%n.log\nProctrackType=proctrack/pgid\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\n\
             ReturnToService=2\nSlurmctldTimeout=30\nSlurmdTimeout=30\nInactiveLimit=0\nKillWait=2\nMinJobAge=10\n\
             SlurmdParameters=config_overrides\nSchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n{nodes}\
             PartitionName=all Nodes={} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4\n",
            NODES.join(",")
        );
        fs::write(self.path("slurm.conf"), conf).unwrap();
    }

    fn make_network(&self) {
        let ip = |words: &str| must(Command::new("ip").args(words.split(' ')));
        let hub = self.namespace("hub");
        ip(&format!("netns add {hub}"));
        ip(&format!("-n {hub} link set lo up"));
        ip(&format!("-n {hub} link add br0 type bridge"));
        ip(&format!("-n {hub} addr add 10.88.0.1/24 dev br0"));
        ip(&format!("-n {hub} link set br0 up"));
        for (at, node) in NODES.iter().enumerate() {
            let own = self.namespace(node);
            ip(&format!("netns add {own}"));
            ip(&format!("-n {hub} link add v{node} type veth peer name eth0 netns {own}"));
            ip(&format!("-n {hub} link set v{node} master br0 up"));
            ip(&format!("-n {own} addr add 10.88.0.{}/24 dev eth0", 11 + at));
            ip(&format!("-n {own} link set eth0 up"));
            ip(&format!("-n {own} link set lo up"));
        }
    }

    fn start_daemons(&mut self, slow: Option<&str>) {
        let conf = self.path("slurm.conf");
        let conf = conf.display();
        let munge = self.path("munge");
        let at = |name: &str| munge.join(name).display().to_string();
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force", "--socket", &at("socket"), "--key-file", &at("key")]);
        munged.args(["--pid-file", &at("pid"), "--log-file", &at("log"), "--seed-file", &at("seed")]);
        self.daemon(munged);
        self.wait_for("munged", || munge.join("socket").exists());
        let controller = self.in_namespaces("hub", &format!("exec slurmctld -D -f {conf}"));
        self.daemon(controller);
        for node in NODES {
            let mut daemon = self.in_namespaces(node, &format!("exec slurmd -D -f {conf}"));
            if slow == Some(node) {
                // SAFETY: it makes one system call and allocates nothing.
                unsafe { daemon.pre_exec(slow_down) };
            }
            self.daemon(daemon);
        }
        self.wait_for("the nodes", || {
            let mut command = self.on("hub");
            command
                .args(["sinfo", "--noheader", "--Node", "--format=%T"])
                .env("SLURM_CONF", self.path("slurm.conf"));
            let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
            said.lines().filter(|state| *state == "idle").count() == NODES.len()
        });
    }

    /// Builds a shell command with its own host name and its own table of hosts.
    fn in_namespaces(&self, node: &str, script: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(node)));
        command.args(["unshare", "--mount", "--uts", "sh", "-c"]);
        let hosts = self.path("hosts");
        command.arg(format!("hostname {node}; mount --bind {} /etc/hosts; {script}", hosts.display()));
        command
    }

    fn daemon(&mut self, mut command: Command) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("daemons.log")).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        self.daemons.push(command.spawn().unwrap());
    }

    fn wait_for(&self, what: &str, mut there: impl FnMut() -> bool) {
        let end = Instant::now() + WAIT;
        while !there() {
            let log = || fs::read_to_string(self.path("daemons.log")).unwrap_or_default();
            assert!(Instant::now() < end, "{what}: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs first: they outlive the daemons that started them.
        let call = |words: &[&str]| {
            let mut command = self.on("hub");
            command.args(words).env("SLURM_CONF", self.path("slurm.conf")).output()
        };
        let _ = call(&["scancel", "--state=PENDING,RUNNING", "--partition=all"]);
        let end = Instant::now() + JOBS_END;
        while Instant::now() < end
            && call(&["squeue", "--noheader"]).is_ok_and(|said| !said.stdout.is_empty())
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for node in NODES.iter().chain(&["hub"]) {
            end_all_in(Path::new("/run/netns").join(self.namespace(node)).as_path());
        }
        for node in NODES.iter().chain(&["hub"]) {
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(node)]).output();
        }
    }
}

/// Kills the remaining processes in one of the cluster's network namespaces.
fn end_all_in(namespace: &Path) {
    let Ok(own) = fs::metadata(namespace) else { return };
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let pid = process.file_name().to_str().and_then(|pid| pid.parse().ok());
        let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { continue };
        let its = fs::metadata(process.path().join("ns/net"));
        if its.is_ok_and(|its| (its.dev(), its.ino()) == (own.dev(), own.ino())) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Has this process and all that it starts run under a filter that allows every system call, slowly.
fn slow_down() -> std::io::Result<()> {
    // Loads the low half of the first argument, and compares it with something that it is not.
    const LOAD: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 16 };
    const ALLOW: libc::sock_filter = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff_0000 };
    let mut filter = [LOAD; FILTER];
    filter[FILTER - 1] = ALLOW;
    let program = libc::sock_fprog { len: FILTER as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the kernel has copied it.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| Path::new(path).is_file())
}

#[track_caller]
fn must(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Output and exit code of the program.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn from_output(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

//! ssh: another machine, by the system's own ssh and the user's own configuration of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tare_data::encoding::hex;
use tare_data::facts::Facts;

use crate::error::{ErrorKind, LabError};
use crate::host::programs::{self, Ended, Programs};
use crate::ownership::owned::MARK;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// Time in which a connection must be there and a short command done.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// Time that sending the agent may take: 8 MB over a line of 1 Mbit/s.
const UPLOAD_WAIT: Duration = Duration::from_secs(90);
/// Longest path of a control socket: the kernel allows 107 bytes, of which ssh adds 17 while it makes one.
const LONGEST_SOCKET: usize = 90;

const PORT: OptionDescription = OptionDescription {
    key: "port",
    default: "",
    values: &[],
    about: "port of the other machine, where it is not what the user's configuration says",
};
const IDENTITY: OptionDescription =
    OptionDescription { key: "identity", default: "", values: &[], about: "file of the private key" };
const CONFIG: OptionDescription = OptionDescription {
    key: "config",
    default: "",
    values: &[],
    about: "configuration file of ssh in place of the user's",
};
const FOLDER: OptionDescription = OptionDescription {
    key: "folder",
    default: "/var/tmp",
    values: &[],
    about: "folder on the other machine, on a disk, in which the place 'own' is made",
};

pub struct Ssh;

impl Provider for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn summary(&self) -> &'static str {
        "another machine, named after ':' as ssh names it ([user@]host)"
    }

    fn stands_for(&self) -> &'static str {
        "whatever is at the other end: a VirtualBox, Hyper-V or VMware guest, a cloud machine, the Windows \
         host's neighbour. The machine differs as well as the layer, unless both run on the same hardware. \
         The agent is kept there in ~/.cache/tare under its content's hash, so that it is sent once."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[PORT, IDENTITY, CONFIG, FOLDER]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &[]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program =
            programs.find("ssh").ok_or_else(|| NotReady::missing("ssh", "apt-get install openssh-client"))?;
        let Ok(target) = target(specification) else {
            return Err(NotReady::because("no machine is named: write ssh:host or ssh:user@host"));
        };
        let mut command = Command::new(&program);
        command.args(options(specification)).args(["--", target, "uname -m"]);
        let machine = answer(&mut command, Stdio::null(), ANSWER_WAIT).map_err(|reason| NotReady {
            reason: format!("{target}: {reason}"),
            command: Some(format!("ssh {target} true")),
        })?;
        if machine != std::env::consts::ARCH {
            let ours = std::env::consts::ARCH;
            return Err(NotReady::because(format!(
                "{target} is a {machine}, and this tare is built for {ours}"
            )));
        }
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", programs::version(&program, &["-V"]).unwrap_or_default());
        facts.note("runtime.target", target);
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace
            .programs()
            .find("ssh")
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "ssh is not installed"))?;
        let target = target(specification)?;
        let folder = FOLDER.value(specification);
        if !is_plain(folder) {
            let what = format!("ssh: 'folder' cannot be '{folder}'");
            return Err(LabError::new(ErrorKind::Usage, what).hint("give an absolute path of plain letters"));
        }
        let line = Line { program, options: options(specification), socket: socket(workspace), target };
        line.connect(workspace)?;
        line.upload(workspace)?;
        let own = format!("{folder}/{}", workspace.name());
        let command = line.command(&agent_script(&own, workspace));
        let places = BTreeMap::from([("own".to_owned(), own)]);
        let host = line.here(workspace)?;
        Ok(Entrance { command, host, places, outside: Facts::default() })
    }
}

fn target(specification: &Specification) -> Result<&str, LabError> {
    let target = specification.target.as_deref().filter(|target| !target.starts_with('-'));
    target.ok_or_else(|| {
        LabError::new(ErrorKind::Usage, "ssh: no machine is named").hint("write ssh:host or ssh:user@host")
    })
}

/// What every call of ssh is given.
fn options(specification: &Specification) -> Vec<String> {
    // Nobody is there to answer questions; and a terminal would change bytes.
    let mut options = vec!["-T".to_owned(), "-oBatchMode=yes".to_owned(), "-oConnectTimeout=10".to_owned()];
    for (flag, option) in [("-p", PORT), ("-i", IDENTITY), ("-F", CONFIG)] {
        let value = option.value(specification);
        if !value.is_empty() {
            options.extend([flag.to_owned(), value.to_owned()]);
        }
    }
    options
}

/// A path that needs no quoting in any shell.
pub(super) fn is_plain(path: &str) -> bool {
    path.starts_with('/') && path.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c))
}

/// Where the session's connection to a machine is shared; None where the path would be too long.
fn socket(workspace: &dyn Workspace) -> Option<PathBuf> {
    // %C is a hash of both ends, 40 characters long.
    let path = workspace.session_folder().join("ssh-%C");
    (path.as_os_str().len() + 38 <= LONGEST_SOCKET).then_some(path)
}

/// A way to a machine.
struct Line<'a> {
    program: PathBuf,
    options: Vec<String>,
    socket: Option<PathBuf>,
    target: &'a str,
}

impl Line<'_> {
    /// Runs a script there, by the shared connection if there is one.
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options);
        if let Some(socket) = &self.socket {
            command.arg("-S").arg(socket);
        }
        // The user's shell there may be any; it is only asked to start sh.
        command.args(["--", self.target]).arg(format!("exec sh -c '{script}'"));
        command
    }

    /// Opens the connection that all starts of the session share. It stays until the session ends.
    fn connect(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut check = Command::new(&self.program);
        check.args(&self.options).arg("-S").arg(socket).args(["-O", "check", "--", self.target]);
        if programs::run(&mut check, ANSWER_WAIT).is_ok_and(|ended| ended.status.success()) {
            return Ok(());
        }
        let mut master = Command::new(&self.program);
        master.args(&self.options).args(["-M", "-N", "-f", "-oControlPersist=no", "-S"]).arg(socket);
        master.args(["--", self.target]).env(MARK, workspace.session_mark());
        answer(&mut master, Stdio::null(), ANSWER_WAIT).map(drop).map_err(|cause| self.failed(cause))
    }

    /// Sends the agent, if it is not there.
    fn upload(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        // Asked once a session: each question is a round trip and a shell.
        let sent = workspace.session_folder().join(format!("ssh-sent-{}", self.digest()));
        if sent.exists() {
            return Ok(());
        }
        self.upload_if_missing(workspace)?;
        fs::write(&sent, "").map_err(|e| self.failed(format!("{}: {e}", sent.display())))
    }

    /// The address at which the other machine sees this one; None where it is that of a router between them.
    fn here(&self, workspace: &dyn Workspace) -> Result<Option<IpAddr>, LabError> {
        // Asked once a session, as for the agent.
        let kept = workspace.session_folder().join(format!("ssh-here-{}", self.digest()));
        let text = match fs::read_to_string(&kept) {
            Ok(text) => text,
            Err(_) => {
                let mut command = self.command("echo $SSH_CONNECTION");
                let told = answer(&mut command, Stdio::null(), ANSWER_WAIT);
                let text = told.map_err(|cause| self.failed(cause))?;
                fs::write(&kept, &text).map_err(|e| self.failed(format!("{}: {e}", kept.display())))?;
                text
            }
        };
        Ok(seen_from(&text).filter(|address| UdpSocket::bind((*address, 0)).is_ok()))
    }

    /// Tells this way from others: the same host may be reached by another configuration.
    fn digest(&self) -> String {
        let words = format!("{:?} {}", self.options, self.target);
        hex(&Sha256::digest(words)[..8])
    }

    fn upload_if_missing(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        let cached = cached(workspace);
        let script = format!("agent={cached}; if test -x \"$agent\"; then echo there; else echo missing; fi");
        let found = answer(&mut self.command(&script), Stdio::null(), ANSWER_WAIT);
        if found.map_err(|cause| self.failed(cause))? == "there" {
            return Ok(());
        }
        let agent = open(workspace.agent())?;
        let size_bytes = agent.1;
        // What is cut short must not be taken for the whole later.
        let script = format!(
            "agent={cached}; part=\"$agent.$$\"; mkdir -p \"${{agent%/*}}\" && cat > \"$part\" && \
             test \"$(wc -c < \"$part\")\" -eq {size_bytes} && chmod 700 \"$part\" && mv \"$part\" \"$agent\""
        );
        let sent = answer(&mut self.command(&script), agent.0.into(), UPLOAD_WAIT);
        sent.map(drop).map_err(|cause| self.failed(format!("sending the agent: {cause}")))
    }

    fn failed(&self, cause: impl std::fmt::Display) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot enter ssh:{}", self.target))
            .because(cause)
            .hint(format!("try: ssh {} true", self.target))
    }
}

/// The first word of SSH_CONNECTION (ssh(1)): the client's address. After `%` comes a device of that machine.
fn seen_from(connection: &str) -> Option<IpAddr> {
    connection.split_ascii_whitespace().next()?.split('%').next()?.parse().ok()
}

/// Where the agent is kept there: in words that sh expands.
fn cached(workspace: &dyn Workspace) -> String {
    format!("\"${{XDG_CACHE_HOME:-$HOME/.cache}}/tare/{}\"", workspace.agent_sha256())
}

/// Runs the agent, and takes its folder away when it ends, as it does when the connection breaks. It bears no
/// mark of the session: where the far machine is this one, a cleaning would end the shell before it cleans up.
fn agent_script(own: &str, workspace: &dyn Workspace) -> String {
    format!(
        "agent={}; mkdir -m 700 {own} || exit 1; trap \"rm -rf {own}\" EXIT; trap \"exit 1\" HUP INT TERM; \
         env -i \"$agent\" {}",
        cached(workspace),
        tare_probes::agent::AGENT,
    )
}

fn open(path: &Path) -> Result<(File, u64), LabError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|data| (file, data.len())));
    opened
        .map_err(|e| LabError::new(ErrorKind::Storage, format!("cannot read {}", path.display())).because(e))
}

/// Runs ssh to its end: the first line that it printed, or why it failed.
fn answer(command: &mut Command, input: Stdio, wait: Duration) -> Result<String, String> {
    match programs::run_with(command, input, wait) {
        Ok(Ended { status, output, .. }) if status.success() => Ok(output.trim().to_owned()),
        // The last line says why; before it come banners and warnings.
        Ok(ended) => {
            Err(ended.errors.lines().last().unwrap_or("ssh failed without a word").trim().to_owned())
        }
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn options_become_flags_and_a_target_is_no_flag() {
        let text = "ssh:me@host?port=2222&identity=/key";
        let specification = Specification::parse(text).unwrap();
        assert_eq!(options(&specification)[3..], ["-p", "2222", "-i", "/key"]);
        assert_eq!(target(&specification).unwrap(), "me@host");
        assert!(target(&Specification::parse("ssh:-oProxyCommand=x").unwrap()).is_err());
        assert!(target(&Specification::parse("ssh").unwrap()).is_err());
    }

    #[test]
    fn the_client_is_the_first_of_a_connection() {
        assert_eq!(seen_from("127.0.0.1 40000 127.0.0.1 22"), Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(seen_from("fe80::1%eth0 1 fe80::2%eth0 22").unwrap().to_string(), "fe80::1");
        assert_eq!(seen_from(""), None);
    }

    #[test]
    fn a_folder_needs_no_quoting() {
        assert!(is_plain("/var/tmp"));
        for path in ["tmp", "/a b", "/a'b", "/$HOME", "/a;b", ""] {
            assert!(!is_plain(path), "{path}");
        }
    }
}

//! ssh: another machine, by the system's ssh with its configuration.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tare_data::encoding::hex;

use crate::ownership::owned::MARK;
use crate::provider::prelude::*;

/// Time in which a connection must be there and a short command done.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// Time that sending the agent may take: 8 MB over a line of 1 Mbit/s.
const UPLOAD_WAIT: Duration = Duration::from_secs(90);
/// Longest path of a control socket: the kernel allows 107 bytes, of which ssh adds 17 while it makes one.
const LONGEST_SOCKET: usize = 90;

const PORT: OptionDescription = OptionDescription::text(
    "port",
    "",
    "port of the other machine, where it is not the one in ssh's configuration",
);
const IDENTITY: OptionDescription = OptionDescription::text("identity", "", "file of the private key");
const CONFIG: OptionDescription =
    OptionDescription::text("config", "", "configuration file of ssh in place of the usual one");
const FOLDER: OptionDescription = OptionDescription::text(
    "folder",
    "/var/tmp",
    "folder on the other machine, on a disk, in which the place 'own' is made",
);

pub static PROVIDER: Provider = Provider {
    name: "ssh",
    summary: "another machine, named after ':' as ssh names it ([user@]host)",
    stands_for: "whatever is at the other end: a VirtualBox, Hyper-V or VMware guest, a cloud machine, the Windows \
                 host's neighbour. The machine differs as well as the layer, unless both run on the same hardware. \
                 The agent is kept there in ~/.cache/tare under its content's hash, so that it is sent once.",
    instance: Some("[user@]host"),
    options: &[PORT, IDENTITY, CONFIG, FOLDER],
    roots: Roots::Own("an ssh host runs its own programs: what is there is inside"),
    by_default: &[],
    parse: |specification| Ok(Box::new(Ssh::of(specification)?)),
    preparation: None,
};

#[derive(Clone)]
struct Ssh {
    /// As ssh names it; none where the specification names none.
    machine: Option<String>,
    /// What every call of ssh is given.
    options: Vec<String>,
    folder: String,
}

impl Ssh {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        // Nobody is there to answer questions; and a terminal would change bytes.
        let mut options = ["-T", "-oBatchMode=yes", "-oConnectTimeout=10"].map(str::to_owned).to_vec();
        for (flag, option) in [("-p", PORT), ("-i", IDENTITY), ("-F", CONFIG)] {
            let given = option.given(specification);
            options.extend(given.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        let machine = specification.instance.clone().filter(|machine| !machine.starts_with('-'));
        Ok(Ssh { machine, options, folder: FOLDER.plain_folder(specification)? })
    }
}

impl Environment for Ssh {
    fn ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = program(programs, "ssh", "apt-get install openssh-client")?;
        let nobody = || NotReady::because("no machine is named: write ssh:host or ssh:user@host");
        let target = self.machine.clone().ok_or_else(nobody)?;
        let mut command = Command::new(&program);
        command.args(&self.options).args(["--", &target, "uname -m"]);
        let machine = programs::ask(&mut command, ANSWER_WAIT).map_err(|reason| NotReady {
            reason: format!("{target}: {reason}"),
            command: Some(format!("ssh {target} true")),
        })?;
        let machine = machine.trim();
        let agent = match machine == std::env::consts::ARCH {
            true => None,
            false => Some(Agent::of(agent_for(programs, machine)?)?),
        };
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", programs::version(&program, &["-V"]).unwrap_or_default());
        facts.note("runtime.target", &target);
        let Ssh { options, folder, .. } = self.clone();
        Ok(Ready::new(facts, move |workspace| {
            let socket = socket(workspace);
            let agent = agent.clone().unwrap_or_else(|| Agent::here(workspace));
            let connection =
                Connection { program: &program, options: &options, socket, target: &target, agent };
            connection.enter(&folder, workspace)
        }))
    }
}

/// Where the session's connection to a machine is shared; None where the path would be too long.
fn socket(workspace: &dyn Workspace) -> Option<PathBuf> {
    // %C is a hash of both ends, 40 characters long.
    let path = workspace.session_folder().join("ssh-%C");
    (path.as_os_str().len() + 38 <= LONGEST_SOCKET).then_some(path)
}

struct Connection<'a> {
    program: &'a Path,
    options: &'a [String],
    socket: Option<PathBuf>,
    target: &'a str,
    agent: Agent,
}

/// The program that is sent, and what distinguishes it from others there.
#[derive(Clone)]
struct Agent {
    path: PathBuf,
    sha256: String,
}

impl Agent {
    /// This program itself.
    fn here(workspace: &dyn Workspace) -> Agent {
        Agent { path: workspace.agent().to_owned(), sha256: workspace.agent_sha256().to_owned() }
    }

    /// One for another processor.
    fn of(path: PathBuf) -> Result<Agent, NotReady> {
        let bytes = fs::read(&path).map_err(NotReady::of(&path))?;
        Ok(Agent { sha256: hex(&Sha256::digest(bytes)), path })
    }

    /// Where it is kept there: in words that sh expands.
    fn cached(&self) -> String {
        format!("\"${{XDG_CACHE_HOME:-$HOME/.cache}}/tare/{}\"", self.sha256)
    }
}

impl Connection<'_> {
    fn enter(&self, folder: &str, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        self.connect(workspace)?;
        self.upload(workspace)?;
        let own = format!("{folder}/{}", workspace.name());
        let command = self.command(&agent_script(&own, &self.agent));
        let places = BTreeMap::from([("own".to_owned(), own)]);
        let host = self.here(workspace)?;
        Ok(Entrance { command, host, places, outside: Facts::default() })
    }

    /// Runs a script there, by the shared connection if there is one.
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.options);
        if let Some(socket) = &self.socket {
            command.arg("-S").arg(socket);
        }
        // The login shell there may be any; it only has to start sh.
        command.args(["--", self.target]).arg(format!("exec sh -c '{script}'"));
        command
    }

    /// Opens the connection that all starts of the session share. It stays until the session ends.
    fn connect(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut check = Command::new(self.program);
        check.args(self.options).arg("-S").arg(socket).args(["-O", "check", "--", self.target]);
        if programs::run(&mut check, ANSWER_WAIT).is_ok_and(|ended| ended.status.success()) {
            return Ok(());
        }
        let mut master = Command::new(self.program);
        master.args(self.options).args(["-M", "-N", "-f", "-oControlPersist=no", "-S"]).arg(socket);
        master.args(["--", self.target]).env(MARK, workspace.session_mark());
        programs::ask(&mut master, ANSWER_WAIT).map(drop).map_err(|cause| self.failed(cause))
    }

    /// Sends the agent, if it is not there.
    fn upload(&self, workspace: &dyn Workspace) -> Result<(), LabError> {
        // Once a session: each question is a round trip and a shell.
        let sent = workspace.session_folder().join(format!("ssh-sent-{}", self.digest()));
        if sent.exists() {
            return Ok(());
        }
        self.upload_if_missing()?;
        fs::write(&sent, "").map_err(|e| self.failed(format!("{}: {e}", sent.display())))
    }

    /// The address at which the other machine sees this one; None where it is that of a router between them.
    fn here(&self, workspace: &dyn Workspace) -> Result<Option<IpAddr>, LabError> {
        // Once a session, as for the agent.
        let kept = workspace.session_folder().join(format!("ssh-here-{}", self.digest()));
        let text = match fs::read_to_string(&kept) {
            Ok(text) => text,
            Err(_) => {
                let mut command = self.command("echo $SSH_CONNECTION");
                let text = programs::ask(&mut command, ANSWER_WAIT).map_err(|cause| self.failed(cause))?;
                fs::write(&kept, &text).map_err(|e| self.failed(format!("{}: {e}", kept.display())))?;
                text
            }
        };
        Ok(seen_from(&text).filter(|address| UdpSocket::bind((*address, 0)).is_ok()))
    }

    /// Distinguishes this connection from others: the same host may be reached by another configuration.
    fn digest(&self) -> String {
        let words = format!("{:?} {}", self.options, self.target);
        hex(&Sha256::digest(words)[..8])
    }

    fn upload_if_missing(&self) -> Result<(), LabError> {
        let cached = self.agent.cached();
        let script = format!("agent={cached}; if test -x \"$agent\"; then echo there; else echo missing; fi");
        let found = programs::ask(&mut self.command(&script), ANSWER_WAIT);
        if found.map_err(|cause| self.failed(cause))?.trim() == "there" {
            return Ok(());
        }
        let agent = open(&self.agent.path)?;
        let size_bytes = agent.1;
        // What is cut short must not be taken for the whole later.
        let script = format!(
            "agent={cached}; part=\"$agent.$$\"; mkdir -p \"${{agent%/*}}\" && cat > \"$part\" && \
             test \"$(wc -c < \"$part\")\" -eq {size_bytes} && chmod 700 \"$part\" && mv \"$part\" \"$agent\""
        );
        let sent = programs::ask_with(&mut self.command(&script), agent.0.into(), UPLOAD_WAIT);
        sent.map(drop).map_err(|cause| self.failed(format!("sending the agent: {cause}")))
    }

    fn failed(&self, cause: impl Into<Cause>) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot enter ssh:{}", self.target))
            .because(cause)
            .hint(format!("try: ssh {} true", self.target))
    }
}

/// The first word of SSH_CONNECTION (ssh(1)): the client's address. After `%` comes a device of that machine.
fn seen_from(connection: &str) -> Option<IpAddr> {
    connection.split_ascii_whitespace().next()?.split('%').next()?.parse().ok()
}

/// Runs the agent, and takes its folder away when it ends, as it does when the connection breaks. It bears no
/// mark of the session: where the far machine is this one, a cleaning would end the shell before it cleans up.
fn agent_script(own: &str, agent: &Agent) -> String {
    format!(
        "agent={}; mkdir -m 700 {own} || exit 1; trap \"rm -rf {own}\" EXIT; trap \"exit 1\" HUP INT TERM; \
         env -i \"$agent\" {}",
        agent.cached(),
        tare_probes::agent::AGENT,
    )
}

fn open(path: &Path) -> Result<(File, u64), LabError> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|data| (file, data.len())));
    opened.map_err(LabError::storage("read", path))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn options_become_flags_and_a_machine_is_not_one() {
        let of = |text| Ssh::of(&Specification::parse(text).unwrap());
        let ssh = of("ssh:me@host?port=2222&identity=/key").unwrap();
        assert_eq!(ssh.options[3..], ["-p", "2222", "-i", "/key"]);
        assert_eq!(ssh.machine.as_deref(), Some("me@host"));
        for text in ["ssh:-oProxyCommand=x", "ssh"] {
            assert_eq!(of(text).unwrap().machine, None);
        }
        assert!(of("ssh:host?folder=tmp").is_err());
    }

    #[test]
    fn the_client_is_the_first_of_a_connection() {
        assert_eq!(seen_from("127.0.0.1 40000 127.0.0.1 22"), Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(seen_from("fe80::1%eth0 1 fe80::2%eth0 22").unwrap().to_string(), "fe80::1");
        assert_eq!(seen_from(""), None);
    }
}

//! ssh: another machine, entered with the system's ssh and its configuration.

use std::net::{IpAddr, UdpSocket};

use crate::far::shell::{ANSWER_WAIT, Agent, FarShell, HOME_CACHE, hash_words};
use crate::owned::MARK;
use crate::provider::prelude::*;

/// Longest path of a control socket: the kernel allows 107 bytes, of which ssh adds 17 while it makes one.
const LONGEST_SOCKET: usize = 90;

const PORT: OptionDescription = OptionDescription::new_text(
    "port",
    "",
    "port of the other machine, where it is not the one in ssh's configuration",
);
const IDENTITY: OptionDescription = OptionDescription::new_text("identity", "", "file of the private key");
const CONFIG: OptionDescription =
    OptionDescription::new_text("config", "", "configuration file of ssh in place of the usual one");
const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "/var/tmp",
    "folder on the other machine, on a disk, in which the place 'own' is made",
);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "ssh",
    instance: Some("[user@]host"),
    parse: |specification| Ok(Box::new(Ssh::of(specification)?)),
    summary: "another machine, named after ':' as ssh names it ([user@]host)",
    short_description: "another machine over SSH",
    stands_for: "whatever is at the other end: a VirtualBox, Hyper-V or VMware guest, a cloud machine, the Windows \
                 host's neighbour. The machine differs as well as the layer, unless both run on the same hardware. \
                 The agent is kept there in ~/.cache/tare under its content's hash, so that it is sent once.",
    options: &[PORT, IDENTITY, CONFIG, FOLDER],
    descends: false,
    kernel: KernelFacts::OWN,
    roots: Roots::Own("an ssh host runs its own programs"),
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["ssh".into()],
        writes: Some("on the other machine: a copy of tare, and a folder for each start"),
        sends: Some("to that machine: a copy of tare, then requests of trials"),
        ..Footprint::from_starts("the agent on the other machine, over one connection")
    },
};

#[derive(Clone)]
struct Ssh {
    /// As ssh names it; none where the specification names none.
    machine: Option<String>,
    /// Options for every call of ssh.
    options: Vec<String>,
    folder: String,
}

impl Ssh {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        // Nobody is there to answer questions; and a terminal would change bytes.
        let mut options = ["-T", "-oBatchMode=yes", "-oConnectTimeout=10"].map(str::to_owned).to_vec();
        for (flag, option) in [("-p", PORT), ("-i", IDENTITY), ("-F", CONFIG)] {
            let given = option.read_non_empty(specification);
            options.extend(given.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        let machine = specification.instance.clone().filter(|machine| !machine.starts_with('-'));
        Ok(Ssh { machine, options, folder: FOLDER.plain_folder(specification)? })
    }
}

impl Environment for Ssh {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "ssh", "apt-get install openssh-client")?;
        let nobody = || NotReady::from_reason("no machine is named: write ssh:host or ssh:user@host");
        let target = self.machine.clone().ok_or_else(nobody)?;
        let mut command = programs::command(&program);
        command.args(&self.options).args(["--", &target, "uname -m"]);
        let machine = programs::run_for_output(&mut command, ANSWER_WAIT).map_err(|reason| NotReady {
            reason: format!("{target}: {reason}"),
            command: Some(format!("ssh {target} true")),
        })?;
        let agent = Agent::for_machine(programs, machine.trim())?;
        let build = agent.as_ref().and_then(Agent::identity);
        let version = programs::read_program_version(&program, &["-V"]).unwrap_or_default();
        let mut facts = note_runtime(&program, &version);
        facts.add_fact("runtime.target", &target);
        let Ssh { options, folder, .. } = self.clone();
        Ok(Ready::new(facts, move |workspace| {
            let socket = socket(workspace);
            let connection = Connection { program: &program, options: &options, socket, target: &target };
            let command = |script: &str| connection.command(script);
            let shell = FarShell {
                name: format!("ssh:{target}"),
                try_out: format!("ssh {target} true"),
                command: &command,
                cache: HOME_CACHE,
                agent: agent.clone().map_or_else(|| Agent::from_workspace(workspace), Ok)?,
                digest: hash_words(&format!("{options:?} {target}")),
            };
            connection.open(workspace).map_err(|cause| shell.entering_error(cause))?;
            let host = here(&shell, workspace)?;
            shell.prepare_entrance(&folder, host.map(HostPath::only_out), workspace)
        })
        .with_agent(build))
    }
}

/// Builds the path of the socket that shares the session's connection to a machine, unless it is too long.
fn socket(workspace: &dyn Workspace) -> Option<PathBuf> {
    // %C is a hash of both ends, 40 characters long.
    let path = workspace.session_folder().join("ssh-%C");
    (path.as_os_str().len() + 38 <= LONGEST_SOCKET).then_some(path)
}

struct Connection<'a> {
    program: &'a Found,
    options: &'a [String],
    socket: Option<PathBuf>,
    target: &'a str,
}

impl Connection<'_> {
    /// Runs a script there, by the shared connection if there is one.
    fn command(&self, script: &str) -> Command {
        let mut command = programs::command(self.program);
        command.args(self.options);
        if let Some(socket) = &self.socket {
            command.arg("-S").arg(socket);
        }
        // The login shell there may be any; it only has to start sh.
        command.args(["--", self.target]).arg(format!("exec sh -c '{script}'"));
        command
    }

    /// Opens the connection that all starts of the session share. It stays until the session ends.
    fn open(&self, workspace: &dyn Workspace) -> std::io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut check = programs::command(self.program);
        check.args(self.options).arg("-S").arg(socket).args(["-O", "check", "--", self.target]);
        if programs::run_program(&mut check, ANSWER_WAIT).is_ok_and(|ended| ended.status.success()) {
            return Ok(());
        }
        let mut master = programs::command(self.program);
        master.args(self.options).args(["-M", "-N", "-f", "-oControlPersist=no", "-S"]).arg(socket);
        master.args(["--", self.target]).env(MARK, workspace.session_mark());
        programs::run_for_output(&mut master, ANSWER_WAIT).map(drop)
    }
}

/// Finds this machine's address as the other machine sees it, unless that is the address of a router in
/// between.
fn here(shell: &FarShell<'_>, workspace: &dyn Workspace) -> Result<Option<IpAddr>, LabError> {
    // Once a session, as for the agent.
    let question = format!("ssh-here-{}", shell.digest);
    let text = match workspace.recall(&question) {
        Some(text) => text,
        None => {
            let text = shell.run_script("echo $SSH_CONNECTION")?;
            workspace.remember(&question, &text);
            text
        }
    };
    Ok(seen_from(&text).filter(|address| UdpSocket::bind((*address, 0)).is_ok()))
}

/// Parses the client's address, the first word of SSH_CONNECTION (ssh(1)). A device of that machine follows
/// after `%`.
fn seen_from(connection: &str) -> Option<IpAddr> {
    connection.split_ascii_whitespace().next()?.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn options_become_flags_and_a_machine_is_not_one() {
        let of = |text: &str| Ssh::of(&text.parse().unwrap());
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

//! The network of a container: none but its own, the host's, or a way to the lab's network.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::host::network_device;
use crate::host::network_namespace as namespaces;
use crate::network::lab::{self, Wire, make_network_error};
use crate::network::passt;
use crate::owned::MARK;
use crate::platform::until_ready;
use crate::provider::Published;
use crate::provider::prelude::*;

choice! {
    /// The network of a container, as a specification names it.
    pub enum Net: "net",
        "own: a namespace with nothing but loopback; host: the host's network; veth: a pair of virtual \
         Ethernet devices to the session's own network, where the peer `host` is; bridge: the same by a \
         bridge; nat: by a router that translates addresses; slirp: by a network stack in user space \
         (slirp4netns); pasta: by one that opens a socket of the host's for each flow, as rootless Podman since 5.0"
    {
        Own = "own",
        Host = "host",
        Veth = "veth",
        Bridge = "bridge",
        Nat = "nat",
        Slirp = "slirp",
        Pasta = "pasta",
    }
}

const NFT: &str = "nft";
const IPTABLES: &str = "iptables";
const INSTALL_NFT: &str = "apt-get install nftables";
const SLIRP: &str = "slirp4netns";
const INSTALL_SLIRP: &str = "apt-get install slirp4netns";
/// The device that the router sends by, and the one on the container's side.
const OUT: &str = lab::INSIDE;
const BEHIND: &str = "behind";
/// Time that setting up rules, or a stack in user space, may take: some ms.
const READY_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct ContainerNetwork {
    /// True when the container is to make its own namespace.
    pub is_own: bool,
    /// A namespace that was made for it.
    pub namespace: Option<PathBuf>,
    /// Path to the host's peer, and back.
    pub host: Option<HostPath>,
}

impl ContainerNetwork {
    /// A namespace that the container makes by itself, with nothing but loopback.
    pub const OWN: ContainerNetwork = ContainerNetwork { is_own: true, namespace: None, host: None };
    pub const HOST: ContainerNetwork =
        ContainerNetwork { is_own: false, namespace: None, host: Some(HostPath::LOOPBACK) };

    /// Lets the command start where the container's network is, unless it makes it by itself.
    pub fn inherit_network(&self, command: &mut Command) -> Result<(), LabError> {
        let Some(namespace) = &self.namespace else { return Ok(()) };
        namespaces::inherit_namespace(command, namespace)
            .map_err(|e| make_network_error("opening a network namespace", e))
    }
}

/// A network that can be had.
#[derive(Clone, Debug)]
pub enum Way {
    Own,
    Host,
    Lab(Attachment),
}

/// Attachment of a namespace to the lab's network, with the programs that this needs.
#[derive(Clone, Debug)]
pub enum Attachment {
    Veth,
    Bridge,
    Nat(Translator),
    Slirp(Found),
    Pasta(Found),
}

#[derive(Clone, Debug)]
pub enum Translator {
    Nft(Found),
    Iptables(Found),
}

impl Net {
    /// Gives the kind of namespace that it makes.
    pub fn kinds_made(self) -> Kinds {
        Kinds::NETWORK.only_if(self != Net::Host)
    }

    pub fn check_ready(self, programs: &Programs) -> Result<Way, NotReady> {
        let attachment = match self {
            Net::Own => return Ok(Way::Own),
            Net::Host => return Ok(Way::Host),
            Net::Veth => Attachment::Veth,
            Net::Bridge => Attachment::Bridge,
            Net::Nat => {
                let nft = programs.find(NFT).map(Translator::Nft);
                let translator = nft.or_else(|| programs.find(IPTABLES).map(Translator::Iptables));
                let missing = || NotReady::missing_program("nft (nor iptables)", INSTALL_NFT);
                Attachment::Nat(translator.ok_or_else(missing)?)
            }
            Net::Slirp => {
                let slirp = require_program(programs, SLIRP, INSTALL_SLIRP)?;
                lab::taps_ready()?;
                Attachment::Slirp(slirp)
            }
            Net::Pasta => {
                lab::taps_ready()?;
                Attachment::Pasta(passt::find_program(programs, passt::PASTA)?)
            }
        };
        lab::check_lab_ready().map(|()| Way::Lab(attachment))
    }
}

impl Way {
    /// Prepares this network for one start.
    pub fn prepare_network(
        &self,
        workspace: &mut dyn Workspace,
        outside: &mut Facts,
    ) -> Result<ContainerNetwork, LabError> {
        match self {
            Way::Own => Ok(ContainerNetwork::OWN),
            Way::Host => {
                outside.add_fact("path.net", Net::Host.name());
                Ok(ContainerNetwork::HOST)
            }
            Way::Lab(attachment) => attachment.make_namespace(workspace, outside),
        }
    }
}

impl Attachment {
    fn net(&self) -> Net {
        match self {
            Attachment::Veth => Net::Veth,
            Attachment::Bridge => Net::Bridge,
            Attachment::Nat(_) => Net::Nat,
            Attachment::Slirp(_) => Net::Slirp,
            Attachment::Pasta(_) => Net::Pasta,
        }
    }

    /// Makes a namespace with a way to the lab's network.
    pub fn make_namespace(
        &self,
        workspace: &mut dyn Workspace,
        outside: &mut Facts,
    ) -> Result<ContainerNetwork, LabError> {
        let name = self.net().name();
        let lab = lab::ensure_lab_namespace(workspace)?;
        let inside = lab::own_namespace(workspace, "")?;
        let start = workspace.number();
        let device = lab::make_device_name(name, start);
        let wire = Wire::from_start(start, false);
        let port = lab::published_port(start);
        // A stack in user space has no device in the lab, and addresses of its own.
        let (address, published) = match self {
            Attachment::Veth => {
                lab::lay_wire(workspace, (&lab, &device), &inside, wire)?;
                (Some(wire), Some(Published::AnyPort))
            }
            Attachment::Bridge => {
                lab::join_bridge(workspace, &lab, &device, &inside, Wire::from_bridged_start(start))?;
                outside.add_fact("path.bridge", "one of the session's own");
                (Some(Wire::from_bridged_start(start)), Some(Published::AnyPort))
            }
            Attachment::Nat(translator) => {
                let router = lab::own_namespace(workspace, "-router")?;
                lab::lay_wire(workspace, (&lab, &device), &router, wire)?;
                lab::lay_wire(workspace, (&router, BEHIND), &inside, Wire::from_start(start, true))?;
                let behind = Wire::from_start(start, true);
                outside.add_fact("path.nat", translator.translate(workspace, &router, (behind.far, port))?);
                (Some(behind), Some(Published::Port(port)))
            }
            Attachment::Slirp(program) => {
                slirp(program, workspace, &lab, &inside)?;
                outside.add_fact("path.nat", "in user space, by slirp4netns");
                (None, None)
            }
            Attachment::Pasta(program) => {
                passt::start_pasta(program, workspace, (&lab, &inside), port)?;
                outside.add_fact("path.nat", "in user space, by pasta");
                (None, Some(Published::Port(port)))
            }
        };
        lab::note_lab_facts(outside, name, &lab, address.map(|_| device.as_str()));
        outside.add_fact("path.address", address.map(|wire| wire.far.to_string()).unwrap_or_default());
        Ok(ContainerNetwork {
            is_own: false,
            namespace: Some(inside),
            host: Some(lab::describe_path(published)),
        })
    }
}

impl Translator {
    /// Lets a router put its own address in place of those behind it, and pass a port on to one of them; returns by what.
    fn translate(
        &self,
        workspace: &dyn Workspace,
        router: &Path,
        (behind, port): (Ipv4Addr, u16),
    ) -> Result<&'static str, LabError> {
        namespaces::run_in_namespace(router, network_device::enable_forwarding)
            .map_err(|e| make_network_error("forwarding packets", e))?;
        let (commands, by) = match self {
            Translator::Nft(nft) => {
                let rules = format!(
                    "table ip tare {{ chain out {{ type nat hook postrouting priority 100; \
                     oifname \"{OUT}\" masquerade; }}; \
                     chain in {{ type nat hook prerouting priority -100; \
                     iifname \"{OUT}\" tcp dport {port} dnat to {behind}; \
                     iifname \"{OUT}\" udp dport {port} dnat to {behind}; }}; }}\n"
                );
                let file = workspace.folder().join("nat.nft");
                std::fs::write(&file, rules).map_err(|e| make_network_error("writing the rules", e))?;
                let mut command = programs::command(nft);
                command.arg("-f").arg(file);
                (vec![command], "masquerade, by nftables")
            }
            Translator::Iptables(iptables) => {
                let append = |words: &str| {
                    let mut command = programs::command(iptables);
                    command.args(["-t", "nat", "-A"]).args(words.split(' '));
                    command
                };
                let pass_on = |protocol: &str| {
                    append(&format!(
                        "PREROUTING -i {OUT} -p {protocol} --dport {port} -j DNAT --to-destination {behind}"
                    ))
                };
                let out = append(&format!("POSTROUTING -o {OUT} -j MASQUERADE"));
                (vec![out, pass_on("tcp"), pass_on("udp")], "masquerade, by iptables")
            }
        };
        for mut command in commands {
            // The mark identifies a process that outlives a killed session.
            command.env(MARK, workspace.mark());
            namespaces::inherit_namespace(&mut command, router)
                .map_err(|e| make_network_error("entering the router", e))?;
            programs::run_for_output(&mut command, READY_WAIT)
                .map_err(|e| make_network_error("translating addresses", e))?;
        }
        Ok(by)
    }
}

/// Starts a network stack in user space between a namespace and the lab's.
fn slirp(program: &Found, workspace: &mut dyn Workspace, lab: &Path, inside: &Path) -> Result<(), LabError> {
    // The end that it writes to must be there after exec.
    let (reader, writer) =
        pipe_with(PipeFlags::empty()).map_err(|e| make_network_error("making a pipe", e))?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC)
        .map_err(|e| make_network_error("making a pipe", e))?;
    let mut command = programs::command(program);
    command.args(["--configure", "--disable-dns", "--mtu", lab::USER_MTU, "--netns-type", "path"]);
    command.arg(format!("--ready-fd={}", writer.as_raw_fd())).arg(inside).arg(lab::INSIDE);
    namespaces::inherit_namespace(&mut command, lab)
        .map_err(|e| make_network_error("entering the lab's network", e))?;
    let log = workspace.start_companion(SLIRP, command)?;
    drop(writer);
    let is_there = until_ready(&mut [PollFd::new(&reader, PollFlags::IN)], READY_WAIT).unwrap_or(false);
    if is_there && matches!(rustix::io::read(&reader, &mut [0u8]), Ok(1)) {
        return Ok(());
    }
    let log = std::fs::read_to_string(log).unwrap_or_default();
    Err(make_network_error("starting slirp4netns", log.lines().last().unwrap_or("it does not get ready")))
}

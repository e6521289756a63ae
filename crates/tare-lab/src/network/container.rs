//! The network of a container: none but its own, the host's, or a way to the lab's network.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::network_device;
use crate::host::network_namespace as namespaces;
use crate::host::programs::{self, Programs};
use crate::network::lab::{self, Wire, failed};
use crate::provider::specification::Specification;
use crate::provider::{NotReady, OptionDescription, Workspace};

/// What a container's specification says of its network.
pub const NET: OptionDescription = OptionDescription {
    key: "net",
    default: "own",
    values: &["own", "host", "veth", "bridge", "nat", "slirp"],
    about: "own: a namespace with nothing but loopback; host: the host's network; veth: a pair of virtual \
            Ethernet devices to the session's own network, where the peer `host` is; bridge: the same by a \
            bridge; nat: by a router that translates addresses; slirp: by a network stack in user space \
            (slirp4netns)",
};

/// What translates addresses, and what is told to.
const NFT: &str = "nft";
const IPTABLES: &str = "iptables";
const INSTALL_NFT: &str = "apt-get install nftables";
const SLIRP: &str = "slirp4netns";
const INSTALL_SLIRP: &str = "apt-get install slirp4netns";
/// The device that the router sends by, and the one on the container's side.
const OUT: &str = lab::INSIDE;
const BEHIND: &str = "behind";
/// MTU that slirp4netns can have at most; Podman takes it as well.
const SLIRP_MTU: &str = "65520";
/// Time that setting up rules, or a stack in user space, may take: some ms.
const READY_WAIT: Duration = Duration::from_secs(10);

/// A container's network, prepared.
#[derive(Debug)]
pub struct ContainerNetwork {
    /// Whether the container is to make a namespace of its own.
    pub is_own: bool,
    /// A namespace that was made for it.
    pub namespace: Option<PathBuf>,
    /// Address at which it reaches the host's peer.
    pub host: Option<IpAddr>,
}

impl ContainerNetwork {
    /// Lets the command start where the container's network is, unless it makes it by itself.
    pub fn inherit(&self, command: &mut Command) -> Result<(), LabError> {
        let Some(namespace) = &self.namespace else { return Ok(()) };
        namespaces::inherit(command, namespace).map_err(|e| failed("opening a network namespace", e))
    }
}

/// Whether the network that a specification asks for can be had.
pub fn ready(net: &str, programs: &Programs) -> Result<(), NotReady> {
    match net {
        "own" | "none" | "host" => return Ok(()),
        "nat" if programs.find(NFT).or_else(|| programs.find(IPTABLES)).is_none() => {
            return Err(NotReady::missing("nft (nor iptables)", INSTALL_NFT));
        }
        "slirp" if programs.find(SLIRP).is_none() => return Err(NotReady::missing(SLIRP, INSTALL_SLIRP)),
        "slirp" if !network_device::taps_are_there() => {
            return Err(NotReady::because("this kernel has no taps (/dev/net/tun)"));
        }
        _ => {}
    }
    lab::ready()
}

/// Prepares the network that a specification asks for.
pub fn prepare(
    specification: &Specification,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<ContainerNetwork, LabError> {
    let net = NET.value(specification);
    match net {
        "own" => Ok(ContainerNetwork { is_own: true, namespace: None, host: None }),
        "host" => {
            outside.note("path.net", net);
            Ok(ContainerNetwork { is_own: false, namespace: None, host: Some(Ipv4Addr::LOCALHOST.into()) })
        }
        _ => attach(net, workspace, outside),
    }
}

/// Makes a namespace with a way to the lab's network: `veth`, `bridge`, `nat`, `slirp`.
pub fn attach(
    net: &str,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<ContainerNetwork, LabError> {
    let lab = lab::namespace(workspace)?;
    let inside = lab::own_namespace(workspace, "")?;
    let start = workspace.number();
    let device = lab::device(net, start);
    let wire = Wire::of(start, false);
    let mut near = Some(device.as_str());
    match net {
        "veth" => lab::lay_wire(workspace, (&lab, &device), &inside, wire)?,
        "bridge" => {
            lab::join_bridge(workspace, &lab, &device, &inside, Wire::bridged(start))?;
            outside.note("path.bridge", "one of the session's own");
        }
        "nat" => {
            let router = lab::own_namespace(workspace, "-router")?;
            lab::lay_wire(workspace, (&lab, &device), &router, wire)?;
            lab::lay_wire(workspace, (&router, BEHIND), &inside, Wire::of(start, true))?;
            outside.note("path.nat", translate(workspace, &router)?);
        }
        _ => {
            slirp(workspace, &lab, &inside)?;
            outside.note("path.nat", "in user space, by slirp4netns");
            near = None;
        }
    }
    lab::note(outside, net, &lab, near);
    let address = match net {
        "bridge" => Some(Wire::bridged(start)),
        "veth" => Some(wire),
        "nat" => Some(Wire::of(start, true)),
        _ => None,
    };
    outside.note("path.address", address.map(|wire| wire.far.to_string()).unwrap_or_default());
    Ok(ContainerNetwork { is_own: false, namespace: Some(inside), host: lab::host() })
}

/// Lets a router put its own address in place of those behind it; returns by what.
fn translate(workspace: &dyn Workspace, router: &Path) -> Result<&'static str, LabError> {
    namespaces::within(router, network_device::forward).map_err(|e| failed("forwarding packets", e))?;
    let (mut command, by) = match workspace.programs().find(NFT) {
        Some(nft) => {
            let rules = format!(
                "table ip tare {{ chain out {{ type nat hook postrouting priority 100; \
                 oifname \"{OUT}\" masquerade; }}; }}\n"
            );
            let file = workspace.folder().join("nat.nft");
            std::fs::write(&file, rules).map_err(|e| failed("writing the rules", e))?;
            let mut command = Command::new(nft);
            command.arg("-f").arg(file);
            (command, "masquerade, by nftables")
        }
        None => {
            let program = workspace.programs().find(IPTABLES);
            let program = program.ok_or_else(|| failed("translating addresses", "there is no nft"))?;
            let mut command = Command::new(program);
            command.args(["-t", "nat", "-A", "POSTROUTING", "-o", OUT, "-j", "MASQUERADE"]);
            (command, "masquerade, by iptables")
        }
    };
    namespaces::inherit(&mut command, router).map_err(|e| failed("entering the router", e))?;
    match programs::run(&mut command, READY_WAIT) {
        Ok(ended) if ended.status.success() => Ok(by),
        Ok(ended) => Err(failed("translating addresses", ended.first_line())),
        Err(e) => Err(failed("translating addresses", e)),
    }
}

/// Starts a network stack in user space between a namespace and the lab's.
fn slirp(workspace: &mut dyn Workspace, lab: &Path, inside: &Path) -> Result<(), LabError> {
    let program = workspace.programs().find(SLIRP).ok_or_else(|| failed("starting it", "no slirp4netns"))?;
    // The end that it writes to must be there after exec.
    let (reader, writer) = pipe_with(PipeFlags::empty()).map_err(|e| failed("making a pipe", e))?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC).map_err(|e| failed("making a pipe", e))?;
    let mut command = Command::new(program);
    command.args(["--configure", "--disable-dns", "--mtu", SLIRP_MTU, "--netns-type", "path"]);
    command.arg(format!("--ready-fd={}", writer.as_raw_fd())).arg(inside).arg(lab::INSIDE);
    namespaces::inherit(&mut command, lab).map_err(|e| failed("entering the lab's network", e))?;
    let said = workspace.accompany(SLIRP, command)?;
    drop(writer);
    let mut byte = [0u8];
    if wait_for(&reader, READY_WAIT) && matches!(rustix::io::read(&reader, &mut byte), Ok(1)) {
        return Ok(());
    }
    let said = std::fs::read_to_string(said).unwrap_or_default();
    Err(failed("starting slirp4netns", said.lines().last().unwrap_or("it does not get ready")))
}

/// Waits for a byte, or the end; false when the time is up.
fn wait_for(pipe: impl AsFd, wait: Duration) -> bool {
    let end = Instant::now() + wait;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) if Instant::now() < end => {}
            Err(_) => return false,
        }
    }
}

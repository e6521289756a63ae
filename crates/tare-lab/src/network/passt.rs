//! passt and pasta: a network stack in user space in front of a guest or a namespace, as rootless Podman has it since 5.0.
//!
//! Both are one program. It opens a socket here for each flow of the environment, and listens here at the ports that it publishes.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::error::LabError;
use crate::host::network_namespace as namespaces;
use crate::host::programs::{self, Found, Programs};
use crate::host::waiting::until_found;
use crate::network::lab::{self, USER_MTU, Wire, make_network_error};
use crate::provider::{NotReady, Workspace, require_program};

pub const PASTA: &str = "pasta";
pub const PASST: &str = "passt";
const INSTALL: &str = "apt-get install passt";
/// Addresses that it gives, which are QEMU's own stack's: no other network knows of them.
pub const WIRE: Wire = lab::USER_WIRE;
const NETMASK: &str = "255.255.255.0";
/// Hardware address of its end. It would take that of the lab's device, and loopback has none.
const HARDWARE: &str = "02:00:00:00:00:01";
/// Time in which it must be there: some ms.
const READY_WAIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Finds the program by one of its names.
pub fn find_program(programs: &Programs, name: &str) -> Result<Found, NotReady> {
    require_program(programs, name, INSTALL)
}

/// Starts pasta between a namespace and the lab's.
pub fn start_pasta(
    program: &Found,
    workspace: &mut dyn Workspace,
    (lab, inside): (&Path, &Path),
    port: u16,
) -> Result<(), LabError> {
    let mut command = make_command(program, port);
    command.args(["--config-net", "--ns-ifname", lab::INSIDE, "--tcp-ns", "none", "--udp-ns", "none"]);
    command.arg("--netns-only").arg("--netns").arg(inside);
    // Its device is there before the addresses and the route. Connecting a datagram socket sends nothing, and needs a route.
    let connect = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.connect((lab::ADDRESS, port));
    let is_there = || namespaces::run_in_namespace(inside, connect).ok();
    start(PASTA, command, workspace, lab, is_there)
}

/// Starts passt for a guest in the lab's network. Returns its socket as a name in the start's folder, since a
/// whole path may be too long for a socket.
pub fn start_passt(
    program: &Found,
    workspace: &mut dyn Workspace,
    lab: &Path,
    port: u16,
) -> Result<String, LabError> {
    let socket = "passt.socket";
    let mut command = make_command(program, port);
    command.current_dir(workspace.folder()).args(["--socket", socket]);
    let path = workspace.folder().join(socket);
    start(PASST, command, workspace, lab, || path.exists().then_some(()))?;
    Ok(socket.to_owned())
}

fn make_command(program: &Found, port: u16) -> Command {
    let mut command = programs::command(program);
    command.env_clear().args(["--foreground", "--stderr", "--quiet", "--ipv4-only", "--runas", "0:0"]);
    command.args(["--no-dhcp", "--no-dhcpv6", "--no-ndp", "--no-ra", "--no-map-gw", "--mtu", USER_MTU]);
    command.args(["--interface", "lo", "--mac-addr", HARDWARE, "--netmask", NETMASK]);
    command.args(["--address", &WIRE.far.to_string(), "--gateway", &WIRE.near.to_string()]);
    let published = format!("{}/{port}", lab::ADDRESS);
    command.args(["--tcp-ports", &published, "--udp-ports", &published]);
    command
}

fn start(
    name: &str,
    mut command: Command,
    workspace: &mut dyn Workspace,
    lab: &Path,
    is_there: impl Fn() -> Option<()>,
) -> Result<(), LabError> {
    namespaces::inherit_namespace(&mut command, lab)
        .map_err(|e| make_network_error("entering the lab's network", e))?;
    let log = workspace.start_companion(name, command)?;
    match until_found(READY_WAIT, LOOK_AGAIN, is_there) {
        Some(()) => Ok(()),
        None => {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let last = log.lines().rfind(|line| !line.starts_with("Failed to send"));
            let last = last.unwrap_or("it does not get ready");
            Err(make_network_error(&format!("starting {name}"), last))
        }
    }
}

//! The lab's network: a namespace of the session's own where the host's peer listens, and ways from
//! environments to it. Nothing of this machine's own network is changed.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;
use tare_probes::facts::network as network_facts;

use crate::error::{Cause, ErrorKind, LabError};
pub(crate) use crate::host::namespace_names::lab_namespace_name;
use crate::host::network_device::{self, Network};
use crate::host::network_namespace as namespaces;
use crate::owned::Owned;
use crate::provider::{HostPath, NotReady, Published, Workspace};

/// Address of the host's peer in the lab's network: of 198.18.0.0/15, which RFC 2544 reserves for measuring
/// networks. No other network knows of it.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// Question by which a session remembers that the lab's network is there.
const NETWORK: &str = "lab-network";
/// The bridge, its address, and the network of all that are on it.
const BRIDGE: &str = "bridge";
const BRIDGED: u32 = u32::from_be_bytes([198, 19, 0, 0]);
const BRIDGED_PREFIX: u8 = 16;
/// Networks of two, one for each wire: two wires a start from here on.
const WIRES: u32 = u32::from_be_bytes([198, 18, 4, 0]);
const WIRE_PREFIX: u8 = 30;
/// Addresses of a wire, and of both wires of a start.
const WIRE: u32 = 4;
const WIRES_A_START: u32 = 2 * WIRE;
/// Starts that have addresses of their own, so that none meets what its forerunner left in a table: to the end
/// of 198.18.0.0/16. A later one has those of a start long gone.
const STARTS: u32 = 8_000;
/// Port that the first start publishes.
const FIRST_PUBLISHED: u16 = 20_000;
/// Network that stacks in user space give an environment (QEMU's manual, "-netdev user").
pub const USER_WIRE: Wire =
    Wire { near: Ipv4Addr::new(10, 0, 2, 2), far: Ipv4Addr::new(10, 0, 2, 15), prefix: 24 };
/// MTU that stacks in user space can have at most; Podman takes it as well.
pub const USER_MTU: &str = "65520";
/// Name of an environment's device inside.
pub const INSIDE: &str = "eth0";

/// Attachment of a start: its addresses follow from its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Address of this end, in the lab.
    pub near: Ipv4Addr,
    /// Address of the environment's end.
    pub far: Ipv4Addr,
    pub prefix: u8,
}

impl Wire {
    /// Computes the first or second wire of a start.
    pub fn from_start(start: u32, second: bool) -> Wire {
        let network = WIRES + start % STARTS * WIRES_A_START + if second { WIRE } else { 0 };
        Wire { near: Ipv4Addr::from(network + 1), far: Ipv4Addr::from(network + 2), prefix: WIRE_PREFIX }
    }

    pub fn from_bridged_start(start: u32) -> Wire {
        let far = Ipv4Addr::from(BRIDGED + 2 + start % STARTS);
        Wire { near: Ipv4Addr::from(BRIDGED + 1), far, prefix: BRIDGED_PREFIX }
    }

    pub fn near_network(self) -> Network {
        (self.near, self.prefix)
    }

    pub fn far_network(self) -> Network {
        (self.far, self.prefix)
    }
}

/// Checks that namespaces and devices can be made here.
pub fn check_lab_ready() -> Result<(), NotReady> {
    if namespaces::can_make_network_namespace() {
        return Ok(());
    }
    Err(NotReady::from_reason("only root may make network devices here: take net=own or net=host"))
}

pub fn taps_ready() -> Result<(), NotReady> {
    match network_device::taps_are_there() {
        true => Ok(()),
        false => Err(NotReady::from_reason("this kernel has no taps (/dev/net/tun)")),
    }
}

/// Returns the lab's namespace, made when it is first needed. It stays until the session ends.
pub fn ensure_lab_namespace(workspace: &mut dyn Workspace) -> Result<PathBuf, LabError> {
    let name = lab_namespace_name(workspace.session_mark());
    let path = namespaces::namespace_path(&name);
    if workspace.recall(NETWORK).is_some() {
        return Ok(path);
    }
    workspace.own_for_session(Owned::NetworkNamespace(name.clone()))?;
    let make = || {
        let path = namespaces::make_namespace(&name)?;
        namespaces::run_in_namespace(&path, || network_device::set_address("lo", (ADDRESS, 32)))
    };
    make().map_err(|e| make_network_error("making the lab's network", e))?;
    workspace.remember(NETWORK, "");
    Ok(path)
}

/// Makes a namespace of this start's own, named after it with an ending.
pub fn own_namespace(workspace: &mut dyn Workspace, ending: &str) -> Result<PathBuf, LabError> {
    let name = format!("{}{ending}", workspace.name());
    workspace.record_owned(Owned::NetworkNamespace(name.clone()))?;
    namespaces::make_namespace(&name).map_err(|e| make_network_error("making a network namespace", e))
}

/// Lays a wire between two namespaces: a pair of virtual Ethernet devices, `near` here and [`INSIDE`] there, where
/// it is the way to everything else.
pub fn lay_wire(
    workspace: &mut dyn Workspace,
    (here, near): (&Path, &str),
    there: &Path,
    wire: Wire,
) -> Result<(), LabError> {
    make_pair(workspace, (here, near), there)?;
    let done = namespaces::run_in_namespace(here, || {
        network_device::set_address(near, wire.near_network())?;
        network_device::bring_up_device(near)
    });
    done.and_then(|()| namespaces::run_in_namespace(there, || set_up_device(INSIDE, wire)))
        .map_err(|e| make_network_error("addressing a network device", e))
}

/// Puts an environment on the lab's bridge.
pub fn join_bridge(
    workspace: &mut dyn Workspace,
    lab: &Path,
    near: &str,
    there: &Path,
    wire: Wire,
) -> Result<(), LabError> {
    if workspace.recall(BRIDGE).is_none() {
        workspace.own_for_session(device_of(lab, BRIDGE))?;
        namespaces::run_in_namespace(lab, || {
            network_device::make_bridge(BRIDGE)?;
            network_device::set_address(BRIDGE, wire.near_network())?;
            network_device::bring_up_device(BRIDGE)
        })
        .map_err(|e| make_network_error("making the lab's bridge", e))?;
        workspace.remember(BRIDGE, "");
    }
    make_pair(workspace, (lab, near), there)?;
    let done = namespaces::run_in_namespace(lab, || {
        network_device::attach_to_bridge(near, BRIDGE)?;
        network_device::bring_up_device(near)
    });
    done.and_then(|()| namespaces::run_in_namespace(there, || set_up_device(INSIDE, wire)))
        .map_err(|e| make_network_error("joining the lab's bridge", e))
}

/// Makes the lab's end of a virtual machine's network.
pub fn make_tap(workspace: &mut dyn Workspace, lab: &Path, device: &str, wire: Wire) -> Result<(), LabError> {
    workspace.record_owned(device_of(lab, device))?;
    let done = namespaces::run_in_namespace(lab, || {
        network_device::make_tap(device)?;
        network_device::set_address(device, wire.near_network())?;
        network_device::bring_up_device(device)
    });
    done.map_err(|e| make_network_error("making a tap", e))
}

/// Gives a device its address, and makes it the way to everything.
pub fn set_up_device(device: &str, wire: Wire) -> io::Result<()> {
    network_device::set_address(device, wire.far_network())?;
    network_device::bring_up_device(device)?;
    network_device::route_by(wire.near)
}

/// Builds the name of a start's device in the lab: no longer than a device's name may be.
pub fn make_device_name(kind: &str, start: u32) -> String {
    format!("{kind}{start}")
}

/// Notes what the lab knows of the way from an environment to the host's peer.
pub fn note_lab_facts(facts: &mut Facts, net: &str, lab: &Path, device: Option<&str>) {
    facts.add_fact("path.net", net);
    facts.add_fact("path.host", ADDRESS.to_string());
    let noted = namespaces::run_in_namespace(lab, || {
        let mut facts = Facts::default();
        if let Some(device) = device {
            network_facts::note_device(&mut facts, "path.device", device);
        }
        network_facts::note_settings(&mut facts, "path");
        Ok(facts)
    });
    // A fact that cannot be had is absent.
    noted.unwrap_or_default().0.into_iter().for_each(|(key, value)| facts.add_fact(key, value));
}

/// Describes the path of an environment to the lab.
pub fn describe_path(published: Option<Published>) -> HostPath {
    HostPath { address: ADDRESS.into(), published }
}

/// Computes the port that a start publishes: with the lab's address it is its alone, and below those that the system gives
/// away.
pub fn published_port(start: u32) -> u16 {
    FIRST_PUBLISHED + (start % STARTS) as u16
}

fn make_pair(
    workspace: &mut dyn Workspace,
    (here, near): (&Path, &str),
    there: &Path,
) -> Result<(), LabError> {
    workspace.record_owned(device_of(here, near))?;
    let make = || {
        let there = fs::File::open(there)?;
        namespaces::run_in_namespace(here, || network_device::make_veth(near, INSIDE, &there))
    };
    make().map_err(|e| make_network_error("making a pair of network devices", e))
}

fn device_of(namespace: &Path, device: &str) -> Owned {
    let namespace = namespace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Owned::NetworkDevice { namespace, device: device.to_owned() }
}

pub fn make_network_error(what: &str, cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Environment, "cannot set up a path to the lab's network")
        .while_doing(what, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_have_addresses_of_their_own() {
        let wires = [
            Wire::from_start(0, false),
            Wire::from_start(0, true),
            Wire::from_start(1, false),
            Wire::from_start(STARTS - 1, true),
        ];
        let far: Vec<String> = wires.iter().map(|wire| wire.far.to_string()).collect();
        assert_eq!(far, ["198.18.4.2", "198.18.4.6", "198.18.4.10", "198.18.253.254"]);
        assert_eq!(Wire::from_start(STARTS, false).near, Wire::from_start(0, false).near);
        assert_eq!(Wire::from_bridged_start(7).far, Ipv4Addr::new(198, 19, 0, 9));
        assert_eq!(Wire::from_bridged_start(STARTS - 1).far, Ipv4Addr::new(198, 19, 31, 65));
    }

    #[test]
    fn names_of_devices_are_short_enough() {
        assert!(make_device_name("wire", 99_999).len() < libc::IFNAMSIZ);
        assert_eq!(lab_namespace_name("a1"), "tare-a1-lab");
    }
}

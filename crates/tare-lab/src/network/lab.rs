//! The lab's network: a namespace of the session's own where the host's peer listens, and ways from
//! environments to it. Nothing of this machine's own network is changed.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;
use tare_probes::facts::network as network_facts;

use crate::error::{Cause, ErrorKind, LabError};
pub(crate) use crate::host::namespace_names::lab as name;
use crate::host::network_device::{self, Network};
use crate::host::network_namespace as namespaces;
use crate::owned::Owned;
use crate::provider::{NotReady, Workspace};

/// Address of the host's peer in the lab's network: of 198.18.0.0/15, which RFC 2544 reserves for measuring
/// networks. No other network knows of it.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

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
    pub fn of(start: u32, second: bool) -> Wire {
        let network = WIRES + start % STARTS * WIRES_A_START + if second { WIRE } else { 0 };
        Wire { near: Ipv4Addr::from(network + 1), far: Ipv4Addr::from(network + 2), prefix: WIRE_PREFIX }
    }

    pub fn bridged(start: u32) -> Wire {
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
pub fn ready() -> Result<(), NotReady> {
    if namespaces::permitted() {
        return Ok(());
    }
    Err(NotReady::because("only root may make network devices here: take net=own or net=host"))
}

pub fn taps_ready() -> Result<(), NotReady> {
    match network_device::taps_are_there() {
        true => Ok(()),
        false => Err(NotReady::because("this kernel has no taps (/dev/net/tun)")),
    }
}

/// Returns the lab's namespace, made when it is first needed. It stays until the session ends.
pub fn namespace(workspace: &mut dyn Workspace) -> Result<PathBuf, LabError> {
    let name = name(workspace.session_mark());
    let made = workspace.session_folder().join("lab-network");
    let path = namespaces::path(&name);
    if made.exists() {
        return Ok(path);
    }
    workspace.own_for_session(Owned::NetworkNamespace(name.clone()))?;
    let make = || {
        let path = namespaces::make(&name)?;
        namespaces::within(&path, || network_device::address("lo", (ADDRESS, 32)))?;
        fs::write(&made, "")
    };
    make().map_err(|e| failed("making the lab's network", e))?;
    Ok(path)
}

/// Makes a namespace of this start's own, named after it with an ending.
pub fn own_namespace(workspace: &mut dyn Workspace, ending: &str) -> Result<PathBuf, LabError> {
    let name = format!("{}{ending}", workspace.name());
    workspace.own(Owned::NetworkNamespace(name.clone()))?;
    namespaces::make(&name).map_err(|e| failed("making a network namespace", e))
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
    let done = namespaces::within(here, || {
        network_device::address(near, wire.near_network())?;
        network_device::raise(near)
    });
    done.and_then(|()| namespaces::within(there, || settle(INSIDE, wire)))
        .map_err(|e| failed("addressing a network device", e))
}

/// Puts an environment on the lab's bridge.
pub fn join_bridge(
    workspace: &mut dyn Workspace,
    lab: &Path,
    near: &str,
    there: &Path,
    wire: Wire,
) -> Result<(), LabError> {
    let made = workspace.session_folder().join("lab-bridge");
    if !made.exists() {
        workspace.own_for_session(device_of(lab, BRIDGE))?;
        let make = || {
            namespaces::within(lab, || {
                network_device::make_bridge(BRIDGE)?;
                network_device::address(BRIDGE, wire.near_network())?;
                network_device::raise(BRIDGE)
            })?;
            fs::write(&made, "")
        };
        make().map_err(|e| failed("making the lab's bridge", e))?;
    }
    make_pair(workspace, (lab, near), there)?;
    let done = namespaces::within(lab, || {
        network_device::join(near, BRIDGE)?;
        network_device::raise(near)
    });
    done.and_then(|()| namespaces::within(there, || settle(INSIDE, wire)))
        .map_err(|e| failed("joining the lab's bridge", e))
}

/// Makes the lab's end of a virtual machine's network.
pub fn make_tap(workspace: &mut dyn Workspace, lab: &Path, device: &str, wire: Wire) -> Result<(), LabError> {
    workspace.own(device_of(lab, device))?;
    let done = namespaces::within(lab, || {
        network_device::make_tap(device)?;
        network_device::address(device, wire.near_network())?;
        network_device::raise(device)
    });
    done.map_err(|e| failed("making a tap", e))
}

/// Gives a device its address, and makes it the way to everything.
pub fn settle(device: &str, wire: Wire) -> io::Result<()> {
    network_device::address(device, wire.far_network())?;
    network_device::raise(device)?;
    network_device::route_by(wire.near)
}

/// Builds the name of a start's device in the lab: no longer than a device's name may be.
pub fn device(kind: &str, start: u32) -> String {
    format!("{kind}{start}")
}

/// Notes what the lab knows of the way from an environment to the host's peer.
pub fn note(facts: &mut Facts, net: &str, lab: &Path, device: Option<&str>) {
    facts.note("path.net", net);
    facts.note("path.host", ADDRESS.to_string());
    let noted = namespaces::within(lab, || {
        let mut facts = Facts::default();
        if let Some(device) = device {
            network_facts::note_device(&mut facts, "path.device", device);
        }
        network_facts::note_settings(&mut facts, "path");
        Ok(facts)
    });
    // A fact that cannot be had is absent.
    noted.unwrap_or_default().0.into_iter().for_each(|(key, value)| facts.note(key, value));
}

/// Returns the address of the lab, as an environment reaches it.
pub fn host() -> Option<IpAddr> {
    Some(ADDRESS.into())
}

fn make_pair(
    workspace: &mut dyn Workspace,
    (here, near): (&Path, &str),
    there: &Path,
) -> Result<(), LabError> {
    workspace.own(device_of(here, near))?;
    let make = || {
        let there = fs::File::open(there)?;
        namespaces::within(here, || network_device::make_veth(near, INSIDE, &there))
    };
    make().map_err(|e| failed("making a pair of network devices", e))
}

fn device_of(namespace: &Path, device: &str) -> Owned {
    let namespace = namespace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Owned::NetworkDevice { namespace, device: device.to_owned() }
}

pub fn failed(what: &str, cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Environment, "cannot set up a path to the lab's network")
        .while_doing(what, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_have_addresses_of_their_own() {
        let wires = [Wire::of(0, false), Wire::of(0, true), Wire::of(1, false), Wire::of(STARTS - 1, true)];
        let far: Vec<String> = wires.iter().map(|wire| wire.far.to_string()).collect();
        assert_eq!(far, ["198.18.4.2", "198.18.4.6", "198.18.4.10", "198.18.253.254"]);
        assert_eq!(Wire::of(STARTS, false).near, Wire::of(0, false).near);
        assert_eq!(Wire::bridged(7).far, Ipv4Addr::new(198, 19, 0, 9));
        assert_eq!(Wire::bridged(STARTS - 1).far, Ipv4Addr::new(198, 19, 31, 65));
    }

    #[test]
    fn names_of_devices_are_short_enough() {
        assert!(device("wire", 99_999).len() < libc::IFNAMSIZ);
        assert_eq!(name("a1"), "tare-a1-lab");
    }
}

//! The network of a guest with a kernel of its own: none, a tap in the lab's network, or a stack in user space.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;

use crate::error::{ErrorKind, LabError};
use crate::host::network_device;
use crate::host::network_namespace as namespaces;
use crate::network::lab::{self, Wire, failed};
use crate::network::netem::Netem;
use crate::provider::specification::Specification;
use crate::provider::{NotReady, OptionDescription, Workspace};

/// The network that QEMU's stack in user space gives a guest (QEMU's manual, "-netdev user").
const USER: Wire = Wire { near: Ipv4Addr::new(10, 0, 2, 2), far: Ipv4Addr::new(10, 0, 2, 15), prefix: 24 };

/// What the first process of a guest does with its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    pub device: String,
    pub wire: Wire,
    pub netem: Option<Netem>,
}

impl Inside {
    /// Addresses the device, and delays and loses what is to be delayed and lost.
    pub fn settle(&self) -> std::io::Result<()> {
        lab::settle(&self.device, self.wire)?;
        self.netem.map_or(Ok(()), |netem| netem.apply(&self.device))
    }
}

/// A guest's network, prepared.
#[derive(Debug)]
pub struct GuestNetwork {
    /// Where the machine's own process must be started: its network's other end is there.
    pub namespace: PathBuf,
    /// The tap; None where the stack is in user space.
    pub tap: Option<String>,
    pub inside: Inside,
}

impl GuestNetwork {
    /// Lets the machine start in the lab's network.
    pub fn inherit(&self, command: &mut Command) -> Result<(), LabError> {
        namespaces::inherit(command, &self.namespace).map_err(|e| failed("opening a network namespace", e))
    }

    /// The address at which a guest reaches the host's peer, if it has a network.
    pub fn host(network: Option<&GuestNetwork>) -> Option<IpAddr> {
        network.and_then(|_| lab::host())
    }
}

/// Whether the network that a specification asks for can be had.
pub fn ready(net: &OptionDescription, specification: &Specification) -> Result<(), NotReady> {
    let value = net.value(specification);
    let netem = Netem::of(specification).map_err(|e| NotReady::because(e.to_string()))?;
    match value {
        "none" if netem.is_some() => {
            Err(NotReady::because("delay, loss, duplicate and reorder need a network: add net=tap"))
        }
        "none" => Ok(()),
        "tap" if !network_device::taps_are_there() => {
            Err(NotReady::because("this kernel has no taps (/dev/net/tun)"))
        }
        _ => lab::ready(),
    }
}

/// Prepares the network that a specification asks for; `device` is what it is called inside.
pub fn prepare(
    net: &OptionDescription,
    device: &str,
    specification: &Specification,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<Option<GuestNetwork>, LabError> {
    let value = net.value(specification);
    let netem = Netem::of(specification)?;
    if value == "none" {
        return match netem {
            None => Ok(None),
            Some(_) => Err(LabError::new(ErrorKind::Usage, "a guest without a network delays nothing")
                .hint("add net=tap")),
        };
    }
    let namespace = lab::namespace(workspace)?;
    let (tap, wire) = match value {
        "user" => (None, USER),
        _ => {
            let (tap, wire) = (lab::device("tap", workspace.number()), Wire::of(workspace.number(), false));
            lab::make_tap(workspace, &namespace, &tap, wire)?;
            (Some(tap), wire)
        }
    };
    lab::note(outside, value, &namespace, tap.as_deref());
    if tap.is_none() {
        outside.note("path.nat", "in user space, by QEMU");
    }
    outside.note("path.address", wire.far.to_string());
    for option in [
        crate::network::netem::DELAY,
        crate::network::netem::LOSS,
        crate::network::netem::DUPLICATE,
        crate::network::netem::REORDER,
    ] {
        outside.note(format!("path.{}", option.key), option.value(specification));
    }
    Ok(Some(GuestNetwork { namespace, tap, inside: Inside { device: device.to_owned(), wire, netem } }))
}

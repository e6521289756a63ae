//! The network of a guest with a kernel of its own: none, a tap in the lab's network, or a stack in user space.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::network_namespace as namespaces;
use crate::network::lab::{self, Wire, make_network_error};
use crate::network::netem::{Impairment, Netem};
use crate::provider::{NotReady, Workspace};

/// The network that QEMU's stack in user space gives a guest (QEMU's manual, "-netdev user").
const USER: Wire = Wire { near: Ipv4Addr::new(10, 0, 2, 2), far: Ipv4Addr::new(10, 0, 2, 15), prefix: 24 };

/// Settings that the first process of a guest applies to its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    pub device: String,
    pub wire: Wire,
    pub netem: Option<Netem>,
}

impl Inside {
    /// Sets the address of the device, and delays and loses what is to be delayed and lost.
    pub fn set_up_device(&self) -> std::io::Result<()> {
        lab::set_up_device(&self.device, self.wire)?;
        self.netem.map_or(Ok(()), |netem| netem.apply_to_device(&self.device))
    }
}

#[derive(Debug)]
pub struct GuestNetwork {
    /// Namespace in which the machine's own process must be started: its network's other end is there.
    pub namespace: PathBuf,
    /// The tap; None where the stack is in user space.
    pub tap: Option<String>,
    pub inside: Inside,
}

impl GuestNetwork {
    /// Lets the machine start in the lab's network.
    pub fn inherit_network(&self, command: &mut Command) -> Result<(), LabError> {
        namespaces::inherit_namespace(command, &self.namespace)
            .map_err(|e| make_network_error("opening a network namespace", e))
    }

    /// Returns the address at which a guest reaches the host's peer, if it has a network.
    pub fn host_address(network: Option<&GuestNetwork>) -> Option<IpAddr> {
        network.and_then(|_| lab::host_address())
    }
}

/// A way from a guest to the lab's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tap,
    /// QEMU's network stack in user space.
    User,
}

/// Refuses to delay or lose packets of a guest that has no network.
pub fn check_impairment(way: Option<Way>, impairment: &Impairment, provider: &str) -> Result<(), LabError> {
    match (way, impairment.netem) {
        (None, Some(_)) => {
            let what = format!("{provider}: delay, loss, duplicate and reorder need a network");
            Err(LabError::usage_error(what).with_hint("add net=tap"))
        }
        _ => Ok(()),
    }
}

/// Prepares the network of a guest, if it has one; `device` is what it is called inside, `net` what the
/// specification calls it.
pub fn prepare_network(
    way: Option<Way>,
    (net, device): (&str, &str),
    impairment: &Impairment,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<Option<GuestNetwork>, LabError> {
    way.map(|way| way.prepare((net, device), impairment, workspace, outside)).transpose()
}

impl Way {
    pub fn check_ready(self) -> Result<(), NotReady> {
        match self {
            Way::Tap => lab::taps_ready()?,
            Way::User => {}
        }
        lab::check_lab_ready()
    }

    fn prepare(
        self,
        (net, device): (&str, &str),
        impairment: &Impairment,
        workspace: &mut dyn Workspace,
        outside: &mut Facts,
    ) -> Result<GuestNetwork, LabError> {
        let namespace = lab::ensure_lab_namespace(workspace)?;
        let (tap, wire) = match self {
            Way::User => (None, USER),
            Way::Tap => {
                let (tap, wire) = (
                    lab::make_device_name("tap", workspace.number()),
                    Wire::from_start(workspace.number(), false),
                );
                lab::make_tap(workspace, &namespace, &tap, wire)?;
                (Some(tap), wire)
            }
        };
        lab::note_lab_facts(outside, net, &namespace, tap.as_deref());
        if tap.is_none() {
            outside.add_fact("path.nat", "in user space, by QEMU");
        }
        outside.add_fact("path.address", wire.far.to_string());
        impairment.note_options(outside, "path");
        let inside = Inside { device: device.to_owned(), wire, netem: impairment.netem };
        Ok(GuestNetwork { namespace, tap, inside })
    }
}

//! The network of a guest with a kernel of its own: none, a tap in the lab's network, or a stack in user space.

use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;

use crate::error::LabError;
use crate::host::network_namespace as namespaces;
use crate::host::programs::Found;
use crate::network::lab::{self, Wire, make_network_error};
use crate::network::netem::{Impairment, Netem};
use crate::network::passt;
use crate::provider::{HostPath, NotReady, Published, Workspace};

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
    pub end: End,
    pub inside: Inside,
}

impl GuestNetwork {
    /// Lets the machine start in the lab's network.
    pub fn inherit_network(&self, command: &mut Command) -> Result<(), LabError> {
        namespaces::inherit_namespace(command, &self.namespace)
            .map_err(|e| make_network_error("opening a network namespace", e))
    }

    /// Describes the guest's path to the lab.
    pub fn describe_path(&self) -> HostPath {
        lab::describe_path(Some(match &self.end {
            End::Tap(_) => Published::AnyPort,
            End::User { port } | End::Passt { port, .. } => Published::Port(*port),
        }))
    }
}

/// The other end of a guest's device.
#[derive(Clone, Debug)]
pub enum End {
    /// A tap of this name.
    Tap(String),
    /// QEMU's network stack in user space, which publishes a port.
    User { port: u16 },
    /// passt, by a socket in the start's folder.
    Passt { socket: String, port: u16 },
}

/// A way from a guest to the lab's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Tap,
    /// QEMU's network stack in user space.
    User,
    /// passt, which is this program.
    Passt(Found),
}

/// Refuses to delay or lose packets of a guest that has no network.
pub fn check_impairment(is_connected: bool, impairment: &Impairment, provider: &str) -> Result<(), LabError> {
    match (is_connected, impairment.netem) {
        (false, Some(_)) => {
            let what = format!("{provider}: delay, loss, duplicate and reorder need a network");
            Err(LabError::usage_error(what).with_hint("add net=tap"))
        }
        _ => Ok(()),
    }
}

/// Prepares the network of a guest, if it has one; `device` is what it is called inside, `net` what the
/// specification calls it.
pub fn prepare_network(
    way: Option<&Way>,
    (net, device): (&str, &str),
    impairment: &Impairment,
    workspace: &mut dyn Workspace,
    outside: &mut Facts,
) -> Result<Option<GuestNetwork>, LabError> {
    way.map(|way| way.prepare((net, device), impairment, workspace, outside)).transpose()
}

impl Way {
    pub fn check_ready(&self) -> Result<(), NotReady> {
        match self {
            Way::Tap => lab::taps_ready()?,
            Way::User | Way::Passt(_) => {}
        }
        lab::check_lab_ready()
    }

    fn prepare(
        &self,
        (net, device): (&str, &str),
        impairment: &Impairment,
        workspace: &mut dyn Workspace,
        outside: &mut Facts,
    ) -> Result<GuestNetwork, LabError> {
        let namespace = lab::ensure_lab_namespace(workspace)?;
        let port = lab::published_port(workspace.number());
        let (end, wire) = match self {
            Way::User => (End::User { port }, lab::USER_WIRE),
            Way::Passt(program) => {
                let socket = passt::start_passt(program, workspace, &namespace, port)?;
                (End::Passt { socket, port }, passt::WIRE)
            }
            Way::Tap => {
                let (tap, wire) = (
                    lab::make_device_name("tap", workspace.number()),
                    Wire::from_start(workspace.number(), false),
                );
                lab::make_tap(workspace, &namespace, &tap, wire)?;
                (End::Tap(tap), wire)
            }
        };
        let (tap, nat) = match &end {
            End::Tap(tap) => (Some(tap.as_str()), None),
            End::User { .. } => (None, Some("in user space, by QEMU")),
            End::Passt { .. } => (None, Some("in user space, by passt")),
        };
        lab::note_lab_facts(outside, net, &namespace, tap);
        nat.iter().for_each(|nat| outside.add_fact("path.nat", *nat));
        outside.add_fact("path.address", wire.far.to_string());
        impairment.note_options(outside, "path");
        let inside = Inside { device: device.to_owned(), wire, netem: impairment.netem };
        Ok(GuestNetwork { namespace, end, inside })
    }
}

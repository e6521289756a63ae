//! Peers where only the loopback device of each environment is one: what a session would reach beyond it needs Linux.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::peer::{HOST, LOOPBACK, PUBLISHED, Peer};

use crate::asked::secrets::redact_secret;
use crate::error::{ErrorKind, LabError};
use crate::ownership::workspace::SessionWorkspace;
use crate::provider::HostPath;
use crate::study::SelectedCase;

/// Why there are none.
const CAUSE: &str = "tare for Windows reaches the loopback device of each environment, and no other peer";
const HINT: &str = "leave out --peer and --hops, or measure with tare for Linux";

/// The peers that a person names: none but those that every environment has.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    ways: BTreeMap<String, Peer>,
}

impl Peers {
    /// Reads what was typed.
    pub fn from_texts(texts: &[String]) -> Result<Peers, LabError> {
        match texts.iter().find(|text| *text != LOOPBACK) {
            None => Ok(Peers::default()),
            Some(other) => Err(refused(&format!("cannot reach the peer '{}'", redact_secret(other)))),
        }
    }

    /// Keeps the cases as they are: each that has a peer has this one.
    pub(crate) fn replace_peers(&self, selected: Vec<SelectedCase>) -> Vec<SelectedCase> {
        selected
    }

    /// Checks the peers of cases. Those of a shipped study are gaps here, with their reason: its other cases are measured.
    pub(crate) fn for_cases<'a>(self, cases: impl Iterator<Item = &'a Case>) -> Result<Peers, LabError> {
        let is_known = |name: &&str| [LOOPBACK, HOST, PUBLISHED].contains(name);
        match cases.filter_map(|case| case.peer.as_deref()).find(|name| !is_known(name)) {
            None => Ok(self),
            Some(other) => Err(refused(&format!("cannot reach the peer '{other}'"))),
        }
    }

    pub(crate) fn wants_host(&self) -> bool {
        false
    }

    pub fn ways(&self) -> &BTreeMap<String, Peer> {
        &self.ways
    }
}

pub(crate) fn with_hops(_: Vec<SelectedCase>) -> Result<Vec<SelectedCase>, LabError> {
    Err(refused("cannot measure hops"))
}

/// Tries a peer from this machine, and returns who answers.
pub fn reach_peer(_: &Peer) -> Result<String, Failure> {
    Err(Failure::new(FailureKind::NotSupported, CAUSE))
}

/// The peers that a session runs on this machine.
pub(crate) struct HostPeers<'a>(PhantomData<&'a SessionWorkspace>);

impl<'a> HostPeers<'a> {
    pub(crate) fn new(_: &'a SessionWorkspace) -> Self {
        HostPeers(PhantomData)
    }
}

pub(crate) fn release_peers(_: &Peers) {}

pub(crate) fn find_peer_ways(
    named: &Peers,
    _: &mut HostPeers<'_>,
    _: Option<HostPath>,
    _: &mut Facts,
) -> BTreeMap<String, Peer> {
    named.ways.clone()
}

fn refused(what: &str) -> LabError {
    LabError::new(ErrorKind::Usage, what).with_cause(CAUSE).with_hint(HINT)
}

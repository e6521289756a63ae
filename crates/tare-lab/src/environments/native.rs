//! Native: the host itself, with nothing in between.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

use tare_data::facts::Facts;

use crate::error::{ErrorKind, LabError};
use crate::host::mounts;
use crate::host::programs::Programs;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

pub struct Native;

impl Provider for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn summary(&self) -> &'static str {
        "the host itself"
    }

    fn stands_for(&self) -> &'static str {
        "Linux installed on the machine, as with dual boot. Where the host is itself a virtual machine, that \
         layer is under every environment alike and cannot be seen."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["native"]
    }

    fn ready(&self, _: &Specification, _: &Programs) -> Result<Facts, NotReady> {
        Ok(Facts::default())
    }

    fn enter(&self, _: &Specification, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let own = workspace.folder().join("own");
        fs::create_dir(&own).map_err(|e| {
            LabError::new(ErrorKind::Storage, format!("cannot make the folder {}", own.display())).because(e)
        })?;
        let mut outside = Facts::default();
        let mut places = BTreeMap::new();
        let shares = workspace.shares().iter().map(|(name, path)| (name.as_str(), path));
        for (name, path) in [("own", &own)].into_iter().chain(shares) {
            mounts::note(&mut outside, name, path);
            places.insert(name.to_owned(), path.to_string_lossy().into_owned());
        }
        let mut command = Command::new(workspace.agent());
        command.arg(tare_probes::agent::AGENT).env_clear().current_dir("/");
        let host = Some(Ipv4Addr::LOCALHOST.into());
        Ok(Entrance { command, host, places, outside })
    }
}

//! Imports that nearly every provider needs.

pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::Command;

pub(crate) use tare_data::facts::Facts;
pub(crate) use tare_data::session::Serving;
pub(crate) use tare_data::session::specification::Specification;

pub(crate) use super::footprint::Footprint;
pub(crate) use super::namespaces::{Kinds, Namespaces};
pub(crate) use super::options::{Choice, OptionDescription, choice};
pub(crate) use super::proof::Proof;
pub(crate) use super::root::Roots;
pub(crate) use super::{
    ByDefault, Entrance, Environment, HostPath, KernelFacts, KernelKind, NotReady, Provider, Ready, Settling,
    Workspace, agent_for, note_runtime, provider, require_program, require_runtime,
};
pub(crate) use crate::error::{Cause, ErrorKind, LabError};
pub(crate) use crate::host::programs::{self, Found, Programs};

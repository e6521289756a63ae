//! Every probe that a case can name.

use tare_probes::descriptions::USER;
use tare_probes::probe::Probe;

use crate::error::LabError;
use crate::nearest::add_nearest_hint;
use crate::study::{calls, startup};

/// Lists every probe: those that run inside an environment, and the start of one, which the host measures.
pub fn list_probes() -> impl Iterator<Item = &'static Probe> + Clone {
    tare_probes::PROBES.iter().copied().chain([&startup::PROBE, &calls::PROBE])
}

/// Finds a probe by name, or suggests the one that was probably meant.
pub(crate) fn probe_named(name: &str) -> Result<&'static Probe, LabError> {
    list_probes().find(|probe| probe.name == name).ok_or_else(|| {
        let error = LabError::usage_error(format!("there is no probe '{name}'"));
        match name.starts_with(USER) {
            true => error.with_hint("a command of yours is [probe.NAME], not a case"),
            false => add_nearest_hint(
                error,
                name,
                list_probes().map(|p| p.name),
                "tare list probes names them all",
            ),
        }
    })
}

//! A session on one processor, so that the relative placement of its processes is not part of any figure.

use tare_data::facts::Facts;
use tare_data::session::{PINNED, Session, Side};
use tare_probes::harness::affinity;

use crate::asked::Pin;
use crate::environments;
use crate::error::{ErrorKind, LabError};

/// Keeps this program, and so whatever it starts, on one processor.
pub(super) fn pin_program(pin: Pin, targets: &[Side]) -> Result<(), LabError> {
    for target in targets {
        let provider = environments::find_environment(target.specification.clone())?.provider;
        if !provider.descends {
            let what =
                format!("--pin does not reach {}: this program does not start its processes", target.name);
            return Err(LabError::new(ErrorKind::Usage, what)
                .with_hint(format!("leave out --pin, or {} from --in", target.specification)));
        }
    }
    let allowed = affinity::list_allowed_processors();
    let processor = match pin {
        Pin::Last => allowed.last().copied().unwrap_or_default(),
        Pin::Processor(processor) if allowed.contains(&processor) => processor,
        Pin::Processor(processor) => {
            let all: Vec<String> = allowed.iter().map(usize::to_string).collect();
            return Err(LabError::usage_error(format!(
                "--pin={processor}: there is no such processor, or it may not be used"
            ))
            .with_hint(format!("the processors are {}", all.join(", "))));
        }
    };
    affinity::pin_to_processor(processor)
        .map_err(|failure| LabError::usage_error(format!("--pin={processor}: {}", failure.reason)))
}

/// Adds the processor that this program stays on to the host's facts.
pub(super) fn note_pin(host: &mut Facts) {
    if let [processor] = affinity::list_allowed_processors()[..] {
        host.add_fact(PINNED, processor.to_string());
    }
}

/// Finds the processor that a recorded session was pinned to.
pub(super) fn find_recorded_pin(session: &Session) -> Option<Pin> {
    session.header.host.get(PINNED)?.parse().ok().map(Pin::Processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_starts_is_refused() {
        for (specification, is_refused) in
            [("docker", true), ("ssh:host", true), ("wsl:Debian", true), ("podman", false), ("gvisor", false)]
        {
            let target = Side::new(specification, specification.parse().unwrap());
            // A processor that no machine has, so that nothing is pinned here.
            let refused = pin_program(Pin::Processor(usize::MAX), &[target]).unwrap_err().to_string();
            assert_eq!(refused.contains("--pin does not reach"), is_refused, "{specification}: {refused}");
        }
    }
}

//! Speculation of a processor, which the kernel can switch off for a process and all that it starts
//! (PR_SET_SPECULATION_CTRL of prctl(2)).

#![allow(unsafe_code, reason = "prctl takes numbers")]

use std::io;

use serde::{Deserialize, Serialize};

use crate::provider::prelude::*;

choice! {
    /// The speculation that processes inside may have.
    #[derive(Serialize, Deserialize)]
    pub enum Speculation: "speculation",
        "work that the processor may do ahead of time. default: as the kernel has it; no-bypass: no load before older stores, as \
         filters of system calls had it until Linux 5.16; none: no indirect branch either"
    {
        Default = "default",
        NoBypass = "no-bypass",
        None = "none",
    }
}

/// Kinds of speculation, as prctl(2) numbers and the kernel calls them.
const STORE_BYPASS: (libc::c_int, &str) = (libc::PR_SPEC_STORE_BYPASS, "store bypass");
const INDIRECT_BRANCH: (libc::c_int, &str) = (libc::PR_SPEC_INDIRECT_BRANCH, "indirect branches");

impl Speculation {
    fn kinds(self) -> &'static [(libc::c_int, &'static str)] {
        match self {
            Speculation::Default => &[],
            Speculation::NoBypass => &[STORE_BYPASS],
            Speculation::None => &[STORE_BYPASS, INDIRECT_BRANCH],
        }
    }

    /// Checks that the kernel lets a process switch these off, or has them off anyway.
    pub(crate) fn check_ready(self) -> Result<(), NotReady> {
        for (kind, name) in self.kinds() {
            // SAFETY: it reads a state, and touches no memory.
            let state = unsafe { libc::prctl(libc::PR_GET_SPECULATION_CTRL, *kind, 0, 0, 0) };
            let state = if state < 0 { Err(io::Error::last_os_error()) } else { Ok(state as libc::c_uint) };
            if let Some(why) = refusal_reason(state) {
                return Err(NotReady::from_reason(format!(
                    "speculation={}: {name} cannot be switched for a process: {why}",
                    self.name()
                )));
            }
        }
        Ok(())
    }

    /// Switches the mitigations off for this process and all that it starts.
    pub(crate) fn switch_off(self) -> io::Result<()> {
        for (kind, _) in self.kinds() {
            // SAFETY: it changes a state of this process, and touches no memory.
            let done =
                unsafe { libc::prctl(libc::PR_SET_SPECULATION_CTRL, *kind, libc::PR_SPEC_DISABLE, 0, 0) };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// Explains why a state, as the kernel answers it, cannot be changed; None where it can.
fn refusal_reason(state: io::Result<libc::c_uint>) -> Option<String> {
    match state {
        Ok(state) if state & libc::PR_SPEC_PRCTL != 0 => None,
        Ok(state) if state == libc::PR_SPEC_NOT_AFFECTED => {
            Some("this processor does not have the weakness".into())
        }
        Ok(state) if state & libc::PR_SPEC_DISABLE != 0 => {
            Some("the kernel has it off for everything".into())
        }
        Ok(_) => {
            Some("the kernel has it on for everything (mitigations= and spec_store_bypass_disable=)".into())
        }
        Err(e) => Some(format!("this kernel or processor has no such switch: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_cannot_be_changed_says_why() {
        let reason = |state| refusal_reason(Ok(state)).unwrap_or_default();
        assert_eq!(reason(libc::PR_SPEC_PRCTL | libc::PR_SPEC_ENABLE), "");
        assert_eq!(reason(libc::PR_SPEC_PRCTL | libc::PR_SPEC_DISABLE), "");
        assert!(reason(libc::PR_SPEC_NOT_AFFECTED).contains("does not have the weakness"));
        assert!(reason(libc::PR_SPEC_ENABLE).contains("on for everything"));
        assert!(reason(libc::PR_SPEC_DISABLE).contains("off for everything"));
        let unknown = io::Error::from_raw_os_error(libc::ENODEV);
        assert!(refusal_reason(Err(unknown)).unwrap().contains("no such switch"));
    }

    #[test]
    fn what_is_ready_can_be_switched_and_shows() {
        for choice in Speculation::ALL.iter().filter(|choice| choice.check_ready().is_ok()) {
            // A thread's own state, which ends with it.
            let states = std::thread::spawn(|| {
                choice.switch_off().unwrap();
                std::fs::read_to_string("/proc/thread-self/status").unwrap()
            });
            let states = states.join().unwrap();
            if *choice != Speculation::Default {
                assert!(states.contains("Speculation_Store_Bypass:\tthread mitigated"), "{states}");
            }
        }
    }
}

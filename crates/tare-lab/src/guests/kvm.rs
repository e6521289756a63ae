//! KVM: proves that it runs real code. There are hosts whose /dev/kvm opens, makes machines and then
//! emulates every instruction, or hangs: a kernel would not boot on them, or be no faster than without.

use std::io::{self, Write};
use std::time::Duration;

#[cfg(target_arch = "x86_64")]
use super::kvm_proof::prove_kvm;
use crate::host::programs::{self, Found, Programs};
use crate::provider::NotReady;

/// First argument under which the program tries KVM in its own process, which may hang.
pub(crate) const PROVE: &str = "prove-kvm";

/// Time in which the proof must be there. It takes 1 ms where KVM is real.
const PROOF_WAIT: Duration = Duration::from_secs(1);

/// Proves that KVM works here.
pub fn check_kvm(programs: &Programs) -> Result<(), NotReady> {
    let ended = programs::run_program(programs::command(&Found::own(&programs.tare)).arg(PROVE), PROOF_WAIT)
        .map_err(|e| NotReady::from_reason(format!("KVM: the proof that it runs code {e}")))?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(NotReady::from_reason(format!("KVM: {}", ended.first_line()))),
    }
}

/// Runs the proof; for the verb [`PROVE`].
pub(crate) fn prove_main() -> i32 {
    match prove_kvm() {
        Ok(()) => 0,
        Err(why) => {
            // The process that started this one reads it; where it cannot be written there is nobody.
            let _ = writeln!(io::stdout(), "{why}");
            1
        }
    }
}

/// Fails: the proof is machine code, and none is written for other processors.
#[cfg(not(target_arch = "x86_64"))]
fn prove() -> Result<(), crate::error::Cause> {
    Err("there is no proof for processors of this kind that it runs real code".into())
}

//! Set-ups that are hostile to environments: none is measured that is not what it is named after.

use std::path::Path;
use std::process::{Command, Stdio};

const SETUPS: &str = "refused-ptrace,refused-namespaces,covered-proc,noexec-var-tmp,descriptors-24,in-namespaces";
const ENVIRONMENTS: &str = "native,container,bwrap,oci:runc,nspawn,gvisor,traced,proot,landlock";

#[test]
fn what_a_set_up_refuses_is_a_gap_with_its_cause() {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED what_a_set_up_refuses_is_a_gap_with_its_cause: only root can make the set-ups");
    }
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/setups");
    let mut command = Command::new(bench);
    command.args(["--tare", env!("CARGO_BIN_EXE_tare"), "--setups", SETUPS, "--in", ENVIRONMENTS]);
    let said = command.stdin(Stdio::null()).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    out.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| println!("{line}"));
    assert!(said.status.success(), "{out}\n{errors}");
    assert!(out.lines().any(|line| line.starts_with("63 pairs of 7 set-ups")), "{out}");
}

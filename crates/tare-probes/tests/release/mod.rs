//! The agent as it is released: optimised as a whole.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable that names a release build made elsewhere: for another processor, say.
const BUILT: &str = "TARE_RELEASED_AGENT";

/// Builds the example for release: it holds the same probes as tare itself and builds faster.
#[allow(clippy::disallowed_methods, reason = "a variable names the build that is tested")]
pub fn build_agent() -> PathBuf {
    if let Some(built) = std::env::var_os(BUILT) {
        return built.into();
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "--quiet", "--package", "tare-probes", "--example", "agent"])
        .args(["--message-format", "json"])
        .current_dir(manifest)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).unwrap();
    let last = messages.rsplit("\"executable\":\"").next().unwrap();
    PathBuf::from(last.split('"').next().unwrap())
}

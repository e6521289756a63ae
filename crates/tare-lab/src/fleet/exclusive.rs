//! Exclusive driving of a fleet by a file, since locks often do not reach from one machine to another.

use std::io::ErrorKind as IoKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_paths::door::Door;

use crate::error::{ErrorKind, LabError};
use crate::host::processes;
use crate::host::running::Running;

/// Its name in the fleet's folder.
const NAME: &str = "driver";
/// Longest file that is read as one.
const LONGEST: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct Driver {
    running: Running,
    pid: u32,
    started_ticks: u64,
}

/// This process drives the fleet until this is dropped.
#[derive(Debug)]
pub(crate) struct Exclusive<'a> {
    fleet: &'a Door,
}

impl<'a> Exclusive<'a> {
    /// Refuses while another process drives it. One of this machine that died is no more in the way.
    pub(crate) fn lock_folder(fleet: &'a Door) -> Result<Self, LabError> {
        let (name, path) = (Path::new(NAME), fleet.join(Path::new(NAME)));
        let pid = std::process::id();
        let own = Driver {
            running: Running::from_this_host(),
            pid,
            started_ticks: processes::started_ticks(pid).unwrap_or(0),
        };
        let text = serde_json::to_string(&own).expect("tare's own types always serialise");
        let cannot = LabError::storage_error("write", &path);
        for _ in 0..2 {
            match fleet.create_new(name, text.as_bytes()) {
                Ok(()) => return Ok(Exclusive { fleet }),
                Err(e) if e.kind() != IoKind::AlreadyExists => return Err(cannot(e)),
                Err(_) => {}
            }
            let other = fleet.read_bytes(name, LONGEST).ok();
            let other: Option<Driver> = other.and_then(|json| serde_json::from_slice(&json).ok());
            match other {
                Some(other) if other.is_dead(&own.running) => fleet.remove_file(name).map_err(&cannot)?,
                other => {
                    let who = other.map_or_else(String::new, |other| format!(" (process {})", other.pid));
                    return Err(LabError::new(ErrorKind::Environment, "this fleet is already being run")
                        .with_cause(format!("another tare fleet run{who} submits its jobs"))
                        .with_hint(format!(
                            "wait for it; if it died on another machine, remove {}",
                            path.display()
                        )));
                }
            }
        }
        Err(cannot(IoKind::AlreadyExists.into()))
    }
}

impl Driver {
    /// Tells whether it was a process of this machine that has ended.
    fn is_dead(&self, here: &Running) -> bool {
        let same_boot = self.running == *here;
        let ended = !same_boot || processes::started_ticks(self.pid) != Some(self.started_ticks);
        self.running.machine == here.machine && ended
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        let _ = self.fleet.remove_file(Path::new(NAME));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_has_one_driver_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let fleet = Door::open(folder.path()).unwrap();
        let held = Exclusive::lock_folder(&fleet).unwrap();
        let refused = Exclusive::lock_folder(&fleet).unwrap_err();
        assert!(refused.hint.unwrap().contains("driver"));
        drop(held);
        let path = folder.path().join(NAME);
        let left_by = |running: Running| {
            let text = serde_json::to_string(&Driver { running, pid: 1, started_ticks: 1 }).unwrap();
            std::fs::write(&path, text).unwrap();
            Exclusive::lock_folder(&fleet).is_ok()
        };
        assert!(left_by(Running::from_this_host()), "it is dead");
        assert!(
            left_by(Running { boot: "another".into(), ..Running::from_this_host() }),
            "the machine was restarted"
        );
        assert!(!left_by(Running { machine: "another".into(), ..Running::from_this_host() }), "nobody knows");
    }
}

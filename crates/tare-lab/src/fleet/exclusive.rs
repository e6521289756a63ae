//! Exclusive driving of a fleet by a file, since locks often do not reach from one machine to another.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind as IoKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_record::input;

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
pub(crate) struct Exclusive {
    path: PathBuf,
}

impl Exclusive {
    /// Refuses while another process drives it. One of this machine that died is no more in the way.
    pub(crate) fn lock_folder(folder: &Path) -> Result<Exclusive, LabError> {
        let path = folder.join(NAME);
        let pid = std::process::id();
        let own = Driver {
            running: Running::from_this_host(),
            pid,
            started_ticks: processes::started_ticks(pid).unwrap_or(0),
        };
        let text = serde_json::to_string(&own).expect("tare's own types always serialise");
        let cannot = LabError::storage_error("write", &path);
        for _ in 0..2 {
            let made = OpenOptions::new().write(true).create_new(true).open(&path);
            match made.and_then(|mut file| file.write_all(text.as_bytes())) {
                Ok(()) => return Ok(Exclusive { path: path.clone() }),
                Err(e) if e.kind() != IoKind::AlreadyExists => return Err(cannot(e)),
                Err(_) => {}
            }
            let other = input::read_text(&path, LONGEST).ok();
            let other: Option<Driver> = other.and_then(|text| serde_json::from_str(&text).ok());
            match other {
                Some(other) if other.is_dead(&own.running) => fs::remove_file(&path).map_err(&cannot)?,
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

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_has_one_driver_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = Exclusive::lock_folder(folder.path()).unwrap();
        let refused = Exclusive::lock_folder(folder.path()).unwrap_err();
        assert!(refused.hint.unwrap().contains("driver"));
        drop(held);
        let path = folder.path().join(NAME);
        let left_by = |running: Running| {
            let text = serde_json::to_string(&Driver { running, pid: 1, started_ticks: 1 }).unwrap();
            fs::write(&path, text).unwrap();
            Exclusive::lock_folder(folder.path()).is_ok()
        };
        assert!(left_by(Running::from_this_host()), "it is dead");
        assert!(
            left_by(Running { boot: "another".into(), ..Running::from_this_host() }),
            "the machine was restarted"
        );
        assert!(!left_by(Running { machine: "another".into(), ..Running::from_this_host() }), "nobody knows");
    }
}

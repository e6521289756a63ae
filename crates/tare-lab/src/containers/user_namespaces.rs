//! User namespaces: whether this user may make one, and one in which everybody is who he was.

use std::ffi::CString;
use std::fs;
use std::io;

use rustix::fs::{Mode, OFlags};

use crate::provider::NotReady;

/// What forbids a user to make a user namespace, as far as it can be known without trying.
pub fn allowed() -> Result<(), NotReady> {
    let value =
        |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).map(|text| text.trim().to_owned());
    let forbidden = [
        ("user/max_user_namespaces", "0", "10000"),
        // Debian's and Ubuntu's switches.
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    for (name, closed, open) in forbidden {
        if value(name).is_ok_and(|value| value == closed) {
            return Err(NotReady {
                reason: format!("this kernel allows user namespaces to root only ({name} = {closed})"),
                command: Some(format!("sysctl -w {}={open}", name.replace('/', "."))),
            });
        }
    }
    Ok(())
}

/// What makes a fresh user namespace's user the one outside, written beforehand.
#[derive(Debug)]
pub struct SameUser([(&'static std::ffi::CStr, CString); 3]);

impl SameUser {
    pub fn new() -> io::Result<SameUser> {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // Without the first the kernel lets no unprivileged user map a group.
        Ok(SameUser([
            (c"/proc/self/setgroups", CString::new("deny")?),
            (c"/proc/self/uid_map", CString::new(format!("{user} {user} 1"))?),
            (c"/proc/self/gid_map", CString::new(format!("{group} {group} 1"))?),
        ]))
    }

    /// Maps the user of this process's namespace. Only system calls, so that it may run between fork and exec.
    pub fn map(&self) -> io::Result<()> {
        for (path, line) in &self.0 {
            let file = rustix::fs::open(*path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(&file, line.to_bytes())?;
        }
        Ok(())
    }
}

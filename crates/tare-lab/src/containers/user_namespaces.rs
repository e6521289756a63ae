//! User namespaces: whether this process may make one, or others, and one in which everybody is who he was.

#![allow(
    unsafe_code,
    reason = "the standard library has no namespaces, and runs code between fork and exec only on promise"
)]

use std::ffi::CString;
use std::fs;
use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::platform::try_in_child;
use crate::provider::NotReady;

/// Explains what forbids a user to make a user namespace with separate mounts.
pub fn check_user_namespaces() -> Result<(), NotReady> {
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
    try_namespaces(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
}

/// Checks that this process may make the namespaces of a container, in a user namespace where it is not root's.
pub fn check_container_namespaces() -> Result<(), NotReady> {
    let kinds = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if rustix::process::geteuid().is_root() {
        return try_namespaces(kinds);
    }
    check_user_namespaces()?;
    try_namespaces(kinds | UnshareFlags::NEWUSER)
}

/// Checks that this process may make these namespaces, including that of mounts, and change its mounts: a
/// child tries, and exits. Neither the user nor the kernel's switches show what a container was denied.
pub fn try_namespaces(kinds: UnshareFlags) -> Result<(), NotReady> {
    let refused = |e: io::Error| NotReady::from_reason(format!("this process may not make namespaces: {e}"));
    let user = kinds.contains(UnshareFlags::NEWUSER).then(SameUser::new).transpose().map_err(refused)?;
    let make = move || -> io::Result<()> {
        // SAFETY: the child has one thread, and shares nothing with another.
        unsafe { unshare_unsafe(kinds)? };
        user.as_ref().map_or(Ok(()), SameUser::map_user)?;
        Ok(mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
    };
    try_in_child(make).map_err(refused)
}

/// Tells whether a group exists in this process's user namespace.
pub fn maps_group(group: u32) -> bool {
    let map = std::fs::read_to_string("/proc/self/gid_map").unwrap_or_default();
    is_in_map(&map, group)
}

/// Tells whether a map of users or groups, lines of first inside, first outside and count, has one inside.
fn is_in_map(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u32> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if id.checked_sub(first).is_some_and(|at| at < count))
    })
}

/// Identity mapping for a fresh user namespace, written beforehand.
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
    pub fn map_user(&self) -> io::Result<()> {
        for (path, line) in &self.0 {
            let file = rustix::fs::open(*path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(&file, line.to_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_in_map;

    #[test]
    fn a_group_is_there_where_a_line_of_the_map_has_it() {
        let whole = "         0          0 4294967295\n";
        assert!(is_in_map(whole, 5) && is_in_map("0 1000 1\n1 100000 65536\n", 5));
        assert!(!is_in_map("0 0 1\n", 5) && !is_in_map("6 0 10\n", 5) && !is_in_map("", 5));
    }
}

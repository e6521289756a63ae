//! Owners: who can change a file or folder, by the users and groups of this machine.

#![allow(
    clippy::disallowed_methods,
    reason = "this is where a path is looked at, and what it leads to is checked"
)]

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::ours::{NotOurs, Why};

/// Links that a path may have, as many as the kernel follows.
const MOST_LINKS: usize = 40;
/// Longest list of users, groups or mounts that is read.
const LONGEST_LIST: u64 = 4 << 20;
/// Bits of a mode: its group may write, all may, and entries are changed by their owners alone.
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// The group that stands for those that a user namespace does not have.
const NO_GROUP: u32 = 65534;
/// Part of the mounted path of a Kubernetes volume that is empty when its pod begins, and is that pod's alone.
const EMPTY_DIR: &str = "/kubernetes.io~empty-dir/";

/// Checks that nobody but this user and root can change a file or folder, or put another in its place: neither itself nor any
/// folder above it, nor those of the links on the way. In a sticky folder others change their own entries alone. A group whose
/// members are all this user or root is no other; one that cannot be known is.
pub fn check_ours(path: &Path) -> Result<(), NotOurs> {
    let trusted = Trusted::find();
    let whole = std::path::absolute(path).map_err(unseen(path))?;
    let (mut here, mut ahead, mut links) = (PathBuf::from("/"), Vec::new(), 0);
    add_parts(&whole, &mut ahead);
    trusted.check(&here, &fs::symlink_metadata(&here).map_err(unseen(&here))?)?;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            here.pop();
            continue;
        }
        let next = here.join(part);
        let about = fs::symlink_metadata(&next).map_err(unseen(&next))?;
        trusted.check(&next, &about)?;
        if !about.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(unseen(&next)(Errno::LOOP.into()));
        }
        let target = fs::read_link(&next).map_err(unseen(&next))?;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        add_parts(&target, &mut ahead);
    }
    Ok(())
}

/// Checks an opened file or folder by itself, as [`check_ours`] does.
pub fn check_opened(path: &Path, about: &Metadata) -> Result<(), NotOurs> {
    match about.is_file() || about.is_dir() {
        true => Trusted::find().check(path, about),
        false => Err(NotOurs { path: path.to_owned(), why: Why::Other }),
    }
}

fn unseen(path: &Path) -> impl Fn(io::Error) -> NotOurs {
    let path = path.to_owned();
    move |error| NotOurs { path: path.clone(), why: Why::Unseen(error) }
}

/// Puts the parts of a path on a stack, the first on top.
fn add_parts(path: &Path, ahead: &mut Vec<OsString>) {
    let is_part = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    ahead.extend(path.components().rev().filter(is_part).map(|part| part.as_os_str().to_owned()));
}

/// Users whose files are believed.
struct Trusted {
    user: u32,
    /// User that stands for those that a user namespace does not have, root of the machine among them.
    overflow: Option<u32>,
}

impl Trusted {
    fn find() -> Trusted {
        let overflow = read_list("/proc/sys/kernel/overflowuid").and_then(|text| text.trim().parse().ok());
        let mapped = read_list("/proc/self/uid_map");
        let overflow = overflow.filter(|user| mapped.is_some_and(|map| !is_mapped(&map, *user)));
        Trusted { user: rustix::process::geteuid().as_raw(), overflow }
    }

    fn has(&self, user: u32) -> bool {
        user == 0 || user == self.user || self.overflow == Some(user)
    }

    fn check(&self, path: &Path, about: &Metadata) -> Result<(), NotOurs> {
        let why = match about.mode() {
            _ if !self.has(about.uid()) => Why::Owner(about.uid()),
            _ if about.is_symlink() => return Ok(()),
            mode if about.is_dir() && mode & STICKY != 0 => return Ok(()),
            mode if mode & ALL_WRITE != 0 && !is_of_pod(path) => Why::AllWrite,
            mode if mode & (GROUP_WRITES | ALL_WRITE) == GROUP_WRITES
                && !self.is_only_in(path, about.gid()) =>
            {
                Why::GroupWrites(about.gid())
            }
            _ => return Ok(()),
        };
        Err(NotOurs { path: path.to_owned(), why })
    }

    /// Tells whether a group that may write here is known to have no other member. Where a list names more who may, the group's
    /// bits are theirs together.
    fn is_only_in(&self, path: &Path, group: u32) -> bool {
        let listed = rustix::fs::lgetxattr(path, "system.posix_acl_access", &mut [0; 0]);
        let is_listed = !matches!(listed, Err(Errno::NODATA | Errno::OPNOTSUPP));
        let lists = read_list("/etc/passwd").zip(read_list("/etc/group"));
        !is_listed && lists.is_some_and(|(users, groups)| self.are_only(group, &users, &groups))
    }

    /// Tells whether these lists know this user and the group, and nobody else in it.
    fn are_only(&self, group: u32, users: &str, groups: &str) -> bool {
        let users: Vec<(&str, u32, u32)> = users.lines().filter_map(parse_user).collect();
        let groups = groups.lines().filter_map(parse_group).filter(|(number, _)| *number == group);
        let members: Vec<&str> = groups.map(|(_, members)| members).collect();
        let is_known = users.iter().any(|(_, user, _)| *user == self.user) && !members.is_empty();
        let mut named = members.iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty());
        group != NO_GROUP
            && is_known
            && users.iter().all(|(_, user, primary)| *primary != group || self.has(*user))
            && named.all(|name| users.iter().any(|(own, user, _)| *own == name && self.has(*user)))
    }
}

/// Reads a line of /etc/passwd: the name, the user's number, and that of the first group.
fn parse_user(line: &str) -> Option<(&str, u32, u32)> {
    let mut fields = line.split(':');
    Some((fields.next()?, fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Reads a line of /etc/group: the group's number, and the names of its other members.
fn parse_group(line: &str) -> Option<(u32, &str)> {
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?))
}

/// Tells whether a user namespace has a user, by the lines of its map: the first inside, the first outside, and their count.
fn is_mapped(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
        let (first, count) = (numbers.next(), numbers.nth(1));
        first.zip(count).is_some_and(|(first, count)| (first..first + count).contains(&u64::from(user)))
    })
}

/// Tells whether a folder is a mounted volume of this pod.
fn is_of_pod(path: &Path) -> bool {
    let mounts = read_list("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(3);
        words.next().is_some_and(|root| root.contains(EMPTY_DIR)) && words.next().map(Path::new) == Some(path)
    })
}

/// Reads a list, unless it is too long.
fn read_list(path: &str) -> Option<String> {
    let mut text = String::new();
    let read = File::open(path).ok()?.take(LONGEST_LIST + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= LONGEST_LIST).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const OTHER: u32 = 65533;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Gives the reason against a path, and its last part there.
    fn refused(path: &Path) -> Option<(String, Why)> {
        check_ours(path).err().map(|e| (e.path.file_name().unwrap().to_string_lossy().into_owned(), e.why))
    }

    #[test]
    fn every_folder_up_to_the_root_counts() {
        let place = tempfile::tempdir().unwrap();
        let (above, inner) = (place.path().join("above"), place.path().join("above/inner"));
        fs::create_dir_all(&inner).unwrap();
        set_mode(&above, 0o755);
        set_mode(&inner, 0o755);
        assert!(refused(&inner).is_none(), "/tmp is sticky, and root's");
        set_mode(&above, 0o777);
        assert!(matches!(refused(&inner), Some((name, Why::AllWrite)) if name == "above"));
        assert!(refused(&inner.join("../../above/inner")).is_some());
        set_mode(&above, 0o1777);
        assert!(refused(&inner).is_none());
        assert!(refused(Path::new("/tmp")).is_none() && refused(Path::new("/var/tmp")).is_none());
        assert!(matches!(refused(&above.join("none/there")), Some((name, Why::Unseen(_))) if name == "none"));
    }

    #[test]
    fn folders_of_links_count_on_the_way() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for (name, mode) in [("links", 0o777), ("mine", 0o755)] {
            fs::create_dir(path(name)).unwrap();
            set_mode(&path(name), mode);
        }
        symlink(path("mine"), path("links/whole")).unwrap();
        symlink("../mine", path("links/relative")).unwrap();
        symlink("links/whole", path("twice")).unwrap();
        for name in ["links/whole", "links/relative", "twice"] {
            assert!(matches!(refused(&path(name)), Some((name, Why::AllWrite)) if name == "links"), "{name}");
        }
        set_mode(&path("links"), 0o755);
        for name in ["links/whole", "links/relative", "twice"] {
            assert!(refused(&path(name)).is_none(), "{name}");
        }
        symlink("circle", path("circle")).unwrap();
        assert!(matches!(refused(&path("circle")), Some((_, Why::Unseen(_)))));
    }

    #[test]
    fn what_another_user_owns_is_refused() {
        if !rustix::process::geteuid().is_root() {
            println!(
                "SKIPPED what_another_user_owns_is_refused: it gives folders to another user, which takes root"
            );
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("theirs/inner")).unwrap();
        chown(path("theirs"), Some(OTHER), None).unwrap();
        assert!(
            matches!(refused(&path("theirs/inner")), Some((name, Why::Owner(OTHER))) if name == "theirs")
        );
        fs::create_dir(path("sticky")).unwrap();
        set_mode(&path("sticky"), 0o1777);
        symlink("/tmp", path("sticky/link")).unwrap();
        assert!(refused(&path("sticky/link")).is_none());
        std::os::unix::fs::lchown(path("sticky/link"), Some(OTHER), None).unwrap();
        assert!(matches!(refused(&path("sticky/link")), Some((name, Why::Owner(OTHER))) if name == "link"));
    }

    #[test]
    fn an_opened_file_is_judged_by_itself() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "").unwrap();
        for (mode, is_ours) in [(0o600, true), (0o644, true), (0o646, false), (0o1646, false)] {
            set_mode(&path, mode);
            assert_eq!(
                check_opened(&path, &File::open(&path).unwrap().metadata().unwrap()).is_ok(),
                is_ours,
                "{mode:o}"
            );
        }
        let null = fs::metadata("/dev/null").unwrap();
        assert!(matches!(check_opened(Path::new("/dev/null"), &null).unwrap_err().why, Why::Other));
    }

    #[test]
    fn a_group_of_this_user_alone_is_this_user() {
        let me = Trusted { user: 1000, overflow: None };
        let users = "root:x:0:0::/:\nme:x:1000:1000::/:\nyou:x:1001:1001::/:\nthird:x:1002:50::/:\n";
        let groups = "root:x:0:\nme:x:1000:\nus:x:70:me,root\nall:x:71:me,you\nold:x:72:gone\nstaff:x:50:\n";
        let only = |group| me.are_only(group, users, groups);
        assert!(only(1000) && only(70) && only(0));
        assert!(!only(71), "another member");
        assert!(!only(72), "a member that nobody knows");
        assert!(!only(50), "the first group of another user");
        assert!(!only(1001), "no such group");
        assert!(!me.are_only(1000, "root:x:0:0::/:\n", groups), "this user is not in the list");
        assert!(!me.are_only(NO_GROUP, users, "nogroup:x:65534:\n"), "it stands for any group");
    }

    #[test]
    fn a_list_of_others_who_may_write_counts() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("listed");
        fs::create_dir(&path).unwrap();
        // Version 2; the owner, user 65533 and the group may do everything, others nothing.
        let entry =
            |tag: u16, id: u32| [&tag.to_le_bytes()[..], &7u16.to_le_bytes(), &id.to_le_bytes()].concat();
        let none = [&0x20u16.to_le_bytes()[..], &0u16.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
        let all =
            [entry(1, u32::MAX), entry(2, OTHER), entry(4, u32::MAX), entry(0x10, u32::MAX), none].concat();
        let list = [&2u32.to_le_bytes()[..], &all].concat();
        let set =
            rustix::fs::setxattr(&path, "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty());
        if let Err(e) = set {
            println!(
                "SKIPPED a_list_of_others_who_may_write_counts: the file system takes no such list: {e}"
            );
            return;
        }
        assert!(matches!(refused(&path), Some((_, Why::GroupWrites(_)))));
    }

    #[test]
    fn users_that_a_namespace_lacks_are_known_by_its_map() {
        assert!(is_mapped("         0          0 4294967295\n", 65534));
        assert!(!is_mapped("0 1000 1\n", 65534));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", 65534));
        assert!(!is_mapped("", 0));
        assert!(Trusted { user: 1, overflow: Some(65534) }.has(65534));
        assert!(!Trusted { user: 1, overflow: None }.has(65534));
    }
}

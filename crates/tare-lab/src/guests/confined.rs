//! Confined kernels: a guest's kernel that is an ordinary process gets a root folder with nothing but its own files. Whoever is root in
//! the guest has the rights of that process, and may mount any folder that it sees (hostfs).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::MountFlags;

use crate::containers::private_mounts;
use crate::containers::steps::Steps;
use crate::host::programs::{self, Found};

/// Environment variable by which the C library's loader lists what a program needs, and does not run it (ld.so(8)).
const LISTS: (&str, &str) = ("LD_TRACE_LOADED_OBJECTS", "1");
/// Time in which it does.
const LISTS_WITHIN: Duration = Duration::from_secs(10);
/// The device behind network devices that programs serve.
const TUN: &str = "/dev/net/tun";

/// Lists the steps that make `at` the root of a program, with the program, its libraries and these folders at their own paths.
pub fn make_confining_steps(program: &Found, folders: &[&Path], at: &Path) -> io::Result<Steps> {
    let mut steps = Steps::default();
    steps.add_folder(at, 0o755, None)?;
    steps.add_mount("tmpfs", at, MountFlags::NOSUID, "mode=755,size=1m")?;
    for file in list_libraries(program)?.iter().map(PathBuf::as_path).chain([&**program]) {
        let inside = add_above(&mut steps, at, file)?;
        steps.add_file(&inside)?;
        steps.add_bind_mount(file, &inside)?;
        read_only(&mut steps, &inside)?;
    }
    let memory = add_above(&mut steps, at, Path::new("/dev/shm"))?;
    steps.add_folder(&memory, 0o1777, None)?;
    steps.add_mount("tmpfs", &memory, MountFlags::NOSUID | MountFlags::NODEV, "mode=1777")?;
    if Path::new(TUN).exists() {
        let inside = add_above(&mut steps, at, Path::new(TUN))?;
        steps.add_file(&inside)?;
        steps.add_bind_mount(Path::new(TUN), &inside)?;
        read_only(&mut steps, &inside)?;
    }
    for folder in folders {
        let inside = add_above(&mut steps, at, folder)?;
        steps.add_folder(&inside, 0o755, None)?;
        steps.bind_with_below(folder, &inside)?;
    }
    steps.change_root(at)?;
    Ok(steps)
}

/// Keeps root in the guest from changing a file of this machine. Others may not anyway, and not every file system lets them say so.
fn read_only(steps: &mut Steps, inside: &Path) -> io::Result<()> {
    steps.read_only(inside)?;
    if !private_mounts::can_make_mount_namespace() {
        steps.make_optional();
    }
    Ok(())
}

/// Makes the folders above a path in the new root, and returns where the path is there.
fn add_above(steps: &mut Steps, at: &Path, path: &Path) -> io::Result<PathBuf> {
    let inside = |path: &Path| at.join(path.strip_prefix("/").unwrap_or(path));
    let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|path| path.parent().is_some()).collect();
    above.reverse();
    above.into_iter().try_for_each(|folder| steps.add_folder(&inside(folder), 0o755, None))?;
    Ok(inside(path))
}

/// Lists the libraries of a program with its loader, by the paths that the loader looks for them at. A static program has none.
fn list_libraries(program: &Found) -> io::Result<Vec<PathBuf>> {
    let mut command = programs::command(program);
    // A program without a loader prints its version.
    command.arg("--version").env_clear().env(LISTS.0, LISTS.1);
    let said = programs::run_for_output(&mut command, LISTS_WITHIN)?;
    Ok(parse_libraries(&said)
        .into_iter()
        .filter(|path| fs::metadata(path).is_ok_and(|about| about.is_file()))
        .collect())
}

/// Reads the loader's list: `libc.so.6 => /lib/libc.so.6 (0x7f...)`, or its own path without a name before it.
fn parse_libraries(list: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let (before, _) = line.trim().rsplit_once(" (0x")?;
        let path = before.split_once(" => ").map_or(before, |(_, path)| path).trim();
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    list.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_the_loaders_list() {
        let list = "\tlinux-vdso.so.1 (0x00007fff)\n\tlibc.so.6 => /lib/x86_64/libc.so.6 (0x00007f00)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f01)\n\tlibgone.so => not found\n";
        assert_eq!(
            parse_libraries(list),
            ["/lib/x86_64/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
        assert!(parse_libraries("6.1.176\n").is_empty());
    }
}

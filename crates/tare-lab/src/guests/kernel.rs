//! A kernel for guests: the distribution's own, downloaded by its package manager and unpacked, not installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tare_paths::marked::{self, LeftOver, MarkedFolder};

use crate::error::{Cause, ErrorKind, LabError};
use crate::guests::machine::find_machine_kind;
use crate::host::processes;
use crate::host::programs::{self, Programs};
use crate::provider::NotReady;
use crate::provider::options::Choice;
use crate::provider::processor::Processor;

/// Modules that a guest needs unless they are built in: disks, streams, shares, and the names that ext4 asks
/// for.
const MODULES: [&str; 13] = [
    "virtio_pci",
    "virtio_mmio",
    "virtio_console",
    "virtio_blk",
    "virtio_net",
    "9pnet_virtio",
    "9p",
    "crc32c_generic",
    "ext4",
    "9pnet_fd",
    "virtiofs",
    "sch_netem",
    "overlay",
];
/// Modules that only some options need: other shares and delays than the usual, and layers.
const ON_DEMAND: [&str; 5] = ["9pnet_fd", "fuse", "virtiofs", "sch_netem", "overlay"];
/// Time that a download may take: 70 MB over a line of 2 Mbit/s.
const DOWNLOAD_WAIT: Duration = Duration::from_secs(300);
/// Time that unpacking may take: seconds, on any disk.
const UNPACK_WAIT: Duration = Duration::from_secs(120);
/// Time that a question to the package manager may take.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
/// Limit on the folders and files that are searched for modules: Debian has some 5000.
const MOST_FILES: usize = 100_000;
/// Name of an unfinished folder, before its digits, and how many these are.
const UNFINISHED: &str = "kernel-";
const DIGITS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Uncompressed, which spares a guest the unpacking: on x86-64 an ELF file, booted by PVH.
    pub image: PathBuf,
    /// Modules in the order in which they are to be loaded.
    pub modules: Vec<PathBuf>,
    /// As `uname -r` prints it.
    pub release: String,
}

impl Kernel {
    /// Lists the modules that a guest is to load, with these on demand. Modules that are built in are not
    /// among them.
    pub fn modules_with(&self, wanted: &[&str]) -> Vec<&Path> {
        let fits = |path: &&PathBuf| {
            let name = module_name(path).unwrap_or_default();
            let name = name.split_once('_').map_or("", |(_, name)| name);
            !ON_DEMAND.contains(&name) || wanted.contains(&name)
        };
        self.modules.iter().filter(fits).map(PathBuf::as_path).collect()
    }
}

/// Reads the modules of these names in a folder, each after those that it depends on.
pub fn modules_in(
    programs: &Programs,
    folder: &Path,
    names: &[&str],
) -> Result<Vec<(String, Vec<u8>)>, LabError> {
    let files = module_files(folder);
    let order = load_order(&files, names, &mut |path| content(programs, path))?;
    order.iter().map(|path| Ok((module_name(path).unwrap_or_default(), content(programs, path)?))).collect()
}

fn folder(processor: Processor, programs: &Programs) -> PathBuf {
    let name = match processor {
        Processor::HERE => "kernel".to_owned(),
        other => format!("kernel-{}", other.name()),
    };
    programs.prepared.join(name)
}

/// Finds the kernel that was prepared.
pub fn find_kernel(processor: Processor, programs: &Programs) -> Result<Kernel, NotReady> {
    let not_ready = |reason: &str| NotReady {
        reason: reason.to_owned(),
        command: Some(match processor {
            Processor::HERE => "tare environment prepare qemu".to_owned(),
            other => format!("tare environment prepare 'qemu?processor={}'", other.name()),
        }),
    };
    let folder = folder(processor, programs);
    let found =
        fs::read_to_string(folder.join("release")).ok().zip(fs::read_dir(folder.join("modules")).ok());
    let (release, entries) = found.ok_or_else(|| not_ready("no kernel is prepared for guests"))?;
    let mut modules: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // Their names begin with their number.
    modules.sort_unstable();
    if fs::read_to_string(folder.join("asked")).unwrap_or_default() != MODULES.join(" ") {
        return Err(not_ready("the kernel that was prepared lacks modules that this version needs"));
    }
    Ok(Kernel { image: folder.join("vmlinux"), modules, release: release.trim().to_owned() })
}

/// Downloads and unpacks the newest kernel that the distribution has for a processor. `begins` hears of each step.
pub fn prepare_kernel(
    processor: Processor,
    programs: &Programs,
    begins: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    fs::create_dir_all(&programs.prepared).map_err(|e| failed("making a folder", e))?;
    remove_unfinished(&programs.prepared);
    let unfinished = make_unfinished(&programs.prepared).map_err(|e| failed("making a folder", e))?;
    let work = unfinished.door().path();
    let packages = Packages::of(processor, work);
    packages.learn(programs, begins)?;
    let package = packages.newest_kernel(programs)?;
    begins(&format!("downloading {package}"));
    let mut download = packages.ask(programs, "apt-get")?;
    download.args(["download", &package]).current_dir(work);
    must(&mut download, DOWNLOAD_WAIT)?;
    let archive = first(work, |name| name.ends_with(".deb")).map_err(|e| failed("finding the package", e))?;
    begins(&format!("unpacking {package}"));
    let unpacked = work.join("unpacked");
    must(command(programs, "dpkg-deb")?.arg("-x").arg(&archive).arg(&unpacked), UNPACK_WAIT)?;
    let made = work.join("kernel");
    build(programs, &unpacked, &made)?;
    let target = folder(processor, programs);
    let _ = fs::remove_dir_all(&target);
    fs::rename(&made, &target).map_err(|e| failed("keeping the kernel", e))
}

pub fn remove_kernel(processor: Processor, programs: &Programs) -> Result<(), LabError> {
    remove_unfinished(&programs.prepared);
    match fs::remove_dir_all(folder(processor, programs)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("removing the kernel", e)),
        _ => Ok(()),
    }
}

/// Makes a folder in which files are prepared until they are whole, named by the moment.
fn make_unfinished(parent: &Path) -> io::Result<MarkedFolder> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MarkedFolder::make(parent, &format!("{UNFINISHED}{:0DIGITS$x}", now.as_nanos()))
}

/// Removes such folders that killed runs have left.
pub(crate) fn remove_unfinished(parent: &Path) -> Vec<LeftOver> {
    marked::remove_left(parent, |name| {
        let digits = name.strip_prefix(UNFINISHED)?;
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(is_digit)).then_some(0)
    })
}

/// Package lists of a processor: this machine's as they are; another processor's in separate lists, so that
/// nothing on the machine changes.
struct Packages {
    processor: Processor,
    /// Folder for the lists of another processor while they are needed.
    lists: PathBuf,
}

impl Packages {
    fn of(processor: Processor, work: &Path) -> Packages {
        Packages { processor, lists: work.join("lists") }
    }

    /// Builds a command of the package manager that uses these lists.
    fn ask(&self, programs: &Programs, name: &str) -> Result<Command, LabError> {
        let mut command = command(programs, name)?;
        if self.processor != Processor::HERE {
            let processor = self.processor.name();
            let lists = self.lists.display();
            for setting in [
                format!("APT::Architecture={processor}"),
                format!("APT::Architectures={processor}"),
                format!("Dir::State::Lists={lists}"),
                format!("Dir::Cache={lists}"),
                "Acquire::Languages=none".to_owned(),
            ] {
                command.args(["-o", &setting]);
            }
        }
        Ok(command)
    }

    /// Downloads the lists of another processor's packages.
    fn learn(&self, programs: &Programs, begins: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        if self.processor == Processor::HERE {
            return Ok(());
        }
        begins(&format!("downloading the lists of packages for {}", self.processor.name()));
        fs::create_dir_all(self.lists.join("partial")).map_err(|e| failed("making a folder", e))?;
        must(self.ask(programs, "apt-get")?.args(["update", "-qq"]), DOWNLOAD_WAIT).map(drop)
    }

    fn newest_kernel(&self, programs: &Programs) -> Result<String, LabError> {
        let wanted = find_machine_kind(self.processor).kernel_package;
        let selected = must(self.ask(programs, "apt-cache")?.args(["depends", wanted]), ANSWER_WAIT)?;
        let package = selected.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
        package.map(|rest| format!("linux-image-{rest}")).ok_or_else(|| {
            LabError::new(ErrorKind::Environment, "cannot find a kernel to download")
                .with_cause(format!("the package manager knows no {wanted}"))
                .with_hint("run: apt-get update")
        })
    }
}

fn build(programs: &Programs, unpacked: &Path, made: &Path) -> Result<(), LabError> {
    let image = first(&unpacked.join("boot"), |name| name.starts_with("vmlinuz-"));
    let image = image.map_err(|e| failed("finding the kernel", e))?;
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let release = name.trim_start_matches("vmlinuz-").to_owned();
    let modules = made.join("modules");
    fs::create_dir_all(&modules).map_err(|e| failed("making a folder", e))?;
    let packed = fs::read(&image).map_err(|e| failed("reading the kernel", e))?;
    let vmlinux = made.join("vmlinux");
    match payload_of(&packed) {
        Some(payload) => uncompress(programs, payload, &vmlinux)?,
        None if is_plain(&packed) => {
            fs::write(&vmlinux, &packed).map_err(|e| failed("keeping the kernel", e))?
        }
        None => return Err(failed("reading the kernel", "it is not in the boot protocol's format")),
    }
    let mut roots = vec![unpacked.join("lib/modules").join(&release)];
    roots.push(unpacked.join("usr/lib/modules").join(&release));
    let files = roots.iter().flat_map(|root| module_files(root)).collect();
    for (number, path) in
        load_order(&files, &MODULES, &mut |path| content(programs, path))?.iter().enumerate()
    {
        let name = format!("{number:02}-{}.ko", module_name(path).unwrap_or_default());
        fs::write(modules.join(name), content(programs, path)?).map_err(|e| failed("keeping a module", e))?;
    }
    fs::write(made.join("asked"), MODULES.join(" ")).map_err(|e| failed("keeping the kernel", e))?;
    fs::write(made.join("release"), release).map_err(|e| failed("keeping the kernel", e))
}

/// Finds the compressed kernel in a bootable image: a bzImage, an EFI program that unpacks itself, or nothing
/// around it.
fn payload_of(image: &[u8]) -> Option<&[u8]> {
    match image {
        [0x1f, 0x8b, ..] => Some(image),
        [b'M', b'Z', _, _, b'z', b'i', b'm', b'g', ..] => efi_payload_of(image),
        _ => boot_payload_of(image),
    }
}

/// Recognises an uncompressed kernel of arm64 or RISC-V: both have a mark at the same place.
fn is_plain(image: &[u8]) -> bool {
    matches!(image.get(56..60), Some(b"ARM\x64" | b"RSC\x05"))
}

fn word_at(image: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// Reads Linux's zboot header: offset and length of the payload.
fn efi_payload_of(image: &[u8]) -> Option<&[u8]> {
    let start = word_at(image, 8)?;
    image.get(start..start.checked_add(word_at(image, 12)?)?)
}

/// Reads the payload by the Linux/x86 boot protocol 2.08: `payload_offset` and `payload_length` count from
/// the protected-mode code, which follows the setup sectors. Its last four bytes are the size.
fn boot_payload_of(image: &[u8]) -> Option<&[u8]> {
    const SECTOR: usize = 512;
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    // Zero means four, for kernels of the eighties.
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * SECTOR + word_at(image, 0x248)?;
    image.get(start..start.checked_add(word_at(image, 0x24c)?)?.checked_sub(4)?)
}

/// Uncompresses by the program for the format of the first bytes.
fn uncompress(programs: &Programs, bytes: &[u8], to: &Path) -> Result<(), LabError> {
    let program = match bytes {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0x1f, 0x8b, ..] => "gzip",
        _ => return Err(failed("uncompressing", "its format is none of xz, zstd, gzip")),
    };
    let packed = to.with_extension("packed");
    fs::write(&packed, bytes).map_err(|e| failed("uncompressing", e))?;
    let open = || Ok((File::open(&packed)?, File::create(to)?));
    let (input, output): (File, File) = open().map_err(|e: io::Error| failed("uncompressing", e))?;
    let mut command = command(programs, program)?;
    command.args(["-d", "-c"]);
    let ended = programs::run_between(&mut command, Stdio::from(input), Stdio::from(output), UNPACK_WAIT);
    let ended = ended.map_err(|e| failed(program, e))?;
    let _ = fs::remove_file(&packed);
    if ended.status.success() { Ok(()) } else { Err(failed(program, ended.first_line())) }
}

/// Reads a module, and decompresses it where the distribution compresses modules.
fn content(programs: &Programs, path: &Path) -> Result<Vec<u8>, LabError> {
    let bytes = fs::read(path).map_err(|e| failed("reading a module", e))?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(bytes);
    }
    let plain = path.with_extension("plain");
    uncompress(programs, &bytes, &plain)?;
    fs::read(&plain).map_err(|e| failed("reading a module", e))
}

/// Collects modules by name; file names have hyphens where names have underscores.
fn module_files(root: &Path) -> BTreeMap<String, PathBuf> {
    let (mut files, mut folders, mut seen) = (BTreeMap::new(), vec![root.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_FILES {
                return files;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    files.extend(module_name(&entry.path()).map(|name| (name, entry.path())));
                }
                _ => {}
            }
        }
    }
    files
}

fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let end = name.find(".ko")?;
    Some(name[..end].replace('-', "_"))
}

/// Orders the modules that are needed, each after those that it depends on. Missing ones are built in.
fn load_order(
    files: &BTreeMap<String, PathBuf>,
    names: &[&str],
    content: &mut dyn FnMut(&Path) -> Result<Vec<u8>, LabError>,
) -> Result<Vec<PathBuf>, LabError> {
    let (mut order, mut begun) = (Vec::new(), BTreeSet::new());
    // A name is pushed again under its dependencies, and comes up when they are done.
    let mut stack: Vec<String> = names.iter().rev().map(|name| (*name).to_owned()).collect();
    while let Some(name) = stack.pop() {
        let Some(path) = files.get(&name) else { continue };
        if !begun.insert(name.clone()) {
            if !order.contains(path) {
                order.push(path.clone());
            }
            continue;
        }
        stack.push(name);
        stack.extend(dependencies(&content(path)?).into_iter().filter(|other| !begun.contains(other)));
    }
    Ok(order)
}

/// Reads a module's dependencies: `depends=a,b`, between zero bytes.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let value = module[at + KEY.len()..].split(|&b| b == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value).replace('-', "_");
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn first(folder: &Path, fits: impl Fn(&str) -> bool) -> io::Result<PathBuf> {
    fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&fits))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn command(programs: &Programs, name: &str) -> Result<Command, LabError> {
    let missing = || failed("looking for a program to unpack it", format!("{name} is not installed"));
    programs.find(name).map(|found| programs::command(&found)).ok_or_else(missing)
}

/// Runs a program that must end well; returns what it printed.
fn must(command: &mut Command, wait: Duration) -> Result<String, LabError> {
    let name = command.get_program().to_string_lossy().into_owned();
    processes::end_with_parent(command);
    programs::run_for_output(command, wait).map_err(|e| failed(&name, e))
}

fn failed(what: &str, cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Environment, "cannot prepare a kernel for guests").while_doing(what, cause)
}

#[cfg(test)]
mod tests {
    use tare_paths::marked::MARKER;

    use super::*;

    #[test]
    fn only_what_a_killed_run_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let used = make_unfinished(parent.path()).unwrap();
        let killed = "kernel-18a3b0c4d5e6f708";
        for name in [killed, "kernel-aarch64", "kernel", "kernel-18a3b0c4d5e6f70", "kernel-18A3B0C4D5E6F708"]
        {
            fs::create_dir(parent.path().join(name)).unwrap();
            for file in ["vmlinux", MARKER] {
                fs::write(parent.path().join(name).join(file), "x").unwrap();
            }
        }
        let left = remove_unfinished(parent.path());
        assert_eq!(left, [LeftOver { folder: parent.path().join(killed), left_because: None }]);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 5);
        assert!(used.door().join(Path::new(MARKER)).exists());
    }

    #[test]
    fn modules_come_after_what_they_depend_on() {
        let files: BTreeMap<String, PathBuf> = ["9p", "9pnet", "9pnet_virtio", "netfs", "fscache", "ext4"]
            .iter()
            .map(|name| ((*name).to_owned(), PathBuf::from(name)))
            .collect();
        let mut content = |path: &Path| {
            let depends = match path.to_str().unwrap() {
                "9p" => "9pnet,netfs",
                "9pnet-virtio" | "9pnet_virtio" => "9pnet,virtio",
                // A circle must not hang it.
                "netfs" => "fscache",
                "fscache" => "netfs",
                _ => "",
            };
            Ok(format!("x\0depends={depends}\0y").into_bytes())
        };
        let order = load_order(&files, &MODULES, &mut content).unwrap();
        let at = |name: &str| order.iter().position(|path| path == Path::new(name)).unwrap();
        assert!(at("9pnet") < at("9pnet_virtio") && at("9pnet") < at("9p") && at("netfs") < at("9p"));
        assert_eq!(order.len(), files.len());
    }

    #[test]
    fn a_payload_is_found_by_the_header_and_never_beyond_the_file() {
        let mut image = vec![0u8; 4096];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&12u32.to_le_bytes());
        image[1040..1048].copy_from_slice(b"payload!");
        assert_eq!(payload_of(&image), Some(&b"payload!"[..]));
        image[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload_of(&image), None);
        assert_eq!(payload_of(&image[..100]), None);
    }

    #[test]
    fn kernels_of_other_processors_are_found_as_they_are_packed() {
        let mut efi = b"MZ\0\0zimg".to_vec();
        efi.extend([32u32, 7, 0, 0].into_iter().flat_map(u32::to_le_bytes));
        efi.resize(32, 0);
        efi.extend(b"payload and more");
        assert_eq!(payload_of(&efi), Some(&b"payload"[..]));
        efi[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload_of(&efi), None);
        assert_eq!(payload_of(&[0x1f, 0x8b, 8]), Some(&[0x1f, 0x8b, 8][..]));
        let mut plain = vec![0; 64];
        plain[56..60].copy_from_slice(b"ARM\x64");
        assert!(is_plain(&plain) && payload_of(&plain).is_none() && !is_plain(&plain[..58]));
    }

    #[test]
    fn names_and_dependencies_are_read() {
        assert_eq!(module_name(Path::new("/x/virtio-pci.ko.xz")).as_deref(), Some("virtio_pci"));
        assert_eq!(module_name(Path::new("/x/modules.dep")), None);
        assert_eq!(dependencies(b"a\0depends=\0"), [""; 0]);
        assert_eq!(dependencies(b"no such key"), [""; 0]);
    }
}

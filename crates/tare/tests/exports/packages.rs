//! Packages: everything that `./dist` makes of this program is installed into an empty system by its own
//! installer, and runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::program::Program;
use crate::reading::{find_reader, repository_root, run_reader};

/// Fixed date for reproducible packages, wherever the repository comes from.
const DATE: &str = "1767225600";
const RECORD: &str = "fixtures/sessions/container-gvisor.tare";

/// Builds every package format that is supported here, and prints that the test is skipped if none is.
fn made(test: &str) -> Option<Program> {
    let (strip, nfpm) = (find_reader(test, "strip")?, find_reader(test, "nfpm")?);
    let mut python = Command::new("python3");
    let new_enough = python.args(["-c", "import tomllib"]).output().is_ok_and(|ended| ended.status.success());
    if !new_enough {
        println!("SKIPPED {test}: Python 3.11 or later is not installed");
        return None;
    }
    let made = Program::new();
    fs::create_dir(made.path("programs")).unwrap();
    let mut command = Command::new(strip);
    command.arg("-o").arg(made.path("programs/tare")).arg(env!("CARGO_BIN_EXE_tare"));
    run_reader(command);
    let mut command = Command::new(repository_root().join("dist"));
    command.arg("--programs").arg(made.path("programs")).arg("--out").arg(made.path("out"));
    command.args(["--forms", "tarball,deb,wheel,oci"]).env("NFPM", nfpm).env("SOURCE_DATE_EPOCH", DATE);
    run_reader(command);
    Some(made)
}

#[test]
fn packages_install_where_nothing_else_is_and_leave_nothing() {
    let test = "packages_install_where_nothing_else_is_and_leave_nothing";
    let Some(made) = made(test) else { return };
    // At once: each waits for its installer most of the time.
    thread::scope(|scope| {
        for install in [debian, wheel, archive, image] {
            let made = &made;
            scope.spawn(move || install(test, made));
        }
    });
    let sums = fs::read_to_string(made.path("out/SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 4, "archive, .deb, wheel, image: {sums}");
}

/// Finds the only package whose name begins and ends like this.
fn file(made: &Program, beginning: &str, end: &str) -> PathBuf {
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(beginning) && name.ends_with(end)
    };
    let files = fs::read_dir(made.path("out")).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = files.filter(named).collect();
    assert_eq!(found.len(), 1, "{beginning}*{end}: {found:?}");
    found.into_iter().next().unwrap()
}

/// Asserts that the installed program starts, reads a record, and fails as it should.
fn runs(tare: impl Fn() -> Command, record: &Path) {
    let with = |arguments: &[&str]| {
        let mut command = tare();
        command.args(arguments).env_remove("XDG_STATE_HOME");
        command
    };
    assert_eq!(run_reader(with(&["--version"])).trim(), concat!("tare ", env!("CARGO_PKG_VERSION")));
    let report = run_reader(with(&["report", record.to_str().unwrap()]));
    assert!(report.contains("sys.getppid"), "{report}");
    let status = with(&["report", "/no/such/record.tare"]).output().unwrap().status;
    let expected = Program::new().run_tare(&["report", "/no/such/record.tare"]).code;
    assert_eq!(status.code(), expected, "the exit code is passed on");
}

/// Lists the files below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Installs the .deb with dpkg into an empty root, and runs it there.
fn debian(test: &str, made: &Program) {
    let Some(dpkg) = find_reader(test, "dpkg") else { return };
    if !rustix::process::getuid().is_root() {
        return println!("SKIPPED {test}: dpkg installs for root only");
    }
    let system = Program::new();
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(system.path(folder)).unwrap();
    }
    fs::write(system.path("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new(&dpkg);
        command.arg("--root").arg(system.path("")).args(arguments);
        run_reader(command)
    };
    dpkg(&["--install", file(made, "tare_", ".deb").to_str().unwrap()]);
    assert_eq!(dpkg(&["--verify", "tare"]), "", "no file differs from what the package says");
    for name in [
        "man/man1/tare-run.1.gz",
        "bash-completion/completions/tare",
        "zsh/vendor-completions/_tare",
        "fish/vendor_completions.d/tare.fish",
        "doc/tare/copyright",
        "doc/tare/changelog.gz",
        "doc/tare/LICENCES.txt",
        "doc/tare/tare.cdx.json",
    ] {
        assert!(system.path("usr/share").join(name).is_file(), "{name}");
    }
    fs::copy(repository_root().join(RECORD), system.path("record.tare")).unwrap();
    let inside = || {
        let mut command = Command::new("chroot");
        command.arg(system.path("")).arg("/usr/bin/tare");
        command
    };
    runs(inside, Path::new("/record.tare"));
    dpkg(&["--purge", "tare"]);
    assert_eq!(below(&system.path("usr")), Vec::<PathBuf>::new());
}

/// Installs the wheel with pip into an empty environment, without an index.
fn wheel(test: &str, made: &Program) {
    let Some(pip) = find_reader(test, "pip") else { return };
    let environment = Program::new();
    let mut command = Command::new("python3");
    command.args(["-m", "venv", "--without-pip"]).arg(environment.path("e"));
    run_reader(command);
    let before = below(&environment.path("e"));
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(&pip);
        command.arg("--python").arg(environment.path("e/bin/python"));
        command.args(["--disable-pip-version-check"]).args(arguments);
        run_reader(command)
    };
    pip(&["install", "--no-index", file(made, "tare-", ".whl").to_str().unwrap()]);
    runs(|| Command::new(environment.path("e/bin/tare")), &repository_root().join(RECORD));
    assert!(environment.path("e/share/man/man1/tare-run.1").is_file());
    pip(&["uninstall", "--yes", "tare"]);
    assert_eq!(below(&environment.path("e")), before);
}

/// Runs the program from the unpacked archive.
fn archive(test: &str, made: &Program) {
    let Some(tar) = find_reader(test, "tar") else { return };
    let folder = Program::new();
    let mut command = Command::new(tar);
    command.args(["--extract", "--strip-components=1", "--directory"]).arg(folder.path("")).arg("--file");
    command.arg(file(made, "tare-", ".tar.gz"));
    run_reader(command);
    runs(|| Command::new(folder.path("tare")), &repository_root().join(RECORD));
    let all =
        [("LICENSE", 1000), ("LICENCES.txt", 50_000), ("tare.cdx.json", 10_000), ("man/man1/tare.1", 1000)];
    for (name, least) in all {
        assert!(fs::metadata(folder.path(name)).unwrap().len() > least, "{name}");
    }
}

/// Asserts that the image has every folder that its program starts or writes in, because a read-only root
/// cannot get them later.
fn image(test: &str, made: &Program) {
    let Some(tar) = find_reader(test, "tar") else { return };
    let folder = Program::new();
    let mut command = Command::new(&tar);
    command.arg("--extract").arg("--directory").arg(folder.path("")).arg("--file");
    command.arg(file(made, "tare-", "-oci.tar"));
    run_reader(command);
    let blob = |of: &Value| {
        folder.path("blobs").join(of["digest"].as_str().unwrap().replace(':', std::path::MAIN_SEPARATOR_STR))
    };
    let read = |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let index = read(blob(&read(folder.path("index.json"))["manifests"][0]));
    let manifest = read(blob(&index["manifests"][0]));
    let config = &read(blob(&manifest["config"]))["config"];
    let mut command = Command::new(&tar);
    command.args(["--list", "--verbose", "--gzip", "--file"]).arg(blob(&manifest["layers"][0]));
    let listed = run_reader(command);
    let volumes = config["Volumes"].as_object().unwrap().keys().map(String::as_str);
    for place in volumes.chain([config["WorkingDir"].as_str().unwrap()]) {
        let end = format!(" {}/", &place[1..]);
        let is_it = |line: &&str| line.starts_with("drwxrwxrwt ") && line.ends_with(&end);
        assert!(listed.lines().any(|line| is_it(&line)), "{place}: {listed}");
    }
}

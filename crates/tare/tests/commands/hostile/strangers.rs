//! Strangers: files planted in world-writable folders mislead neither root nor an ordinary user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use tare_bench::programs::copy_program;
use tempfile::TempDir;

use crate::program::Said;

/// User IDs of the one who measures, besides root, and of the one who plants. Neither has a name.
const ORDINARY: u32 = 61_001;
const STRANGER: u32 = 61_002;
const SHARED: u32 = 0o1777;
const PRIVATE: u32 = 0o600;

/// World-writable folder, with a program that everyone can run, and with a file of the user next to it.
struct Street {
    folder: TempDir,
    user: u32,
}

impl Street {
    fn new(user: u32) -> Street {
        // Every folder above it is open to all.
        let folder = tempfile::Builder::new().prefix("strangers-").tempdir_in("/var/tmp").unwrap();
        let street = Street { folder, user };
        fs::set_permissions(street.folder.path(), Permissions::from_mode(0o755)).unwrap();
        copy_program(Path::new(env!("CARGO_BIN_EXE_tare")), &street.path("tare")).unwrap();
        for (name, mode) in [("shared", SHARED), ("own", 0o700)] {
            fs::create_dir(street.path(name)).unwrap();
            fs::set_permissions(street.path(name), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(street.path("own/precious"), "mine").unwrap();
        fs::set_permissions(street.path("own/precious"), Permissions::from_mode(PRIVATE)).unwrap();
        ["own", "own/precious"]
            .iter()
            .for_each(|name| chown(street.path(name), Some(user), Some(user)).unwrap());
        street
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn by(&self, user: u32, program: &Path, words: &[&str]) -> Said {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path("shared")).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", self.path("own/state")).env("NO_COLOR", "1");
        Said::from_output(command.uid(user).gid(user).output().unwrap())
    }

    /// Runs a script as the stranger in the shared folder.
    fn plant(&self, script: &str) {
        let said = self.by(STRANGER, Path::new("/bin/sh"), &["-c", &format!("umask 0\n{script}")]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    fn tare(&self, words: &[&str]) -> Said {
        let said = self.by(self.user, &self.path("tare"), words);
        let precious = self.path("own/precious");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine", "{words:?}: {said:?}");
        assert_eq!(precious.metadata().unwrap().mode() & 0o777, PRIVATE, "{words:?}: {said:?}");
        said
    }

    fn run(&self, record: &str) -> Said {
        let scratch = self.path("own");
        let fixed = ["run", "--in", "native", "--only", "sys.getppid", "--rounds", "1", "--record", record];
        self.tare(&[&fixed[..], &["--scratch", scratch.to_str().unwrap()]].concat())
    }
}

/// Runs a test as root and as an ordinary user.
fn for_both(test: &str, case: impl Fn(&Street)) {
    if !geteuid().is_root() {
        return println!("SKIPPED {test}: only root can be other users");
    }
    [0, ORDINARY].into_iter().for_each(|user| case(&Street::new(user)));
}

#[test]
fn a_planted_link_or_file_is_not_written_through() {
    for_both("a_planted_link_or_file_is_not_written_through", |street| {
        let precious = street.path("own/precious");
        street.plant(&format!(
            "ln -s {0} data.html; ln -s {0} data.tare; ln -s {0} link; echo x >file; mkfifo pipe",
            precious.display()
        ));
        // A record is never written where anything is, nor through a link.
        assert_eq!(street.run("data.tare").code, Some(4));
        let said = street.run("./data.html.tare");
        assert_eq!(said.code, Some(0), "{said:?}");
        fs::rename(street.path("shared/data.html.tare"), street.path("own/data.tare")).unwrap();
        // A page that was not named stands beside its record, and beside what was planted for it.
        street.plant(&format!("ln -s {} s.html", precious.display()));
        let said = street.run("s.tare");
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(street.path("shared/s-2.html").symlink_metadata().unwrap().is_file(), "{said:?}");
        let record = street.path("own/data.tare");
        let record = record.to_str().unwrap();
        for name in ["link", "file", "pipe"] {
            let said = street.tare(&["report", record, "--html", name]);
            assert_eq!(said.code, Some(4), "{name}: {said:?}");
            assert!(said.err.contains("another user made"), "{name}: {said:?}");
        }
        assert_eq!(fs::read_to_string(street.path("shared/file")).unwrap(), "x\n");
        let said = street.tare(&["report", record, "--export", "junit=link"]);
        assert_eq!(said.code, Some(4), "{said:?}");
    });
}

#[test]
fn what_a_page_replaces_keeps_its_rights() {
    for_both("what_a_page_replaces_keeps_its_rights", |street| {
        assert_eq!(street.run("s.tare").code, Some(0));
        let page = street.path("shared/page.html");
        // A file that root writes for another user keeps that owner; a user's own file keeps its mode.
        let owner = if street.user == 0 { ORDINARY } else { street.user };
        let folder = street.path("own/pages");
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(street.user), Some(street.user)).unwrap();
        let page = folder.join(page.file_name().unwrap());
        fs::write(&page, "old").unwrap();
        chown(&page, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&page, Permissions::from_mode(0o640)).unwrap();
        let said = street.tare(&["report", "s.tare", "--html", page.to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let about = page.metadata().unwrap();
        assert_eq!((about.mode() & 0o777, about.uid(), about.gid()), (0o640, owner, owner));
        // The group of a file that this user does not belong to cannot be kept: its rights are not handed on.
        if street.user != 0 {
            chown(&page, Some(owner), Some(STRANGER)).unwrap();
            assert_eq!(street.tare(&["report", "s.tare", "--html", page.to_str().unwrap()]).code, Some(0));
            let about = page.metadata().unwrap();
            assert_eq!((about.mode() & 0o777, about.gid()), (0o600, owner));
        }
    });
}

#[test]
fn a_pipe_that_nobody_reads_is_not_waited_for() {
    for_both("a_pipe_that_nobody_reads_is_not_waited_for", |street| {
        assert_eq!(street.run("s.tare").code, Some(0));
        let pipe = street.path("own/pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        chown(&pipe, Some(street.user), Some(street.user)).unwrap();
        let page = pipe.to_str().unwrap();
        let words = ["20", street.path("tare").to_str().unwrap(), "report", "s.tare", "--html", page]
            .map(str::to_owned);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // 124: it had to be ended.
        let said = street.by(street.user, Path::new("/usr/bin/timeout"), &words);
        assert_eq!(said.code, Some(4), "{said:?}");
        let read =
            format!("timeout 20 cat {page} & timeout 20 {} report s.tare --html {page}; wait", words[1]);
        let said =
            street.by(street.user, Path::new("/bin/sh"), &["-c", &format!("sleep 1 <{page} & {read}")]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.contains("<!"), "{said:?}");
    });
}

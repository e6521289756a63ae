//! WSL: a fake wsl.exe that behaves as documented, over two kernels that really differ.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tare_data::frame::Frame;
use tare_data::request::Request;
use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::guests::extended_state;
use tare_lab::host::processes::Signs;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::remove_leftovers;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::provider::NotReady;

use crate::bench::actor::Actor;
use crate::bench::{Bench, Spoken, TARE, find_programs};

/// A fake wsl.exe. Like the real one, it prints its own messages in UTF-16LE unless WSL_UTF8=1, with Windows
/// line endings, on standard output even when it fails, and passes streams and exit codes of programs
/// through. Distributions of version 1 run in gVisor, those of version 2 in user-mode Linux, both with the
/// host's /usr.
const FAKE: &str = r#"#!/bin/sh
bin="$(dirname "$0")"; state="$bin/state"; mkdir -p "$state"
say() { sed 's/$/\r/' | if [ "${WSL_UTF8-}" = 1 ]; then cat; else iconv -f UTF-8 -t UTF-16LE; fi; }
known() {
    [ -d "$state/$1" ] && return
    printf 'There is no distribution with the supplied name.\nError code: Wsl/Service/WSL_E_DISTRO_NOT_FOUND\n' | say
    exit 255
}
verb=$1; shift
case $verb in
-l|--list)
    { printf '  %-48s%-16s%s\n' NAME STATE VERSION
      for each in "$state"/*; do
          name=${each##*/}; mark=' '; [ "$name" = One ] && mark='*'
          printf '%s %-48s%-16s%s\n' "$mark" "$name" Stopped "$(cat "$each/version")"
      done; } | say ;;
--status) printf 'Default Distribution: One\nDefault Version: 2\n' | say ;;
--version) printf 'WSL version: 2.3.26.0\nKernel version: 5.15.167.4-1\nWSLg version: 1.0.65\nWindows version: 10.0.26100.2454\n' | say ;;
--export) known "$1"; tar -C "$state/$1/root" -cf "$2" . ;;
--import)
    [ "$4" = --version ] || exit 255
    [ -d "$state/$1" ] && { echo 'A distribution with the supplied name already exists.' | say; exit 255; }
    mkdir -p "$2/root" "$state/$1"; ln -s "$(realpath "$2")/root" "$state/$1/root"; echo "$5" > "$state/$1/version"
    tar -C "$state/$1/root/" -xf "$3" ;;
--terminate) known "$1" ;;
--unregister) known "$1"; rm -rf "$(realpath "$state/$1/root")" "$state/$1" ;;
-d|--distribution)
    known "$1"; name=$1; shift
    case $1 in -u|--user) shift 2 ;; esac
    case $1 in -e|--exec) shift ;; *) exit 255 ;; esac
    root="$(realpath "$state/$name/root")"
    if [ "$(cat "$state/$name/version")" = 1 ]; then
        exec unshare --mount runsc --root "$root/run" --ignore-cgroups --platform=systrap --network=none \
            --overlay2=none do --quiet --force-overlay=false --volume /usr:/usr --root "$root" --cwd / "$@"
    fi
    job="$root/run/$$"; mkdir "$job"
    for word; do printf "'%s' " "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done > "$job/words"
    # The line into the guest has no end; what is not a stream goes by a file.
    [ -p /dev/stdin ] || cat > "$job/stdin"
    TARE_TEST_BOOTS="$root" TARE_TEST_JOB=$$ "$(cat "$bin/boots")" --exact wsl::boot --nocapture 3>&1 >/dev/null
    cat "$job/out" 2>/dev/null; cat "$job/errors" >&2; code=$(cat "$job/code")
    rm -r "$job"; exit "$code" ;;
*) echo 'Invalid command line argument' | say; exit 255 ;;
esac
"#;

/// The first process of a distribution of version 2. When it ends, the kernel does.
const INIT: &str = r#"#!/bin/sh
PATH=/usr/sbin:/usr/bin; root=$FAKE_ROOT; job=$root/run/$FAKE_JOB
mount -t hostfs none "$root" -o "$root"
mount -t hostfs none "$root/usr" -o /usr
mount -t proc proc "$root/proc"; mount -t sysfs sys "$root/sys"; mount -t devtmpfs dev "$root/dev"
ip link set lo up
stty -F "$root/dev/ttyS0" raw -echo
if [ -e "$job/stdin" ]; then
    chroot "$root" sh "/run/$FAKE_JOB/words" < "$job/stdin" > "$job/out" 2> "$job/errors"
else
    chroot "$root" sh "/run/$FAKE_JOB/words" <> "$root/dev/ttyS0" >&0 2> "$job/errors"
fi
echo $? > "$job/code"
"#;

/// Environment variables with which the fake starts this program again to boot a kernel, hiding registers
/// like the provider for user-mode Linux.
const BOOTS: &str = "TARE_TEST_BOOTS";
const JOB: &str = "TARE_TEST_JOB";

/// Becomes the kernel of a distribution; nothing when this program was not started by the fake.
#[test]
fn boot() {
    let (Some(root), Ok(job)) = (std::env::var_os(BOOTS), std::env::var(JOB)) else { return };
    let root = root.to_str().unwrap();
    let mut command = Command::new(&*find_programs().find("linux.uml").unwrap());
    let init = Path::new(root).ancestors().find_map(|folder| {
        let init = folder.join("bin/init");
        init.exists().then_some(init)
    });
    command.args(["mem=256M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "panic=-1"]);
    command.args(["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:3", "umid=uml"]);
    command.arg(format!("uml_dir={root}/run/{job}")).arg(format!("init={}", init.unwrap().display()));
    command.arg(format!("FAKE_ROOT={root}")).arg(format!("FAKE_JOB={job}"));
    if extended_state::is_too_large() {
        extended_state::hide_extended_state(&mut command);
        command.arg(format!("{}={}", extended_state::TUNABLES.0, extended_state::TUNABLES.1));
    }
    panic!("{}", command.exec());
}

/// A bench with the fake in front of all other programs, and the distributions One and Two.
struct Wsl {
    bench: Bench,
    setting: Setting,
}

impl Wsl {
    fn installed(test: &str) -> Option<Wsl> {
        let missing = ["unshare", "runsc", "linux.uml", "iconv"]
            .into_iter()
            .find(|name| find_programs().find(name).is_none());
        if !rustix::process::geteuid().is_root() || missing.is_some() {
            println!("SKIPPED {test}: the fake wsl.exe needs root and {}", missing.unwrap_or("nothing else"));
            return None;
        }
        let bench = Bench::new();
        let bin = bench.folder.path().join("bin");
        for (name, version) in [("One", "1"), ("Two", "2")] {
            let root = bin.join("state").join(name).join("root");
            for folder in ["usr", "run", "proc", "dev", "sys", "tmp", "var/tmp", "etc"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            for link in ["bin", "sbin", "lib", "lib64"] {
                std::os::unix::fs::symlink(format!("usr/{link}"), root.join(link)).unwrap();
            }
            fs::write(root.join("../version"), version).unwrap();
        }
        fs::create_dir(bench.folder.path().join("store")).unwrap();
        fs::write(bin.join("boots"), std::env::current_exe().unwrap().to_str().unwrap()).unwrap();
        for (name, text) in [("wsl.exe", FAKE), ("init", INIT)] {
            program(&bin, name, text);
        }
        let mut setting = bench.make_setting();
        setting.programs.folders.insert(0, bin);
        Some(Wsl { bench, setting })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bench.folder.path().join(name)
    }

    /// Parses a specification whose copies go into the bench.
    fn copied(&self, text: &str) -> Specification {
        format!("{text}&clone=yes&store={}", self.path("store").display()).parse().unwrap()
    }

    fn ready(&self, specification: &Specification) -> Result<tare_data::facts::Facts, NotReady> {
        let ready = environments::find_environment(specification.clone())
            .unwrap()
            .check_ready(&self.setting.programs)?;
        Ok(ready.facts)
    }

    /// Lists the leftovers of sessions on the host and in the distributions.
    fn remains(&self) -> Vec<String> {
        let mut remains = self.bench.list_remains();
        let entries = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        remains.extend(entries(self.path("store")).map(|path| path.display().to_string()));
        for name in ["One", "Two"] {
            remains.extend(
                entries(self.path("bin/state").join(name).join("root/var/tmp"))
                    .map(|p| p.display().to_string()),
            );
        }
        let others =
            entries(self.path("bin/state")).filter(|path| !path.ends_with("One") && !path.ends_with("Two"));
        remains.extend(others.map(|path| path.display().to_string()));
        let folder = self.bench.folder.path().to_owned();
        let signs = Signs {
            mark: "no session".into(),
            folder,
            name: String::new(),
            spared: Vec::new(),
            roots: Vec::new(),
        };
        remains.extend(signs.find_processes().keys().map(|pid| format!("process {pid}")));
        remains
    }
}

fn program(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Asks for the kernel's release inside.
fn kernel(inside: &mut Spoken) -> String {
    inside.send(&Request::Describe { places: Default::default() });
    match inside.receive_frame() {
        Frame::Description { facts, .. } => facts.get("kernel.release").unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn visit(session: &SessionWorkspace, specification: &Specification) -> String {
    let mut inside = Spoken::enter_environment(session, specification);
    inside.request_description();
    inside.run_null_trial(1, Some("own"));
    inside.run_trial(2, "proc.exec", None, None);
    let kernel = kernel(&mut inside);
    for outcome in inside.leave_environment() {
        assert_eq!(outcome.left_because, None, "{}", outcome.what);
    }
    kernel
}

#[test]
fn two_versions_are_entered_and_left() {
    let Some(wsl) = Wsl::installed("two_versions_are_entered_and_left") else { return };
    let session = SessionWorkspace::make_workspace(&wsl.setting).unwrap();
    // Twice: what the first start leaves behind would stand in the second's way.
    for _ in 0..2 {
        let [one, two] =
            ["wsl:One", "wsl:two"].map(|text| visit(&session, &text.parse::<Specification>().unwrap()));
        assert!(one.contains("gvisor") && !two.contains("gvisor"), "{one} {two}");
    }
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(wsl.remains(), [""; 0]);
}

#[test]
fn a_copy_of_the_other_version_is_measured_and_taken_away() {
    let Some(wsl) = Wsl::installed("a_copy_of_the_other_version_is_measured_and_taken_away") else { return };
    let session = SessionWorkspace::make_workspace(&wsl.setting).unwrap();
    let copied = wsl.copied("wsl:One?version=2");
    assert_eq!(wsl.ready(&copied).unwrap().get("wsl.version"), Some("2"));
    for _ in 0..2 {
        let kernel = visit(&session, &copied);
        assert!(!kernel.contains("gvisor"), "{kernel}");
    }
    assert_eq!(fs::read_to_string(wsl.path("bin/state/One/version")).unwrap(), "1");
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(wsl.remains(), [""; 0]);
}

#[test]
fn nothing_is_left_of_copies_when_a_session_is_killed() {
    let Some(wsl) = Wsl::installed("nothing_is_left_of_copies_when_a_session_is_killed") else { return };
    let copied = wsl.copied("wsl:Two?version=1").to_string();
    for wait_ms in [None, Some(40), Some(80), Some(120), Some(200)] {
        let mut actor = Actor::start_with(&wsl.bench, &["wsl:One", &copied], &wsl.path("bin"));
        match wait_ms {
            None => actor.wait_until_ready(),
            Some(wait_ms) => std::thread::sleep(Duration::from_millis(wait_ms)),
        }
        actor.kill();
        for outcome in remove_leftovers(&wsl.bench.state_folder(), &wsl.setting.programs).unwrap() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
        // Earlier questions to wsl.exe, such as for its list, end without a reader.
        let end = Instant::now() + Duration::from_secs(10);
        while !wsl.remains().is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(wsl.remains(), [""; 0], "killed after {wait_ms:?} ms");
    }
}

#[test]
fn the_windows_line_of_each_article_runs_with_the_distribution_that_is_here() {
    let Some(wsl) =
        Wsl::installed("the_windows_line_of_each_article_runs_with_the_distribution_that_is_here")
    else {
        return;
    };
    program(&wsl.path("bin"), "tare.exe", &format!("#!/bin/sh\nexec '{TARE}' \"$@\"\n"));
    let path = std::env::join_paths(&wsl.setting.programs.folders).unwrap();
    let say = |command: &mut Command| {
        let output =
            command.env("PATH", &path).env("XDG_STATE_HOME", wsl.bench.state_folder()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (article, _) in tare_lab::study::published::SHIPPED {
        let shown = say(Command::new(TARE).args(["show", article]));
        let line = shown.lines().find_map(|line| line.strip_prefix("on Windows")).unwrap().trim();
        assert!(line.starts_with(&format!("tare.exe run --like {article} --in \"native,wsl:One?")), "{line}");
        let dry = say(Command::new("sh").args(["-c", &format!("{line} --dry-run --json")]));
        let fake = wsl.path("bin/wsl.exe");
        assert!(dry.contains("'wsl:One?clone=yes") && dry.contains(fake.to_str().unwrap()), "{dry}");
    }
}

#[test]
fn what_wsl_says_becomes_facts_and_reasons() {
    let Some(wsl) = Wsl::installed("what_wsl_says_becomes_facts_and_reasons") else { return };
    let facts = wsl.ready(&"wsl:One".parse::<Specification>().unwrap()).unwrap();
    let fact = |key| facts.get(key).unwrap_or("absent").to_owned();
    assert_eq!(
        ["wsl.version", "runtime.version", "wsl.kernel", "wsl.windows", "wsl.state"].map(fact),
        ["1", "2.3.26.0", "5.15.167.4-1", "10.0.26100.2454", "Stopped"]
    );
    let reason = |text: &str| wsl.ready(&text.parse::<Specification>().unwrap()).unwrap_err();
    assert_eq!(reason("wsl:Onne").reason, "there is no distribution 'Onne'; did you mean 'One'?");
    assert!(reason("wsl").reason.contains("no distribution is named"));
    let other = reason("wsl:One?version=2");
    assert_eq!(other.reason, "One is of version 1, and tare converts no distribution");
    assert_eq!(other.command.as_deref(), Some("tare run --in 'wsl:One?version=2&clone=yes'"));
    let missing =
        environments::parse_environment("wsl:One").unwrap().check_ready(&Programs::default()).unwrap_err();
    assert!(missing.reason.starts_with("wsl.exe was not found"), "{missing:?}");
}

#[test]
fn a_hostile_wsl_is_refused_and_ends_nothing() {
    let named = environments::parse_environment("wsl:One").unwrap();
    for text in [
        // Cut within a character, endless names, lines without end, nothing, noise, failure without a word.
        "printf '\\377\\376*\\000 \\000O\\000n\\000e'",
        "head -c 3000000 /dev/zero | tr '\\000' 'a'",
        "yes '* One  x  7' | head -c 3000000",
        "true",
        "head -c 100000 /dev/urandom",
        "exit 3",
        "kill -9 $$",
    ] {
        let folder = tempfile::tempdir().unwrap();
        program(folder.path(), "wsl.exe", &format!("#!/bin/sh\n{text}\n"));
        let programs = Programs { folders: vec![folder.path().to_owned()], ..Programs::default() };
        let not_ready = named.check_ready(&programs).unwrap_err();
        assert!(not_ready.reason.len() < 70_000, "{text}");
    }
}

#[test]
fn a_session_weighs_both_versions() {
    let Some(wsl) = Wsl::installed("a_session_weighs_both_versions") else { return };
    let path = std::env::join_paths(&wsl.setting.programs.folders).unwrap();
    let record = wsl.path("session.tare");
    let ended = Command::new(TARE)
        .args([
            "run",
            "--in",
            "native,wsl:One,wsl:Two",
            "--only",
            "sys.getppid",
            "--rounds",
            "12",
            "--csv",
            "--scratch",
        ])
        .arg(wsl.bench.scratch_folder())
        .arg("--record")
        .arg(&record)
        .env("PATH", path)
        .env("XDG_STATE_HOME", wsl.bench.state_folder())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{text} {}", String::from_utf8_lossy(&ended.stderr));
    for target in ["wsl-One", "wsl-Two"] {
        let cell =
            text.lines().find(|line| line.contains(&format!(",time,nanoseconds,true,{target},"))).unwrap();
        // Both translate, by signals and by ptrace: each call costs many times the host's.
        assert!(cell.contains(",slower,"), "{cell}");
    }
    // The list of sessions that began here is kept; nothing else is.
    fs::remove_file(wsl.bench.state_folder().join("tare/begun")).unwrap();
    fs::remove_dir(wsl.bench.state_folder().join("tare")).unwrap();
    assert_eq!(wsl.remains(), [""; 0]);
}

//! Docker: a fake that behaves as documented, including the daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::remove_leftovers;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};

use crate::bench::{Bench, Spoken, find_programs};

/// A fake docker. Like the real one, it runs containers that are not its descendants and do not get its
/// environment, `rm` and `rmi` fail if there is nothing to remove, and `run` exits with 125 if the image is
/// missing.
const FAKE: &str = r#"#!/bin/sh
state="$(dirname "$0")/state"; mkdir -p "$state/images" "$state/containers"
verb=$1; shift
case $verb in
version) echo 24.0.7 ;;
import) : > "$state/images/$2"; echo sha256:0 ;;
ps) ls "$state/containers" ;;
images) ls "$state/images" ;;
rmi)
    [ -e "$state/images/$2" ] || { echo "Error response from daemon: No such image: $2" >&2; exit 1; }
    rm "$state/images/$2" ;;
rm)
    [ "$1 $2" = "--force --volumes" ] || exit 125
    [ -d "$state/containers/$3" ] || { echo "Error response from daemon: No such container: $3" >&2; exit 1; }
    kill -9 "$(cat "$state/containers/$3/pid")" 2>/dev/null
    rm -rf "$state/containers/$3" ;;
context) echo tcp://192.0.2.1:2376 ;;
run)
    mounts=; mark=; network=bridge
    while :; do
        case $1 in
        --name) name=$2; shift ;;
        --hostname) shift ;;
        --interactive|--rm|--security-opt=*|--runtime=*) ;;
        --network=*) network=${1#*=} ;;
        --env=*) mark=${1#--env=} ;;
        --mount=type=bind,*) mounts="$mounts ${1#--mount=type=bind,}" ;;
        -*) echo "unknown flag: $1" >&2; exit 125 ;;
        *) break ;;
        esac
        shift
    done
    [ "$network" = none ] || exit 125
    [ -e "$state/images/$1" ] || { echo "Unable to find image '$1' locally" >&2; exit 125; }
    shift
    root="$state/containers/$name/root"; mkdir -p "$root"
    exec 3<&0
    setsid unshare --mount --pid --fork --kill-child --net sh -c '
        root=$1; mounts=$2; mark=$3; shift 3
        ip link set lo up
        for each in $mounts; do
            from=$(echo "$each" | sed "s/^\"source=//; s/\",destination=.*//"); to=$root${each##*destination=}
            if [ -d "$from" ]; then mkdir -p "$to"; else : > "$to"; fi
            mount --bind "$from" "$to"
        done
        exec env -i "$mark" "$(command -v chroot)" "$root" "$@"' - "$root" "$mounts" "$mark" "$@" <&3 &
    echo $! > "$state/containers/$name/pid"
    wait $!; code=$?
    rm -rf "$state/containers/$name"
    exit $code ;;
*) exit 1 ;;
esac
"#;

/// Sets up a bench where the fake comes first in the search path.
fn with_fake(test: &str) -> Option<(Bench, Setting)> {
    let permitted = rustix::process::geteuid().is_root() && find_programs().find("unshare").is_some();
    if !permitted {
        println!("SKIPPED {test}: the fake daemon needs root and unshare");
        return None;
    }
    let bench = Bench::new();
    let folder = bench.folder.path().join("bin");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("docker"), FAKE).unwrap();
    fs::set_permissions(folder.join("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut setting = bench.make_setting();
    setting.programs.folders.insert(0, folder);
    Some((bench, setting))
}

fn what_it_holds(bench: &Bench) -> Vec<String> {
    let state = bench.folder.path().join("bin/state");
    let entries = ["images", "containers"].map(|name| fs::read_dir(state.join(name)).unwrap());
    entries.into_iter().flatten().map(|entry| entry.unwrap().path().display().to_string()).collect()
}

#[test]
fn docker_is_entered_and_left() {
    let Some((bench, setting)) = with_fake("docker_is_entered_and_left") else { return };
    let specification = "docker?seccomp=unconfined".parse::<Specification>().unwrap();
    let ready = environments::find_environment(specification.clone())
        .unwrap()
        .check_ready(&setting.programs)
        .unwrap();
    assert_eq!(ready.facts.get("runtime.version"), Some("24.0.7"));
    let session = SessionWorkspace::make_workspace(&setting).unwrap();
    for _ in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        inside.run_null_trial(2, Some("share"));
        assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    }
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(what_it_holds(&bench), [""; 0]);
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn what_the_daemon_still_runs_is_taken_away() {
    let Some((bench, setting)) = with_fake("what_the_daemon_still_runs_is_taken_away") else { return };
    let session = SessionWorkspace::make_workspace(&setting).unwrap();
    let inside = Spoken::enter_environment(&session, &"docker".parse::<Specification>().unwrap());
    assert_eq!(what_it_holds(&bench).len(), 2);
    drop(inside);
    drop(session);
    assert_eq!(what_it_holds(&bench), [""; 0]);
    assert_eq!(remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap(), []);
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn a_daemon_elsewhere_does_not_show_this_machines_files() {
    let Some((_bench, setting)) = with_fake("a_daemon_elsewhere_does_not_show_this_machines_files") else {
        return;
    };
    let named = environments::parse_environment("docker?root=host").unwrap();
    let not_ready = named.check_ready(&setting.programs).unwrap_err();
    assert_eq!(
        not_ready.reason,
        "Docker's daemon cannot show this machine's programs: it is not reached by a socket of this machine; with the program inside an \
         image: docker:IMAGE; as Docker configures a container: docker-like; in a container that runs: docker-exec:NAME"
    );
}

#[test]
fn an_engine_that_is_missing_or_does_not_answer_is_told() {
    for name in ["docker", "podman", "nerdctl"] {
        let named = environments::parse_environment(name).unwrap();
        let not_ready = named.check_ready(&Programs::default()).unwrap_err();
        assert_eq!(not_ready.reason, format!("{name} is not installed"));
        // A client whose daemon is away.
        let folder = tempfile::tempdir().unwrap();
        let client = folder.path().join(name);
        fs::write(&client, "#!/bin/sh\necho 'Cannot connect to the daemon' >&2; exit 1\n").unwrap();
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        let programs = Programs { folders: vec![folder.path().to_owned()], ..Programs::default() };
        let not_ready = named.check_ready(&programs).unwrap_err();
        assert_eq!(not_ready.reason, format!("{name}: Cannot connect to the daemon"));
    }
}

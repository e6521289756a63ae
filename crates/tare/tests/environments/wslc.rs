//! Containers of WSL: a fake wslc.exe that knows the words of the real one and sees folders by Windows' paths alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::remove_leftovers;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};

use crate::bench::{Bench, Spoken, find_programs};

/// A fake wslc.exe. Like the real one, it refuses flags that it does not have (there is no `--runtime` and no
/// `--security-opt`) and formats other than table and json, mounts folders of Windows by absolute paths, and runs
/// containers that are not its descendants and do not get its environment.
const FAKE: &str = r#"#!/bin/sh
state="$(dirname "$0")/state"; mkdir -p "$state/images" "$state/containers"
refuse() { echo "$1" >&2; echo "Error code: E_INVALIDARG" >&2; exit 1; }
here() { case $1 in 'C:\'*) printf %s "${1#C:}" | tr '\\' / ;; *) refuse "bind source path must be absolute: $1" ;; esac; }
as_json() { [ "$*" = '--all --format json' ] || [ "$*" = '--format json' ] || refuse "invalid format: $*"; }
verb=$1; shift
case $verb in
version) echo 'wslc 2.9.3' ;;
import)
    archive=$(here "$1") || exit 1
    tar -tf "$archive" > /dev/null || exit 1
    mkdir "$state/images/$2"; echo sha256:0 ;;
image)
    [ "$1" = inspect ] && [ -e "$state/images/$2" ] || refuse "Image '$2' was not found."
    printf '[\n  {\n    "Id": "sha256:%s"\n  }\n]\n' "$2" ;;
ps) as_json "$@"; for each in "$state/containers/"*; do echo "[{\"Name\":\"${each##*/}\"}]"; done ;;
images) as_json "$@"; for each in "$state/images/"*; do echo "[{\"Repository\":\"${each##*/}\",\"Tag\":\"latest\"}]"; done ;;
rmi) [ -e "$state/images/$2" ] || refuse "Image '$2' was not found."; rm -r "$state/images/$2" ;;
rm)
    [ -d "$state/containers/$2" ] || refuse "Container '$2' was not found."
    kill -9 "$(cat "$state/containers/$2/pid")" 2>/dev/null
    rm -rf "$state/containers/$2" ;;
run)
    pwd >> "$state/folders"
    mounts=; mark=; network=bridge
    while :; do
        case $1 in
        --name) name=$2; shift ;;
        --hostname) shift ;;
        --interactive|--rm|--pull=never|--user=*|--entrypoint=*) ;;
        --network=*) network=${1#*=} ;;
        --env=*) mark=${1#--env=} ;;
        --mount=type=bind,source=*)
            from=${1#--mount=type=bind,source=}; to=${from##*,destination=}
            from=$(here "${from%,destination=*}") || exit 1
            [ -d "$from" ] || refuse "not a folder: $from"
            mounts="$mounts$from,$to
" ;;
        --mount=type=tmpfs,destination=*) made=${1#--mount=type=tmpfs,destination=}; made=${made%%,*} ;;
        -*) refuse "Argument name was not recognized for the current command: '$1'" ;;
        *) break ;;
        esac
        shift
    done
    [ "$network" = none ] || refuse "network $network"
    [ -e "$state/images/$1" ] || refuse "Image '$1' was not found."
    root="$state/containers/$name/root"; mkdir -p "$root$made"; cp -a "$state/images/$1/." "$root/"
    shift
    exec 3<&0
    setsid unshare --mount --pid --fork --kill-child --net sh -c '
        root=$1; mounts=$2; mark=$3; shift 3
        ip link set lo up
        printf %s "$mounts" | while IFS= read -r each; do
            mkdir -p "$root${each##*,}"; mount --bind "${each%,*}" "$root${each##*,}"
        done
        mkdir -p "$root/proc"; mount -t proc proc "$root/proc"
        exec env -i "$mark" "$(command -v chroot)" "$root" "$@"' - "$root" "$mounts" "$mark" "$@" <&3 &
    echo $! > "$state/containers/$name/pid"
    wait $!; code=$?
    rm -rf "$state/containers/$name"
    exit $code ;;
*) refuse "Unrecognized command: '$verb'" ;;
esac
"#;

/// A fake wslpath, for which everything is on drive C.
const PATHS: &str = r#"#!/bin/sh
[ "$1" = -w ] || exit 1
printf 'C:%s\n' "$2" | tr / '\\'
"#;

/// A bench where the fakes come first in the search path.
struct Windows {
    bench: Bench,
    setting: Setting,
}

impl Windows {
    fn installed(test: &str) -> Option<Windows> {
        if !rustix::process::geteuid().is_root() || find_programs().find("unshare").is_none() {
            println!("SKIPPED {test}: the fake wslc.exe needs root and unshare");
            return None;
        }
        let bench = Bench::new();
        let bin = bench.folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(bench.folder.path().join("drive c")).unwrap();
        for (name, text) in [("wslc.exe", FAKE), ("wslpath", PATHS)] {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut setting = bench.make_setting();
        setting.programs.folders.insert(0, bin);
        Some(Windows { bench, setting })
    }

    fn drive(&self) -> PathBuf {
        self.bench.folder.path().join("drive c")
    }

    fn specify(&self, image: &str) -> Specification {
        let mut specification = format!("wslc{image}").parse::<Specification>().unwrap();
        specification.options.insert("folder".to_owned(), self.drive().to_str().unwrap().to_owned());
        specification
    }

    /// Lists containers, images of sessions and files on the drive.
    fn remains(&self) -> Vec<String> {
        let state = self.bench.folder.path().join("bin/state");
        let folders = [state.join("images"), state.join("containers"), self.drive()];
        let entries = folders.map(|folder| fs::read_dir(folder).unwrap());
        let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut remains: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        remains.retain(|path| !path.ends_with("/mine"));
        remains.extend(self.bench.list_remains().into_iter().filter(|path| !path.ends_with("drive c")));
        remains
    }
}

#[test]
fn containers_of_wsl_are_entered_and_left() {
    let Some(windows) = Windows::installed("containers_of_wsl_are_entered_and_left") else { return };
    let ready = |specification: &Specification| {
        let named = environments::find_environment(specification.clone()).unwrap();
        named.check_ready(&windows.setting.programs)
    };
    let missing = ready(&windows.specify(":mine")).unwrap_err();
    assert!(missing.reason.starts_with("image mine is not here: "), "{missing:?}");
    assert_eq!(missing.command.as_deref(), Some("wslc pull mine"));
    // An image of somebody, with a program.
    let image = windows.bench.folder.path().join("bin/state/images/mine");
    fs::create_dir_all(image.join("bin")).unwrap();
    fs::copy(windows.bench.binary.as_path(), image.join("bin/program")).unwrap();
    let facts = ready(&windows.specify(":mine")).unwrap().facts;
    assert_eq!(facts.get("runtime.version"), Some("2.9.3"));
    assert_eq!(facts.get("image.id"), Some("sha256:mine"));
    let session = SessionWorkspace::make_workspace(&windows.setting).unwrap();
    for image in ["", "", ":mine"] {
        let mut inside = Spoken::enter_environment(&session, &windows.specify(image));
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        inside.run_null_trial(2, Some("share"));
        assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    }
    // The client stands in a folder that Windows has.
    let stood = fs::read_to_string(windows.bench.folder.path().join("bin/state/folders")).unwrap();
    assert!(stood.lines().all(|folder| PathBuf::from(folder).starts_with(windows.drive())), "{stood}");
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(windows.remains(), [""; 0]);
}

#[test]
fn a_container_of_wsl_that_still_runs_is_taken_away() {
    let Some(windows) = Windows::installed("a_container_of_wsl_that_still_runs_is_taken_away") else {
        return;
    };
    let session = SessionWorkspace::make_workspace(&windows.setting).unwrap();
    let inside = Spoken::enter_environment(&session, &windows.specify(""));
    assert!(windows.remains().len() >= 3);
    drop(inside);
    drop(session);
    assert_eq!(remove_leftovers(&windows.bench.state_folder(), &windows.setting.programs).unwrap(), []);
    assert_eq!(windows.remains(), [""; 0]);
}

#[test]
fn what_wslc_lacks_is_told() {
    let not_ready =
        environments::parse_environment("wslc").unwrap().check_ready(&Programs::default()).unwrap_err();
    assert!(not_ready.reason.starts_with("wslc.exe was not found"), "{not_ready:?}");
    assert_eq!(not_ready.command.as_deref(), Some("wsl.exe --update"));
    for text in ["wslc?runtime=crun", "wslc?seccomp=unconfined", "wslc:-x"] {
        assert!(environments::parse_environment(text).is_err(), "{text}");
    }
}

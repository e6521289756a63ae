//! Batch systems that are not to be had here, PBS, LSF and Flux: their commands as they document them, with jobs that are processes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::Said;
use crate::engines::{Place, names};

/// What they share: a folder for each job, in which `pid` stands while it runs.
const JOBS: &str = r#"
refuse() { echo "$1" >&2; exit 255; }
start() {
    id=1
    while ! mkdir "$jobs/$id" 2>/dev/null; do id=$((id + 1)); done
    cat >"$jobs/$id/script"
    chmod +x "$jobs/$id/script"
    [ "$(head -c 2 "$jobs/$id/script")" = '#!' ] || refuse "the script has no interpreter"
    echo "$1" >"$jobs/$id/name"
    (
        "$jobs/$id/script" &
        echo $! >"$jobs/$id/pid"
        wait $!
        rm -f "$jobs/$id/pid"
    ) >"$2" 2>&1 </dev/null &
    while [ ! -e "$jobs/$id/name" ]; do sleep 0.01; done
}
alive() {
    for job in "$jobs"/*/pid; do
        [ -e "$job" ] && [ "$(cat "${job%/*}/name")" = "$1" ] && basename "${job%/*}"
    done
}
cancel() { echo "$1" >>"$jobs/../cancelled"; kill "$(cat "$jobs/$1/pid")"; }
"#;

/// Name and text of each.
const COMMANDS: [(&str, &str); 7] = [
    (
        "qsub",
        r#"while [ $# -gt 0 ]; do
    case $1 in
    -N) name=$2 ;;
    -o) log=$2 ;;
    -j) [ "$2" = oe ] || refuse "qsub: illegal -j value" ;;
    -r) [ "$2" = n ] || refuse "qsub: illegal -r value" ;;
    -l) case $2 in
        select=1:host=[a-z]* | place=excl) ;;
        walltime=*) [ "${2#*=}" -gt 0 ] || refuse "qsub: illegal -l value" ;;
        *) refuse "qsub: illegal -l value" ;;
        esac ;;
    *) refuse "usage: qsub" ;;
    esac
    shift 2
done
[ ${#name} -le 15 ] || refuse "qsub: illegal -N value"
start "$name" "$log"
echo "$id.server"
"#,
    ),
    ("qselect", "[ \"$1\" = -N ] || refuse usage\nalive \"$2\" | sed 's/$/.server/'\n"),
    ("qdel", "cancel \"${1%.server}\"\n"),
    (
        "bsub",
        r#"while [ $# -gt 0 ]; do
    case $1 in
    -x) shift; continue ;;
    -J) name=$2 ;;
    -m) ;;
    -W) [ "$2" -gt 0 ] || refuse "$2: Bad RUNLIMIT specification. Job not submitted." ;;
    -o) log=$2 ;;
    *) refuse "$1: Illegal option. Job not submitted." ;;
    esac
    shift 2
done
start "$name" "$log"
echo "Job <$id> is submitted to default queue <normal>."
"#,
    ),
    (
        "bjobs",
        r#"[ "$1 $2 $3 $4" = "-noheader -o jobid -J" ] || refuse usage
found=$(alive "$5")
[ -n "$found" ] || refuse "Job <$5> is not found"
echo "$found"
"#,
    ),
    ("bkill", "cancel \"$1\"\necho \"Job <$1> is being terminated\"\n"),
    (
        "flux",
        r#"verb=$1 log= name= mark=$(printf '\306\222')
[ "${FLUX_F58_FORCE_ASCII-}" != 1 ] || mark=f
shift
case $verb in
batch)
    for word; do
        case $word in
        --job-name=*) name=${word#*=} ;;
        --output=*) log=${word#*=} ;;
        --nodes=1 | --exclusive | --requires=host:[a-z]* | --time-limit=*[0-9]m) ;;
        *) refuse "flux-batch: error: unrecognized arguments: $word" ;;
        esac
    done
    start "$name" "$log"
    echo "$mark$id"
    ;;
jobs)
    [ "$1 $2" = "--no-header --format={id.f58}" ] || refuse usage
    alive "${3#--name=}" | sed "s/^/$mark/"
    ;;
cancel) cancel "${1#f}" ;;
esac
"#,
    ),
];
/// Engines with what cancels a job of theirs.
const ENGINES: [&str; 3] = ["pbs", "lsf", "flux"];
const WAIT: Duration = Duration::from_secs(60);

fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("jobs")).unwrap();
    for (name, text) in COMMANDS {
        let file = place.path("bin").join(name);
        let jobs = format!("#!/bin/sh\njobs={}\n{JOBS}", place.path("jobs").display());
        fs::write(&file, jobs + text).unwrap();
        fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
    }
    place
}

fn words<'a>(engine: &'a str, into: &'a str, rounds: &'a str) -> Vec<&'a str> {
    let first =
        ["fleet", "run", "quick", "--on", engine, "--nodes", "a,b", "--sessions", "1", "--into", into];
    [&first[..], &["--in", "native", "--only", "sys.getppid", "--at-once", "1", "--rounds", rounds]].concat()
}

/// Jobs that run.
fn running(place: &Place) -> usize {
    names(&place.path("jobs")).iter().filter(|job| place.path("jobs").join(job).join("pid").exists()).count()
}

#[test]
fn batch_systems_run_a_fleet_by_their_commands() {
    let place = place();
    for engine in ENGINES {
        let said = place.run(&words(engine, engine, "4"));
        assert_eq!(
            (said.code, said.out.as_str()),
            (Some(0), "2 of 2 sessions on 2 nodes\n"),
            "{engine}: {said:?}"
        );
        assert_eq!(names(&place.path(engine).join("cells/a")), ["1.log", "1.parquet", "1.tare"]);
    }
    assert_eq!(names(&place.path("jobs")).len(), 2 * ENGINES.len());
}

#[test]
fn batch_systems_are_told_to_cancel() {
    let place = place();
    for (engine, cancelled) in ENGINES.into_iter().zip(["1\n", "1\n2\n", "1\n2\n3\n"]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
        command.args(words(engine, engine, "100000")).current_dir(place.path("")).env("PATH", path);
        command.env("XDG_STATE_HOME", place.path("state")).env("NO_COLOR", "1").env("LC_ALL", "C");
        let driver =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let end = Instant::now() + WAIT;
        while !place.path(engine).join("cells").exists() || running(&place) == 0 {
            assert!(Instant::now() < end, "{engine}: nothing runs");
            sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&driver), Signal::INT).unwrap();
        let said = Said::of(driver.wait_with_output().unwrap());
        assert_eq!(said.code, Some(130), "{engine}: {said:?}");
        assert_eq!(fs::read_to_string(place.path("cancelled")).unwrap(), cancelled, "{engine}: {said:?}");
        while running(&place) > 0 {
            assert!(Instant::now() < end, "{engine}: it still runs");
            sleep(Duration::from_millis(20));
        }
    }
}

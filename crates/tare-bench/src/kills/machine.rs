//! Faults of the machine: the power is cut, a disk is full, the clock is another, a second session writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::kills::count::Count;
use crate::kills::faults::find_descendants;
use crate::kills::site::{Site, read_trials};

/// A session is over by then.
const ENDS: Duration = Duration::from_secs(90);
/// Size of the disk that loses its power.
const DISK: u64 = 24 << 20;
/// Tries at two equal looks at a disk, between which nothing was written, and at taking one away.
const LOOKS: u32 = 20;
/// Pauses between two tries, and between two looks.
const AGAIN: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(20);

/// Builds a session of two short cases that goes on for some seconds.
fn session(site: &Site<'_>, record: &Path) -> Command {
    session_in(&site.folder.join("scratch"), site, record, 20)
}

fn session_in(scratch: &Path, site: &Site<'_>, record: &Path, rounds: u32) -> Command {
    let mut command =
        site.tare_command(&["run", "--in", "native,container", "--only", "sys.getppid,file.sync"]);
    command.args(["--place", "own", "--json", "--rounds"]).arg(rounds.to_string());
    command.arg("--scratch").arg(scratch).arg("--record").arg(record);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn succeeds(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// A mount that is taken away at the end.
struct Mounted(PathBuf);

impl Mounted {
    fn new(words: &[&str], from: &str, at: &Path) -> io::Result<Mounted> {
        fs::create_dir_all(at)?;
        succeeds(Command::new("mount").args(words).arg(from).arg(at))?;
        Ok(Mounted(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Processes killed on it may take a moment to be gone.
        let unmounted = (0..LOOKS).any(|_| {
            let done = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
            done.is_ok_and(|status| status.success()) || {
                thread::sleep(AGAIN);
                false
            }
        });
        if !unmounted {
            let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        }
    }
}

/// Age from which on a trial must have been synced.
const SYNCED_NS: u64 = 1_500_000_000;

/// Cuts the power: the content of the disk at a moment is all that there is afterwards. Everything synced by
/// then must be there.
pub fn cut_power(site: &Site<'_>, after: Duration, count: &mut Count) -> io::Result<()> {
    let image = site.folder.join("disk.img");
    // A new file: the last one may still be some loop device's.
    let _ = fs::remove_file(&image);
    fs::File::create(&image)?.set_len(DISK)?;
    succeeds(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
    let at = site.folder.join("disk");
    let mounted = Mounted::new(&["-o", "loop"], &image.to_string_lossy(), &at)?;
    let record = at.join("s.tare");
    let mut running = session(site, &record).spawn()?;
    thread::sleep(after);
    kill_process(Pid::from_child(&running), Signal::STOP)?;
    // A crash of the machine loses what was written since the last sync, which is a second ago and a trial.
    let mut held = read_trials(&record);
    let synced_ns = held.last().map_or(0, |last| last.started_ns).saturating_sub(SYNCED_NS);
    held.retain(|trial| trial.started_ns + trial.host_elapsed_ns < synced_ns);
    let cut = site.folder.join("cut.img");
    let _ = fs::remove_file(&cut);
    let is_still = (0..LOOKS).any(|_| {
        let disk = fs::read(&image).unwrap_or_default();
        fs::write(&cut, &disk).is_ok() && fs::read(&image).is_ok_and(|again| again == disk)
    });
    kill_process(Pid::from_child(&running), Signal::KILL)?;
    site.finish_session(&mut running, Some(Signal::KILL.as_raw()), ENDS, count)?;
    drop(mounted);
    if !is_still {
        return Ok(());
    }
    count.tried += 1;
    let after = Mounted::new(&["-o", "loop"], &cut.to_string_lossy(), &site.folder.join("after"))?;
    let record = after.0.join("s.tare");
    site.count_lost_trials(&record, &held, count);
    // Its record continues where it stopped.
    if held.is_empty() {
        return Ok(());
    }
    let before = read_trials(&record).len();
    let mut resumed = site.tare_command(&["run", "--json", "--scratch"]);
    resumed.arg(site.folder.join("scratch")).arg("--resume").arg(&record);
    let mut resumed = resumed.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // A budget would be over on a slow machine, and all of its rounds would take minutes.
    let latest = Instant::now() + ENDS;
    let has_more = || read_trials(&record).len() > before;
    while !has_more() && resumed.try_wait()?.is_none() && Instant::now() < latest {
        thread::sleep(LOOK);
    }
    let goes_on = has_more();
    if resumed.try_wait()?.is_none() {
        kill_process(Pid::from_child(&resumed), Signal::INT)?;
    }
    let status = site.finish_session(&mut resumed, None, ENDS, count)?;
    let goes_on = goes_on || status.is_some_and(|status| status.success());
    count.wrong.extend((!goes_on).then(|| format!("it does not go on after the power was cut: {status:?}")));
    site.count_lost_trials(&record, &held, count);
    Ok(())
}

/// Whose disk is full.
pub const DISKS: [&str; 4] = ["record", "state", "scratch", "page"];

/// Runs a session with one of the folders on a disk of that size.
pub fn full_disk(site: &Site<'_>, disk: &str, bytes: u64, count: &mut Count) -> io::Result<()> {
    let small = site.folder.join(if disk == "state" { disk } else { "small" });
    let options = format!("size={}k,mode=700", bytes >> 10);
    let mounted = Mounted::new(&["-t", "tmpfs", "-o", &options], "tare-small", &small)?;
    let folder_of = |what: &str| if what == disk { &small } else { site.folder };
    let record = folder_of("record").join("full.tare");
    let page = folder_of("page").join("page.html");
    let scratch = if disk == "scratch" { small.clone() } else { site.folder.join("scratch") };
    let mut running = session_in(&scratch, site, &record, 20).arg("--html").arg(&page).spawn()?;
    count.tried += 1;
    site.finish_session(&mut running, None, ENDS, count)?;
    site.check_record(&record, count);
    for file in [record, page] {
        let _ = fs::remove_file(file);
    }
    if disk == "scratch" {
        let left = fs::read_dir(&small)?.count() as u64;
        count.left += left;
        count.wrong.extend((left > 0).then(|| format!("{left} things on the full disk")));
    }
    drop(mounted);
    Ok(())
}

/// Kills a session in a time namespace whose clocks differ by these seconds, and cleans up after it from
/// outside; one that lives outside is not touched from inside.
pub fn run_with_shifted_clock(
    site: &Site<'_>,
    seconds: i64,
    after: Duration,
    count: &mut Count,
) -> io::Result<()> {
    let record = site.folder.join("clock.tare");
    let _ = fs::remove_file(&record);
    let mut inside = elsewhen(seconds, &session(site, &record), site);
    let mut running = inside.spawn()?;
    thread::sleep(after);
    let held = read_trials(&record);
    count.tried += 1;
    let session_inside = find_descendants(running.id());
    running.kill()?;
    // The session dies with the program that made its namespace.
    wait_until_ended(&session_inside);
    site.finish_session(&mut running, Some(Signal::KILL.as_raw()), ENDS, count)?;
    site.count_lost_trials(&record, &held, count);
    let mut lives = session(site, &site.folder.join("lives.tare")).spawn()?;
    thread::sleep(after);
    let status = elsewhen(seconds, &site.tare_command(&["clean"]), site).status()?;
    count.wrong.extend((!status.success()).then(|| format!("tare clean at another time: {status}")));
    let ended = crate::kills::site::wait_for_end(&mut lives, ENDS)?;
    let is_whole = ended.is_some_and(|status| status.success());
    count.wrong.extend((!is_whole).then(|| format!("a session that lived was disturbed: {ended:?}")));
    let lost = tare_record::read_session(&site.folder.join("lives.tare")).map_or(0, |recording| {
        recording.session.trials.iter().filter(|trial| trial.failure.is_some()).count()
    });
    count.wrong.extend((lost > 0).then(|| format!("{lost} trials of a session that lived failed")));
    let _ = fs::remove_file(site.folder.join("lives.tare"));
    Ok(())
}

/// Waits until these processes have ended: one that is killed in the midst of a write ends after that, however long the disk takes.
fn wait_until_ended(pids: &[u32]) {
    let latest = Instant::now() + ENDS;
    // A process that has ended and was not waited for runs no program any more.
    let runs = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok();
    while pids.iter().any(runs) && Instant::now() < latest {
        thread::sleep(LOOK);
    }
}

/// Wraps a command so that the clocks since boot show another time.
fn elsewhen(seconds: i64, command: &Command, site: &Site<'_>) -> Command {
    let mut inside = Command::new("unshare");
    inside.args(["--time", "--fork", "--kill-child", "--monotonic", &seconds.to_string()]);
    inside.args(["--boottime", &seconds.to_string()]).arg(command.get_program()).args(command.get_args());
    site.prepare_command(&mut inside);
    inside.stdout(Stdio::null()).stderr(Stdio::null());
    inside
}

/// Has a second session try to resume the record of a living one.
pub fn two_writers(site: &Site<'_>, after: Duration, count: &mut Count) -> io::Result<()> {
    let record = site.folder.join("two.tare");
    let _ = fs::remove_file(&record);
    // Long enough to live when the others come.
    let mut first = session_in(&site.folder.join("scratch"), site, &record, 2_000).spawn()?;
    thread::sleep(after);
    // A busy machine takes longer to the first trial, and before it there is nothing to write after.
    let latest = Instant::now() + ENDS;
    while read_trials(&record).is_empty() && Instant::now() < latest {
        thread::sleep(LOOK);
    }
    let mut second = resume(site, &record)?;
    let mut third = resume(site, &record)?;
    count.tried += 1;
    let ended = [second.wait()?, third.wait()?];
    let held = read_trials(&record);
    // A reader that comes before there is a plan, or while it is written, is refused.
    let refused = ended.iter().filter(|status| !status.success()).count();
    count.wrong.extend((refused < 2).then(|| format!("a second writer was let in: {ended:?}")));
    // On a slow machine, all of its rounds would take minutes.
    kill_process(Pid::from_child(&first), Signal::INT)?;
    site.finish_session(&mut first, None, ENDS, count)?;
    site.count_lost_trials(&record, &held, count);
    site.check_record(&record, count);
    let warnings = tare_record::read_session(&record).map(|recording| recording.session.warnings);
    let strange = warnings.ok().filter(|warnings| !warnings.is_empty());
    count.wrong.extend(strange.map(|warnings| format!("the record has strange lines: {warnings:?}")));
    Ok(())
}

fn resume(site: &Site<'_>, record: &Path) -> io::Result<Child> {
    let mut command = site.tare_command(&["run", "--budget", "3s", "--json", "--scratch"]);
    command.arg(site.folder.join("scratch")).arg("--resume").arg(record);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

//! Liars: sessions with a runtime in between that forges messages, a lie each.

mod act;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tare_analysis::findings::{Cell, Verdict};
use tare_record::read_session;

use self::act::AGENT;
pub use self::act::{ESCAPES, run_liar};
use crate::kills::count::Count;
use crate::kills::site::Site;

/// Variable that chooses the lie of a program that acts.
pub const LIE: &str = "TARE_BENCH_LIE";
/// A session with a liar is over by then: each start that hangs costs its minute.
const ENDS: Duration = Duration::from_secs(300);
/// A record of a dozen small trials, whatever came.
const LONGEST_RECORD: u64 = 64 << 20;
/// Memory of a session, addresses that it only reserves included.
const MOST_MEMORY: u64 = 512 << 20;

/// Lies of the runtime. The first is the truth.
pub const LIES: [&str; 84] = [
    "nothing",
    "dies at once",
    "ends at once",
    "dies by a signal",
    "floods lines",
    "floods one line",
    "floods errors",
    "floods NUL",
    "escapes on errors, and dies",
    "escapes as a note",
    "binary notes",
    "a description before its first frame",
    "a batch before its first frame",
    "bye first",
    "half a frame first",
    "ten thousand notes",
    "an older protocol",
    "a newer protocol",
    "another version",
    "a version with escapes",
    "a version of 900 kB",
    "two first frames",
    "dies when it is to describe",
    "facts with escapes",
    "a fact of 900 kB",
    "a fact of control characters",
    "ten thousand facts",
    "places that nobody named",
    "no places",
    "carried unasked",
    "two descriptions",
    "a clock that stands",
    "a clock at its end",
    "a clock that runs back",
    "a clock ten times as fast",
    "another trial's number",
    "a trial's number at its end",
    "another nonce",
    "dies before a trial",
    "no beginning of a trial",
    "notes with escapes in a trial",
    "ten thousand notes in a trial",
    "bye in a trial",
    "a first frame in a trial",
    "a description in a trial",
    "two beginnings of a trial",
    "one batch too few",
    "one batch too many",
    "no batches",
    "only the cold batch",
    "a hundred thousand batches",
    "dies between batches",
    "a thousand times the operations",
    "one operation more",
    "no operations",
    "all operations there are",
    "all bytes there are",
    "ages",
    "no time",
    "a figure instead of a time",
    "a histogram that is none",
    "a histogram of 900 kB",
    "an empty histogram",
    "a series of its own",
    "a series without a name",
    "a series of 900 kB",
    "a series with escapes",
    "the host's own series",
    "a series of held processes",
    "batches that begin at the end of time",
    "a wrong checksum",
    "a frame that is torn",
    "a frame twice",
    "a frame behind a note",
    "a frame that is too long",
    "nested frames",
    "fails without a reason",
    "fails with a reason of 900 kB",
    "fails with control characters",
    "fails with escapes",
    "done, then failed",
    "failed, then done",
    "done twice",
    "dies after a trial",
];
/// Lies that hang until a deadline, which takes minutes.
pub const SLOW: [&str; 5] = [
    "noise without bound",
    "hangs before its first frame",
    "hangs when it is to describe",
    "no end of a trial",
    "hangs when it is to leave",
];

/// Has a session meet each of these lies; `actor` is a command for `sh` that acts.
pub fn run_lies(
    site: &Site<'_>,
    lies: &[&str],
    actor: &str,
    count: &mut Count,
    report: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let runtime = site.folder.join("liar");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' --version '*) echo liar 1 ;; *' run '*) exec {actor} ;; esac\n"
    );
    fs::write(&runtime, script)?;
    fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755))?;
    for lie in lies {
        let before = count.wrong.len();
        count.tried += 1;
        one(site, &runtime, lie, count)?;
        let wrong = count.wrong[before..].join("; ");
        report(&format!("liar: {lie}: {}", if wrong.is_empty() { "nothing is wrong" } else { &wrong }))?;
    }
    Ok(())
}

fn one(site: &Site<'_>, runtime: &Path, lie: &str, count: &mut Count) -> io::Result<()> {
    let record = site.folder.join("liar.tare");
    let _ = fs::remove_file(&record);
    let said = site.folder.join("said");
    let out = fs::File::create(&said)?;
    let mut command =
        site.tare_command(&["run", "--only", "sys.getppid", "--rounds", "12", "--html", "page.html", "--in"]);
    command.arg(format!("native,oci:{}", runtime.display())).arg("--record").arg(&record);
    command.arg("--scratch").arg(site.folder.join("scratch")).env(LIE, lie).env(AGENT, site.tare);
    command.stdout(Stdio::from(out.try_clone()?)).stderr(Stdio::from(out));
    site.limit_resource(&mut command, rustix::process::Resource::As, MOST_MEMORY);
    let mut session = command.spawn()?;
    site.finish_session(&mut session, None, ENDS, count)?;
    site.check_record(&record, count);
    let text = fs::read(&said)?;
    let is_raw = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    if String::from_utf8_lossy(&text).chars().any(is_raw) {
        count.wrong.push(format!("{lie}: controls reached the terminal"));
    }
    if fs::metadata(&record).map_or(0, |about| about.len()) > LONGEST_RECORD {
        count.wrong.push(format!("{lie}: the record is as long as the liar wanted"));
    }
    let Ok(recording) = read_session(&record) else { return Ok(()) };
    // A liar takes many times as long as the host, so that nothing else can be true.
    let findings = tare_analysis::compute_findings(&recording.session, &tare_analysis::Options::default());
    for cell in findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells) {
        if let Cell::Compared(comparison) = cell
            && says_no_slower(comparison.verdict)
        {
            count.wrong.push(format!("{lie}: believed: {:?}", comparison.verdict));
        }
    }
    Ok(())
}

/// Checks if a verdict says that the environment is no slower.
fn says_no_slower(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Faster
        | Verdict::FasterUnclear
        | Verdict::FasterInFewStarts
        | Verdict::FasterUnconfirmed
        | Verdict::SlightlyFaster
        | Verdict::TypicallySame
        | Verdict::Same => true,
        Verdict::Slower
        | Verdict::SlowerUnclear
        | Verdict::SlowerInFewStarts
        | Verdict::SlowerUnconfirmed
        | Verdict::SlightlySlower
        | Verdict::Inconclusive => false,
    }
}

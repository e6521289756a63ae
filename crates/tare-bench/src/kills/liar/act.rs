//! Acting as a liar: an agent that keeps to the protocol but for one lie.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use tare_data::batch::{Batch, CALIBRATION, EncodedHistogram, HELD, OUTSIDE, Phase, Sample};
use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_FRAME, PROTOCOL, decode_frame, encode_frame};
use tare_data::request::{Amount, Request, TrialRequest};
use tare_data::session::Interference;

/// Escapes that must reach no terminal: a title, a cleared screen, a C1 control, text from right to left.
pub const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}txt\u{2066}";
/// Variable that names the program whose agent the liar claims to be.
pub const AGENT: &str = "TARE_BENCH_AGENT";
/// Time of an operation: many times that of the host's own kernel.
const EACH_NS: u64 = 2_000;
/// Bytes of a flood: a session that kept them would show it.
const FLOOD: usize = 4 << 20;
/// Longest that a liar hangs: it ends after the session that waited.
const HANGS: Duration = Duration::from_secs(120);

/// A liar at work.
struct Liar<'a> {
    lie: &'a str,
    began: Instant,
}

/// Returns the identity of an honest agent: the session's own, which a variable names.
fn identity() -> io::Result<Build> {
    let agent = std::env::var_os(AGENT).unwrap_or_default();
    Ok(Build::of_elf(&std::fs::read(agent)?).unwrap_or_default())
}

/// Acts as an agent with this lie, and ends the process.
pub fn run_liar(lie: &str) -> ! {
    let liar = Liar { lie, began: Instant::now() };
    // A reader that is gone ends it all.
    let _ = liar.converse();
    process::exit(0)
}

fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn send(frame: &Frame) -> io::Result<()> {
    raw(encode_frame(frame).as_bytes())
}

fn hang() -> ! {
    thread::sleep(HANGS);
    process::exit(0)
}

/// Writes the same again and again.
fn flood(out: &mut dyn Write, piece: &[u8]) -> io::Result<()> {
    (0..FLOOD / piece.len()).try_for_each(|_| out.write_all(piece))
}

impl Liar<'_> {
    fn converse(&self) -> io::Result<()> {
        self.before_hello()?;
        self.hello()?;
        for line in io::stdin().lock().lines() {
            match decode_frame::<Request>(line?.as_bytes()) {
                Some(Request::Describe { places }) => self.describe(places.into_keys())?,
                Some(Request::Trial(request)) => self.trial(&request)?,
                Some(Request::Leave) => break,
                _ => {}
            }
        }
        if self.lie == "hangs when it is to leave" {
            hang();
        }
        send(&Frame::Bye)
    }

    fn before_hello(&self) -> io::Result<()> {
        let mut out = io::stdout();
        match self.lie {
            "dies at once" => process::exit(1),
            "ends at once" => process::exit(0),
            "dies by a signal" => process::abort(),
            "hangs before its first frame" => hang(),
            "floods lines" => flood(&mut out, b"a line of a boot that does not end\n"),
            "floods one line" => flood(&mut out, &[b'x'; 4096]),
            "floods errors" => flood(&mut io::stderr(), b"warning: a line that does not end\n"),
            "floods NUL" => flood(&mut out, &[0; 4096]),
            "escapes on errors, and dies" => {
                eprintln!("{ESCAPES}");
                process::exit(1)
            }
            "escapes as a note" => raw(format!("{ESCAPES}\n").as_bytes()),
            "binary notes" => raw(&[[0xff_u8; 2048], [0x80; 2048]].concat()).and_then(|()| raw(b"\n")),
            "a description before its first frame" => self.describe(std::iter::empty()),
            "a batch before its first frame" => self.batches(1, &self.honest(Phase::Warm, 1)),
            "bye first" => send(&Frame::Bye),
            "half a frame first" => raw(&encode_frame(&Frame::Bye).as_bytes()[..10]),
            "ten thousand notes" => (0..10_000).try_for_each(|n| raw(format!("note {n}\n").as_bytes())),
            _ => Ok(()),
        }
    }

    fn hello(&self) -> io::Result<()> {
        let own = env!("CARGO_PKG_VERSION").to_owned();
        let (protocol, version) = match self.lie {
            "an older protocol" => (PROTOCOL - 1, own),
            "a newer protocol" => (u32::MAX, own),
            "another version" => (PROTOCOL, "9.9.9".into()),
            "a version with escapes" => (PROTOCOL, format!("{own}{ESCAPES}")),
            "a version of 900 kB" => (PROTOCOL, "9".repeat(900 << 10)),
            _ => (PROTOCOL, own),
        };
        let hello =
            Frame::Hello { protocol, version, agent: identity()?, clock_ns: 0, signs: Default::default() };
        if self.lie == "two first frames" {
            send(&hello)?;
        }
        send(&hello)
    }

    fn describe(&self, places: impl Iterator<Item = String>) -> io::Result<()> {
        let mut facts = Facts::default();
        let mut places: BTreeMap<String, Facts> = places.map(|name| (name, Facts::default())).collect();
        match self.lie {
            "hangs when it is to describe" => hang(),
            "dies when it is to describe" => process::exit(1),
            "facts with escapes" => facts.add_fact("kernel.release", format!("6{ESCAPES}")),
            "a fact of 900 kB" => facts.add_fact("kernel.release", "6".repeat(900 << 10)),
            "a fact of control characters" => facts.add_fact("kernel.release", "\u{1}".repeat(100 << 10)),
            "ten thousand facts" => {
                (0..10_000).for_each(|n| facts.add_fact(format!("kernel.n{n}"), "x"));
            }
            "places that nobody named" => {
                places.insert("/etc/shadow".into(), Facts::default());
            }
            "no places" => places.clear(),
            "carried unasked" => send(&Frame::Carried { failure: None })?,
            _ => {}
        }
        let description = Frame::Description { facts, places };
        if self.lie == "two descriptions" {
            send(&description)?;
        }
        send(&description)
    }

    fn clock_ns(&self) -> u64 {
        match self.lie {
            "a clock that stands" => 0,
            "a clock at its end" => u64::MAX,
            "a clock that runs back" => u64::MAX / 2 - self.began.elapsed().as_nanos() as u64,
            "a clock ten times as fast" => 10 * self.began.elapsed().as_nanos() as u64,
            _ => self.began.elapsed().as_nanos() as u64,
        }
    }

    fn trial(&self, request: &TrialRequest) -> io::Result<()> {
        let trial = self.number(request.trial);
        self.begin(trial, request)?;
        match request.amount {
            Amount::Operations { batch, batches } => self.work(trial, batch, batches)?,
            _ => {
                for operations in [1000, 2000] {
                    let batch = self.honest(Phase::Warm, operations);
                    thread::sleep(Duration::from_nanos(operations * EACH_NS));
                    send(&Frame::Batch { trial, batch: batch.clone() })?;
                    send(&Frame::Batch { trial, batch: Batch { series: CALIBRATION.into(), ..batch } })?;
                }
                return self.done(trial);
            }
        }
        self.finish(trial)
    }

    fn number(&self, trial: u64) -> u64 {
        match self.lie {
            "another trial's number" => trial.wrapping_sub(1),
            "a trial's number at its end" => u64::MAX,
            _ => trial,
        }
    }

    fn begin(&self, trial: u64, request: &TrialRequest) -> io::Result<()> {
        let nonce = if self.lie == "another nonce" { !request.nonce } else { request.nonce };
        match self.lie {
            "dies before a trial" => process::exit(1),
            "no beginning of a trial" => return Ok(()),
            "notes with escapes in a trial" => raw(format!("{ESCAPES}\n").repeat(100).as_bytes())?,
            "ten thousand notes in a trial" => {
                (0..10_000).try_for_each(|n| raw(format!("note {n}\n").as_bytes()))?;
            }
            "bye in a trial" => send(&Frame::Bye)?,
            "a first frame in a trial" => self.hello()?,
            "a description in a trial" => self.describe(std::iter::empty())?,
            "two beginnings of a trial" => {
                send(&Frame::Begun { trial, nonce, clock_ns: self.clock_ns() })?;
            }
            _ => {}
        }
        send(&Frame::Begun { trial, nonce, clock_ns: self.clock_ns() })
    }

    fn work(&self, trial: u64, operations: u64, batches: u32) -> io::Result<()> {
        let batches = match self.lie {
            "one batch too few" => batches - 1,
            "one batch too many" => batches + 1,
            "no batches" => return Ok(()),
            "only the cold batch" => 0,
            "a hundred thousand batches" => 100_000,
            _ => batches,
        };
        for at in 0..=batches {
            let (phase, operations) = if at == 0 { (Phase::Cold, 1) } else { (Phase::Warm, operations) };
            // A flood of batches is not slowed down.
            if batches < 10_000 {
                thread::sleep(Duration::from_nanos(operations * EACH_NS));
            }
            if at == 2 && self.lie == "dies between batches" {
                process::exit(1);
            }
            self.batches(trial, &self.batch(phase, operations))?;
        }
        Ok(())
    }

    fn honest(&self, phase: Phase, operations: u64) -> Batch {
        let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns: operations * EACH_NS };
        Batch { series: "call".into(), phase, started_ns: self.clock_ns(), sample }
    }

    fn batch(&self, phase: Phase, operations: u64) -> Batch {
        let mut batch = self.honest(phase, operations);
        let elapsed_ns = operations * EACH_NS;
        let counted = |operations, bytes, elapsed_ns| Sample::Throughput { operations, bytes, elapsed_ns };
        let latency = |text: String| Sample::Latency {
            operations,
            bytes: 0,
            elapsed_ns,
            histogram: EncodedHistogram(text),
        };
        let is_warm = phase == Phase::Warm;
        match self.lie {
            "a thousand times the operations" if is_warm => {
                batch.sample = counted(operations * 1000, 0, elapsed_ns)
            }
            "one operation more" if is_warm => batch.sample = counted(operations + 1, 0, elapsed_ns),
            "no operations" => batch.sample = counted(0, 0, elapsed_ns),
            "all operations there are" => batch.sample = counted(u64::MAX, u64::MAX, elapsed_ns),
            "all bytes there are" => batch.sample = counted(operations, u64::MAX, elapsed_ns),
            "ages" if is_warm => batch.sample = counted(operations, 0, u64::MAX / 4),
            "no time" => batch.sample = counted(operations, 0, 0),
            "a figure instead of a time" => batch.sample = Sample::Gauge { value: 1e308 },
            "a histogram that is none" => batch.sample = latency("garbage".into()),
            "a histogram of 900 kB" => batch.sample = latency("A".repeat(900 << 10)),
            "an empty histogram" => batch.sample = latency(String::new()),
            "a series of its own" => batch.series = "mine".into(),
            "a series without a name" => batch.series.clear(),
            "a series of 900 kB" => batch.series = "s".repeat(900 << 10),
            "a series with escapes" => batch.series = ESCAPES.into(),
            "the host's own series" => batch.series = OUTSIDE.into(),
            "a series of held processes" => {
                (batch.series, batch.sample) = (HELD.into(), Sample::Gauge { value: f64::MAX });
            }
            "batches that begin at the end of time" => batch.started_ns = u64::MAX,
            _ => {}
        }
        batch
    }

    fn batches(&self, trial: u64, batch: &Batch) -> io::Result<()> {
        let line = encode_frame(&Frame::Batch { trial, batch: batch.clone() });
        match self.lie {
            "a wrong checksum" => raw(line.replacen("{", "{ ", 1).as_bytes()),
            "a frame that is torn" => raw([&line.as_bytes()[..line.len() / 2], b"\n"].concat().as_slice()),
            "a frame twice" => raw(line.repeat(2).as_bytes()),
            "a frame behind a note" => raw(format!("note {line}").as_bytes()),
            "a frame that is too long" => raw(format!("@tare1 {}\n", "x".repeat(LONGEST_FRAME)).as_bytes()),
            "nested frames" => {
                let json = "[".repeat(100_000);
                raw(format!("@tare1 {:08x} {json}\n", 0).as_bytes()).and_then(|()| raw(line.as_bytes()))
            }
            _ => raw(line.as_bytes()),
        }
    }

    fn finish(&self, trial: u64) -> io::Result<()> {
        let failed = |reason: String| Frame::Failed {
            trial,
            failure: Failure::new(FailureKind::Broken, reason),
            clock_ns: self.clock_ns(),
        };
        match self.lie {
            "no end of a trial" => hang(),
            "fails without a reason" => send(&failed(String::new())),
            "fails with a reason of 900 kB" => send(&failed("r".repeat(900 << 10))),
            "fails with control characters" => send(&failed("\u{1}".repeat(100 << 10))),
            "fails with escapes" => send(&failed(ESCAPES.into())),
            "done, then failed" => self.done(trial).and_then(|()| send(&failed("no".into()))),
            "failed, then done" => send(&failed("no".into())).and_then(|()| self.done(trial)),
            "done twice" => self.done(trial).and_then(|()| self.done(trial)),
            "dies after a trial" => {
                self.done(trial)?;
                process::exit(1)
            }
            _ => self.done(trial),
        }
    }

    fn done(&self, trial: u64) -> io::Result<()> {
        let mut interference = Interference::default();
        if self.lie == "noise without bound" {
            interference.steal_ns = Some(u64::MAX);
            (interference.pressure_cpu_ns, interference.canary_ns) = (Some(u64::MAX), Some(u64::MAX));
        }
        send(&Frame::Done { trial, interference, clock_ns: self.clock_ns() })
    }
}

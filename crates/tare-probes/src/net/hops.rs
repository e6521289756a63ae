//! Hops of a round trip: both ends note when a datagram passes the places that the stack stamps.
//!
//! Each span is the difference of two times of one clock, so that the clocks of the two ends need not agree. What is
//! between the ends, both directions together, is the rest of the round trip: so the spans add up to it.

use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use tare_data::failure::{Failure, FailureKind};

use super::stamps::{self, Sent};
use super::token::{TOKEN_BYTES, Token, shown_back};
use super::{ledger, sockets};
use crate::harness::stopwatch::Laps;
use crate::harness::trial::broken_failure;

/// Bytes of a request and of a response: a number, and in a response the far end's spans of the round before.
pub(crate) const MESSAGE: usize = 64;
/// A span that the far end could not see.
const UNSEEN: u64 = u64::MAX;
/// The stack begins to stamp what arrives only some time after stamps are enabled: when its work queue comes to it.
const STAMPS_BEGIN: Duration = Duration::from_millis(20);
/// Limit on such waits: a busy machine's work queue may take longer.
const MOST_WAITS: u32 = 50;
/// Rounds before the first that counts.
const WARM_UP: u32 = 3;

#[derive(Clone, Copy)]
struct FarSpans {
    arrival_ns: u64,
    turn_ns: u64,
    leave_ns: u64,
}

#[derive(Clone, Copy)]
struct NearSpans {
    started_ns: u64,
    queued_ns: u64,
    device_ns: u64,
    arrived_ns: u64,
    ended_ns: u64,
}

/// Times of each span, over the rounds in which all are known.
#[derive(Default)]
pub struct Hops {
    pub round: Laps,
    /// From the call to the queue of the device.
    pub call: Laps,
    /// From the queue until the driver has it.
    pub device: Laps,
    /// Between the ends' drivers, both directions together.
    pub way: Laps,
    /// At the far end, from its driver to its program.
    pub far_arrival: Laps,
    pub far_turn: Laps,
    /// At the far end, from the call until its driver has the answer.
    pub far_leave: Laps,
    /// From the driver to the program here.
    pub arrival: Laps,
}

impl Hops {
    fn add(&mut self, near: NearSpans, far: FarSpans) {
        let between_ns = near.arrived_ns.saturating_sub(near.device_ns);
        let way_ns = between_ns.saturating_sub(far.arrival_ns + far.turn_ns + far.leave_ns);
        self.round.add(near.started_ns, near.ended_ns);
        self.call.add(near.started_ns, near.queued_ns);
        self.device.add(near.queued_ns, near.device_ns);
        self.arrival.add(near.arrived_ns, near.ended_ns);
        for (laps, span_ns) in [
            (&mut self.way, way_ns),
            (&mut self.far_arrival, far.arrival_ns),
            (&mut self.far_turn, far.turn_ns),
            (&mut self.far_leave, far.leave_ns),
        ] {
            laps.add(near.started_ns, near.started_ns + span_ns);
        }
    }
}

pub struct Near {
    socket: OwnedFd,
    /// Datagrams sent since stamps were enabled.
    sent: u64,
    before: Option<NearSpans>,
}

impl Near {
    /// Begins to stamp on a socket that the far end knows.
    pub fn new(socket: OwnedFd) -> Result<Near, Failure> {
        stamps::enable_stamps(&socket)?;
        let mut near = Near { socket, sent: 0, before: None };
        let mut waits = 0;
        loop {
            std::thread::sleep(STAMPS_BEGIN);
            waits += 1;
            match near.warm_up() {
                Err(unseen) if unseen.kind == FailureKind::NotSupported && waits < MOST_WAITS => {
                    near.before = None
                }
                warm => return warm.map(|()| near),
            }
        }
    }

    fn warm_up(&mut self) -> Result<(), Failure> {
        for _ in 0..WARM_UP {
            self.round()?;
        }
        Ok(())
    }

    /// Measures `operations` rounds in which every span is known.
    pub(crate) fn measure_rounds(&mut self, operations: u64, hops: &mut Hops) -> Result<(), Failure> {
        for _ in 0..operations {
            // The spans of a round come with the answer to the next one.
            if let Some((near, far)) = self.round()? {
                hops.add(near, far);
            }
        }
        Ok(())
    }

    /// Runs one round and returns the spans of the one before.
    fn round(&mut self) -> Result<Option<(NearSpans, FarSpans)>, Failure> {
        let number = self.sent;
        self.sent += 1;
        let (mut request, mut answer) = ([0; MESSAGE], [0; MESSAGE + 1]);
        request[..8].copy_from_slice(&number.to_le_bytes());
        let failed = |e: Errno| match e {
            Errno::AGAIN => broken_failure("a round trip", "a datagram was lost on the path"),
            other => sockets::stream_failure("a round trip", other),
        };
        let started_ns = stamps::now_ns();
        net::send(&self.socket, &request, SendFlags::empty()).map_err(failed)?;
        let arrived_ns = loop {
            let (length, arrived_ns) = stamps::receive_stamped(&self.socket, &mut answer).map_err(failed)?;
            if length == MESSAGE && word(&answer, 0) == !number {
                break arrived_ns;
            }
        };
        let ended_ns = stamps::now_ns();
        let sent = stamps::read_sent_stamps(&self.socket, number as u32, Sent::default());
        let near = match (sent.queued_ns, sent.device_ns, arrived_ns) {
            (Some(queued_ns), Some(device_ns), Some(arrived_ns)) => {
                NearSpans { started_ns, queued_ns, device_ns, arrived_ns, ended_ns }
            }
            stamps => return Err(not_visible("this", stamps)),
        };
        let far =
            FarSpans { arrival_ns: word(&answer, 2), turn_ns: word(&answer, 3), leave_ns: word(&answer, 4) };
        let of_before = number.checked_sub(1).is_some_and(|before| word(&answer, 1) == before);
        let Some(before) = self.before.replace(near).filter(|_| of_before) else { return Ok(None) };
        if [far.arrival_ns, far.leave_ns].contains(&UNSEEN) {
            let seen = |ns: u64| (ns != UNSEEN).then_some(ns);
            return Err(not_visible(
                "the far",
                (seen(far.leave_ns), seen(far.leave_ns), seen(far.arrival_ns)),
            ));
        }
        Ok(Some((before, far)))
    }
}

fn not_visible(end: &str, stamps: (Option<u64>, Option<u64>, Option<u64>)) -> Failure {
    let names = ["the queue", "the driver on the way out", "the driver on the way in"];
    let missing: Vec<&str> = [stamps.0, stamps.1, stamps.2]
        .iter()
        .zip(names)
        .filter(|(stamp, _)| stamp.is_none())
        .map(|(_, name)| name)
        .collect();
    let reason = format!("hops are not visible: no timestamp by {} at {end} end", missing.join(", "));
    Failure::new(FailureKind::NotSupported, reason)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[8 * at..8 * at + 8]);
    u64::from_le_bytes(word)
}

/// Spans of a round that the far end has not reported yet.
struct FarReport {
    number: u64,
    arrived_ns: Option<u64>,
    awake_ns: u64,
    sending_ns: u64,
    datagram: u32,
    sent: Sent,
}

impl FarReport {
    /// Returns the words after the number of an answer: the round, arrival, turn, leave.
    fn words(&self) -> [u64; 4] {
        let since = |later: Option<u64>, earlier: Option<u64>| match (later, earlier) {
            (Some(later), Some(earlier)) => later.saturating_sub(earlier),
            _ => UNSEEN,
        };
        let (awake_ns, sending_ns) = (Some(self.awake_ns), Some(self.sending_ns));
        [
            self.number,
            since(awake_ns, self.arrived_ns),
            since(sending_ns, awake_ns),
            since(self.sent.device_ns, sending_ns),
        ]
    }
}

/// Runs the far end, which has met the near one. It answers for ever; the process that forked it ends it.
pub(crate) fn answer_hops(socket: &OwnedFd, token: &Token) -> i32 {
    // Without stamps it answers too, and reports that it saw nothing.
    let _ = stamps::enable_stamps(socket);
    let (mut request, mut report, mut datagrams) = ([0; MESSAGE + 1], None::<FarReport>, 0u32);
    loop {
        let (length, arrived_ns) = match stamps::receive_stamped(socket, &mut request) {
            Ok(received) => received,
            Err(Errno::CONNREFUSED | Errno::INTR) => continue,
            Err(_) => return 5,
        };
        let awake_ns = stamps::now_ns();
        if length == TOKEN_BYTES && request[..TOKEN_BYTES] == *token {
            let _ = net::send(socket, &shown_back(token), SendFlags::empty());
            datagrams += 1;
            continue;
        }
        if length != MESSAGE {
            continue;
        }
        let mut answer = [0; MESSAGE];
        ledger::write_answer(&request[..8], &mut answer[..8]);
        if let Some(report) = &mut report {
            report.sent = stamps::read_sent_stamps(socket, report.datagram, report.sent);
        }
        let words = report.map_or([UNSEEN; 4], |report| report.words());
        for (at, word) in words.iter().enumerate() {
            answer[8 * (at + 1)..8 * (at + 2)].copy_from_slice(&word.to_le_bytes());
        }
        let sending_ns = stamps::now_ns();
        let answered = net::send(socket, &answer, SendFlags::empty());
        let sent = stamps::read_sent_stamps(socket, datagrams, Sent::default());
        let datagram = datagrams;
        datagrams += u32::from(answered.is_ok());
        report =
            Some(FarReport { number: word(&request, 0), arrived_ns, awake_ns, sending_ns, datagram, sent });
    }
}

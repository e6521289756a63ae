//! Requests and responses as numbered datagrams: the timed loops of both ends, and how they find each other.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net;
use tare_data::failure::{Failure, FailureKind};

use super::flow::{Pace, Starts, Transport};
use super::ledger::{Ledger, MOST_LOST, write_answer};
use super::sockets::{self, Wait};
use super::token::{TOKEN_BYTES, Token, is_same_token, shown_back};
use super::udp_peer::UdpPeer;
use crate::harness::stopwatch::{Laps, now_ns};

/// A request that is not answered within this is given up: some thirty times a slow local round trip, and
/// longer than one around the Earth.
pub const GIVEN_UP_AFTER: Duration = Duration::from_millis(300);
/// After the last answer, answers that come twice are listened for this long...
const ECHOES: Duration = Duration::from_millis(5);
/// Limit on the datagrams that are listened for after a trial.
const MOST_ECHOES: u32 = 10_000;
/// A greeting is sent again after this...
const GREET_AGAIN: Duration = Duration::from_millis(100);
/// ...and at most this often.
const MOST_GREETINGS: u32 = 30;

crate::timed! {
    /// Sends `operations` requests, each answered or given up.
    fn rounds(
        operations: u64,
        line: &UdpPeer<OwnedFd>,
        outgoing: &mut [u8],
        incoming: &mut [u8],
        pace: Pace,
        ledger: &mut Ledger,
        laps: &mut Laps,
    ) -> Result<(), Errno> {
        let give_up_ns = GIVEN_UP_AFTER.as_nanos() as u64;
        let mut starts = Starts::new();
        let (mut sent, mut settled) = (0, 0);
        let mut first_ns = now_ns();
        // When something was last sent or answered.
        let mut moved_ns = first_ns;
        while settled < operations {
            while sent < operations && sent - settled < pace.burst {
                let number = ledger.number_request(outgoing);
                moved_ns = pace.start_ns(first_ns, sent);
                starts.set(number, moved_ns);
                if line.send(outgoing)? != outgoing.len() {
                    return Err(Errno::MSGSIZE);
                }
                sent += 1;
            }
            let arrived = line.receive(incoming);
            let ended_ns = now_ns();
            match arrived {
                Ok(length) => {
                    if let Some(number) = length.and_then(|length| ledger.match_answer(&incoming[..length])) {
                        laps.add(starts.get(number), ended_ns);
                        moved_ns = ended_ns;
                        settled += 1;
                        // In flight together, later requests may be answered past a lost one for ever.
                        let is_old = |number| ended_ns.saturating_sub(starts.get(number)) > give_up_ns;
                        if pace.burst > 1 && ledger.oldest_waiting().is_some_and(is_old) {
                            settled += u64::from(ledger.give_up());
                        }
                        continue;
                    }
                    if ended_ns.saturating_sub(moved_ns) <= give_up_ns {
                        continue;
                    }
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(other) => return Err(other),
            }
            while ledger.give_up() {
                settled += 1;
            }
            // The wait in vain belongs to no round trip, and the schedule goes on from here.
            let vain_ns = ended_ns.saturating_sub(moved_ns);
            laps.exclude_wait(vain_ns);
            first_ns += vain_ns;
            if ledger.counts.lost > MOST_LOST {
                return Err(Errno::TIMEDOUT);
            }
        }
        Ok(())
    }
}

/// Runs the near end: `operations` requests, each answered and timed or given up and counted.
pub fn request_datagrams(
    operations: u64,
    line: &UdpPeer<OwnedFd>,
    (outgoing, incoming): (&mut [u8], &mut [u8]),
    pace: Pace,
    ledger: &mut Ledger,
    laps: &mut Laps,
) -> Result<(), Failure> {
    rounds(operations, line, outgoing, incoming, pace, ledger, laps).map_err(|e| match e {
        Errno::TIMEDOUT => {
            let reason =
                format!("more than {MOST_LOST} requests were not answered: the path loses datagrams");
            Failure::new(FailureKind::Broken, reason)
        }
        other => sockets::stream_failure("a round trip", other),
    })
}

/// Listens for what comes after the last answer: answers that come twice, or to requests that were given up.
pub fn listen_on(line: &UdpPeer<OwnedFd>, incoming: &mut [u8], ledger: &mut Ledger) -> Result<(), Failure> {
    let longest = if ledger.counts.lost > 0 { GIVEN_UP_AFTER } else { ECHOES };
    sockets::set_deadline(line.socket(), longest)?;
    let end = Instant::now() + longest;
    for _ in 0..MOST_ECHOES {
        match line.receive(incoming) {
            Ok(Some(length)) => drop(ledger.match_answer(&incoming[..length])),
            Ok(None) => {}
            Err(_) => break,
        }
        if Instant::now() > end {
            break;
        }
    }
    Ok(())
}

/// Opens a line to the far end, which has been shown the token and has answered.
pub fn greet_far_end(address: SocketAddr, token: &Token) -> Result<UdpPeer<OwnedFd>, Failure> {
    let line = open_ungreeted_line(address)?;
    sockets::set_deadline(line.socket(), GREET_AGAIN)?;
    let mut answer = [0u8; TOKEN_BYTES + 1];
    for _ in 0..MOST_GREETINGS {
        // Several are sent because one may be lost or refused.
        let _ = line.send(token);
        if let Ok(Some(length)) = line.receive(&mut answer)
            && answer[..length] == shown_back(token)
        {
            sockets::set_deadline(line.socket(), GIVEN_UP_AFTER)?;
            return Ok(line);
        }
    }
    let seconds = (GREET_AGAIN * MOST_GREETINGS).as_secs();
    let cause =
        if address.ip().is_loopback() { "loopback may be down (ip link)" } else { "a firewall may drop it" };
    let reason = format!("no answer over UDP from {address} in {seconds} s; {cause}");
    Err(Failure::new(FailureKind::Broken, reason))
}

/// Opens a line to a far end that knows no greeting.
pub(crate) fn open_ungreeted_line(address: SocketAddr) -> Result<UdpPeer<OwnedFd>, Failure> {
    let socket = sockets::open_socket(Transport::Udp, address.ip())?;
    sockets::set_deadline(&socket, GIVEN_UP_AFTER)?;
    Ok(UdpPeer::new(socket, address))
}

/// Waits for a datagram with the token, and from then on talks only to where it came from.
///
/// A datagram without the token gets no answer. `from`, where it is given, is the one address that a token is
/// taken from: it has proved by a connection that it receives what is sent there.
pub(crate) fn wait_for_greeting(
    socket: OwnedFd,
    token: &Token,
    from: Option<IpAddr>,
    patience: Duration,
) -> Result<UdpPeer<OwnedFd>, Errno> {
    let end = Instant::now() + patience;
    let mut bytes = [0u8; TOKEN_BYTES + 1];
    loop {
        let left = end.checked_duration_since(Instant::now()).ok_or(Errno::TIMEDOUT)?;
        let left = left.max(Duration::from_millis(1));
        sockets::wait_at_most(&socket, Wait::Receive, Some(left))?;
        let (length, _, sender) = match net::recvfrom(&socket, &mut bytes, net::RecvFlags::empty()) {
            Ok((length, whole, sender)) => (length, whole, sender),
            Err(Errno::AGAIN) => return Err(Errno::TIMEDOUT),
            Err(Errno::INTR) => continue,
            Err(other) => return Err(other),
        };
        let Some(sender) = sender.and_then(|sender| SocketAddr::try_from(sender).ok()) else { continue };
        let welcome = from.is_none_or(|from| sender.ip() == from);
        let shown = bytes.first_chunk().is_some_and(|shown| is_same_token(shown, token));
        if length == TOKEN_BYTES && shown && welcome {
            sockets::wait_at_most(&socket, Wait::Receive, None)?;
            let line = UdpPeer::new(socket, sender);
            line.send(&shown_back(token))?;
            return Ok(line);
        }
    }
}

crate::timed! {
    /// Runs the far end, which has met the near one: answers requests of the right length for ever. The
    /// process that forked this one ends it.
    pub(crate) fn answer_datagrams(
        line: &UdpPeer<OwnedFd>,
        request: usize,
        incoming: &mut [u8],
        outgoing: &mut [u8],
        token: &Token,
    ) -> i32 {
        loop {
            let length = match line.receive(incoming) {
                Ok(Some(length)) => length,
                Ok(None) => continue,
                Err(Errno::INTR) => continue,
                Err(_) => return 5,
            };
            let answered = if length == TOKEN_BYTES && incoming[..TOKEN_BYTES] == *token {
                // The first answer to the greeting was lost.
                line.send(&shown_back(token))
            } else if length == request {
                write_answer(&incoming[..length], outgoing);
                line.send(outgoing)
            } else {
                continue;
            };
            match answered {
                // A full queue on the path counts as a lost datagram.
                Ok(_) | Err(Errno::INTR | Errno::NOBUFS | Errno::AGAIN) => {}
                Err(_) => return 7,
            }
        }
    }
}

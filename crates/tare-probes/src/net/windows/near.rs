//! The near end of a flow on Windows: how `net.rr`, `net.connect` and `net.stream` are measured there.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use tare_data::failure::{Failure, FailureKind};

use super::far::{push_held_bytes, receive_bytes, send_bytes};
use super::socket::Unconnected;
use super::{Far, GIVEN_UP_AFTER, TOKEN_BYTES, shown_back};
use crate::descriptions::net_stream::SYSTEM;
use crate::harness::buffer::Buffer;
use crate::harness::handover::Placement;
use crate::harness::stopwatch::{Laps, Stopwatch, now_ns};
use crate::harness::trial::{Trial, broken_failure, prove_count};
use crate::net::flow::{
    Direction, Flow, LARGEST_BATCH, Pace, REQUEST, RESPONSE, Rounds, Starts, Transfer, Transport,
};
use crate::net::ledger::{Counts, Ledger, MOST_LOST};

/// A greeting is sent again after this, and at most this often.
const GREET_AGAIN: Duration = Duration::from_millis(100);
const MOST_GREETINGS: u32 = 30;
/// After the last answer, answers that come twice are listened for this long.
const ECHOES: Duration = Duration::from_millis(5);

/// Measures `net.rr`.
pub(crate) fn measure_net_rr(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let transport = parameters.one_of("protocol", &[("tcp", Transport::Tcp), ("udp", Transport::Udp)])?;
    let no_delay = parameters.one_of("nodelay", &[("no", false), ("yes", true)])?;
    let size = |key| parameters.get_integer(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let rounds = Rounds { transport, request: size("request")?, response: size("response")?, no_delay };
    let flow = Flow::Rounds(rounds.clone()).into_checked()?;
    let pace = Pace::from_parameters(parameters)?;
    if transport == Transport::Udp && pace.burst > 1 {
        let reason = "several datagrams in flight are not written for Windows yet";
        return Err(Failure::new(FailureKind::NotSupported, reason));
    }
    let far = Far::open(trial, &flow, Placement::pin_this_side(parameters)?)?;
    match transport {
        Transport::Tcp => over_tcp(trial, far, &rounds, pace),
        Transport::Udp => over_udp(trial, far, &rounds, pace),
    }
}

fn over_tcp(trial: &mut Trial<'_>, far: Far, flow: &Rounds, pace: Pace) -> Result<(), Failure> {
    let (mut outgoing, mut incoming) =
        (Buffer::new_zeroed(flow.request as usize)?, Buffer::new_zeroed(flow.response as usize)?);
    outgoing.fill(REQUEST);
    let (mut connection, stopwatch) = far.connect(flow.no_delay)?;
    let mut connecting = Some(stopwatch);
    trial.repeat(|operations, report| {
        connecting.take().iter().for_each(|stopwatch| report.add_throughput("connect", 1, stopwatch));
        let mut laps = Laps::new();
        let right = tcp_rounds(operations, &mut connection, &outgoing, &mut incoming, pace, &mut laps)
            .map_err(|e| broken_failure("a round trip", e))?;
        prove_count("responses that are the peer's", right, operations)?;
        report.add_latency("round", operations * u64::from(flow.request + flow.response), laps);
        Ok(())
    })?;
    drop(connection);
    far.finish()?;
    report_counts(trial, Counts::default())
}

/// Runs `operations` round trips, timed one by one. Returns how many responses were the peer's.
fn tcp_rounds(
    operations: u64,
    connection: &mut TcpStream,
    outgoing: &[u8],
    incoming: &mut [u8],
    pace: Pace,
    laps: &mut Laps,
) -> io::Result<u64> {
    let mut starts = Starts::new();
    let (mut sent, mut answered, mut right) = (0, 0, 0);
    let first_ns = now_ns();
    while answered < operations {
        while sent < operations && sent - answered < pace.burst {
            starts.set(sent, pace.start_ns(first_ns, sent));
            connection.write_all(outgoing)?;
            sent += 1;
        }
        connection.read_exact(incoming)?;
        laps.add(starts.get(answered), now_ns());
        right += u64::from(incoming[0] == RESPONSE);
        incoming[0] = 0;
        answered += 1;
    }
    Ok(right)
}

fn over_udp(trial: &mut Trial<'_>, far: Far, flow: &Rounds, pace: Pace) -> Result<(), Failure> {
    let mut outgoing = Buffer::new_zeroed(flow.request as usize)?;
    // A byte more, so that a longer datagram is distinguished from one of the right length.
    let mut incoming = Buffer::new_zeroed(flow.response as usize + 1)?;
    let mut ledger = Ledger::new(flow.request as usize, flow.response as usize);
    let (socket, stopwatch) = greet(&far)?;
    let mut greeting = Some(stopwatch);
    trial.repeat(|operations, report| {
        greeting.take().iter().for_each(|stopwatch| report.add_throughput("connect", 1, stopwatch));
        let mut laps = Laps::new();
        let messages = (&mut outgoing[..], &mut incoming[..]);
        udp_rounds(operations, &socket, messages, pace, &mut ledger, &mut laps)
            .map_err(|e| broken_failure("a round trip", e))?;
        if laps.operations() > 0 {
            report.add_latency("round", laps.operations() * u64::from(flow.request + flow.response), laps);
        }
        Ok(())
    })?;
    listen_on(&socket, &mut incoming, &mut ledger);
    far.stop()?;
    report_counts(trial, ledger.counts)
}

/// Opens a socket that the far end knows and answers; timed from the greeting to its answer.
fn greet(far: &Far) -> Result<(UdpSocket, Stopwatch), Failure> {
    let failed = |e: io::Error| broken_failure("a UDP socket", e);
    let mut stopwatch = Stopwatch::start_new();
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
    socket.connect(far.address()).map_err(failed)?;
    socket.set_read_timeout(Some(GREET_AGAIN)).map_err(failed)?;
    let mut answer = [0; TOKEN_BYTES + 1];
    for _ in 0..MOST_GREETINGS {
        // Several are sent because one may be lost or refused.
        let _ = socket.send(&far.token);
        if let Ok(length) = socket.recv(&mut answer)
            && answer[..length] == shown_back(&far.token)
        {
            stopwatch.stop();
            socket.set_read_timeout(Some(GIVEN_UP_AFTER)).map_err(failed)?;
            return Ok((socket, stopwatch));
        }
    }
    Err(broken_failure("the peer", "it does not answer over UDP"))
}

/// Runs `operations` requests, one in flight, each answered and timed or given up and counted.
fn udp_rounds(
    operations: u64,
    socket: &UdpSocket,
    (outgoing, incoming): (&mut [u8], &mut [u8]),
    pace: Pace,
    ledger: &mut Ledger,
    laps: &mut Laps,
) -> io::Result<()> {
    let mut first_ns = now_ns();
    for index in 0..operations {
        ledger.number_request(outgoing);
        let started_ns = pace.start_ns(first_ns, index);
        socket.send(outgoing)?;
        loop {
            let arrived = socket.recv(incoming);
            let ended_ns = now_ns();
            let is_answer = match arrived {
                Ok(length) => ledger.match_answer(&incoming[..length]).is_some(),
                Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => false,
                Err(e) => return Err(e),
            };
            if is_answer {
                laps.add(started_ns, ended_ns);
                break;
            }
            let vain_ns = ended_ns.saturating_sub(started_ns);
            if vain_ns < GIVEN_UP_AFTER.as_nanos() as u64 {
                continue;
            }
            while ledger.give_up() {}
            // The wait in vain belongs to no round trip, and the schedule goes on from here.
            laps.exclude_wait(vain_ns);
            first_ns += vain_ns;
            if ledger.counts.lost > MOST_LOST {
                return Err(ErrorKind::TimedOut.into());
            }
            break;
        }
    }
    Ok(())
}

/// Listens for what comes after the last answer: answers that come twice, or to requests that were given up.
fn listen_on(socket: &UdpSocket, incoming: &mut [u8], ledger: &mut Ledger) {
    let longest = if ledger.counts.lost > 0 { GIVEN_UP_AFTER } else { ECHOES };
    let end = Instant::now() + longest;
    if socket.set_read_timeout(Some(longest)).is_err() {
        return;
    }
    while let Ok(length) = socket.recv(incoming) {
        ledger.match_answer(&incoming[..length]);
        if Instant::now() > end {
            break;
        }
    }
}

/// Reports requests that were not simply answered, once a trial: a median of batches would hide them.
fn report_counts(trial: &mut Trial<'_>, counts: Counts) -> Result<(), Failure> {
    trial.run_once(|report| {
        report.add_gauge("lost", counts.lost as f64);
        report.add_gauge("late", counts.late as f64);
        report.add_gauge("duplicated", counts.duplicated as f64);
        report.add_gauge("reordered", counts.reordered as f64);
        Ok(())
    })
}

/// Measures `net.connect`.
pub(crate) fn measure_net_connect(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let size = |key| parameters.get_integer(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let (request, response) = (size("request")?, size("response")?);
    let flow = Flow::Connections { request, response }.into_checked()?;
    let far = Far::open(trial, &flow, Placement::pin_this_side(parameters)?)?;
    let (mut outgoing, mut incoming) =
        (Buffer::new_zeroed(request as usize)?, Buffer::new_zeroed(response as usize)?);
    outgoing.fill(REQUEST);
    if let Some(first) = outgoing.first_chunk_mut::<TOKEN_BYTES>() {
        *first = far.token;
    }
    trial.repeat(|operations, report| {
        let (mut whole, mut connect, mut right) = (Laps::new(), Laps::new(), 0);
        for _ in 0..operations {
            let started_ns = now_ns();
            let answered = exchange(&far, &outgoing, &mut incoming, &mut connect)
                .map_err(|e| broken_failure("a connection", e))?;
            whole.add(started_ns, now_ns());
            right += u64::from(answered);
        }
        prove_count("responses that are the peer's", right, operations)?;
        report.add_latency("transaction", operations * u64::from(request + response), whole);
        report.add_latency("connect", 0, connect);
        Ok(())
    })?;
    far.stop()
}

/// Connects, sends a request, reads its response and waits for the close; tells whether the response was the
/// peer's.
fn exchange(far: &Far, outgoing: &[u8], incoming: &mut [u8], connect: &mut Laps) -> io::Result<bool> {
    let socket = Unconnected::new()?;
    let connecting_ns = now_ns();
    let connection = socket.connect(far.port)?;
    connect.add(connecting_ns, now_ns());
    let mut connection = TcpStream::from(connection);
    connection.write_all(outgoing)?;
    connection.read_exact(incoming)?;
    let right = incoming[0] == RESPONSE;
    incoming[0] = 0;
    match connection.read(&mut [0])? {
        0 => Ok(right),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

/// Measures `net.stream`.
pub(crate) fn measure_net_stream(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let directions = [("send", Direction::Send), ("receive", Direction::Receive)];
    let direction = parameters.one_of("direction", &directions)?;
    let size = u32::try_from(parameters.get_integer("size")?).unwrap_or(u32::MAX);
    if parameters.get_text("congestion")? != SYSTEM {
        let reason = "Windows chooses the congestion control for all of its connections";
        return Err(Failure::new(FailureKind::NotSupported, reason));
    }
    let flow = Flow::Transfer(Transfer { direction, size, congestion: None }).into_checked()?;
    let far = Far::open(trial, &flow, Placement::pin_this_side(parameters)?)?;
    let mut buffer = Buffer::new_random(size as usize, trial.seed())?;
    let (mut connection, stopwatch) = far.connect(false)?;
    let mut connecting = Some(stopwatch);
    trial.repeat(|operations, report| {
        connecting.take().iter().for_each(|stopwatch| report.add_throughput("connect", 1, stopwatch));
        let bytes = operations.saturating_mul(u64::from(size)).min(LARGEST_BATCH);
        let mut stopwatch = Stopwatch::start_new();
        let arrived = batch(&mut connection, direction, bytes, &mut buffer);
        stopwatch.stop();
        let arrived = arrived.map_err(|e| broken_failure("a stream", e))?;
        prove_count("bytes that arrived", arrived, operations.saturating_mul(u64::from(size)))?;
        report.add_transfer("stream", operations, bytes, &stopwatch);
        Ok(())
    })?;
    drop(connection);
    far.finish()
}

/// Runs one batch until all of it has arrived. Returns its bytes.
fn batch(connection: &mut TcpStream, direction: Direction, bytes: u64, buffer: &mut [u8]) -> io::Result<u64> {
    let header = bytes.to_le_bytes();
    connection.write_all(&header)?;
    match direction {
        Direction::Send => {
            send_bytes(connection, bytes, buffer)?;
            push_held_bytes(connection)?;
            let mut arrived = [0; 8];
            connection.read_exact(&mut arrived)?;
            Ok(u64::from_le_bytes(arrived))
        }
        Direction::Receive => {
            // The header would wait for more to send.
            push_held_bytes(connection)?;
            receive_bytes(connection, bytes, buffer)?;
            Ok(bytes)
        }
    }
}

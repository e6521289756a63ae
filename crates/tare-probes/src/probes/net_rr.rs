//! `net.rr`: a request goes out, a response comes back, one at a time; the round trip of a connection.
//!
//! As netperf's TCP_RR: one connection, blocking send then recv, one byte each way unless told otherwise,
//! one request outstanding, Nagle's algorithm left on, no busy polling, no pinning. The response is not an
//! echo. Other than netperf, the time to connect is not the first round trip but a figure of its own, and
//! times are whole nanoseconds. tcp(7).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::Reading;
use tare_data::peer::Peer;

use crate::buffer::Buffer;
use crate::child::Child;
use crate::probe::{MetricDescription, Need, Parameter, Probe};
use crate::stopwatch::{Laps, Stopwatch, now_ns};
use crate::syscall::{recv, send};
use crate::trial::{broken, prove};

pub static PROBE: Probe = Probe {
    name: "net.rr",
    title: "TCP round trip",
    summary: "A byte to a peer and a byte back over one connection, one request outstanding.",
    timed: "send until the whole response is there, with one clock read before and after",
    not_timed: "connecting, which is a figure of its own; the entry into the histogram",
    distorted_by: "which processors the two ends run on; idle states; offloads; firewalls on the way",
    parameters: &[
        Parameter { name: "request", quick: "1", reference: "1", about: "bytes of a request" },
        Parameter { name: "response", quick: "1", reference: "1", about: "bytes of a response" },
        Parameter { name: "nodelay", quick: "no", reference: "no", about: "yes: TCP_NODELAY, as netperf -D" },
    ],
    metrics: &[
        MetricDescription::time("time", "round"),
        MetricDescription::quantile("p50", "round", 0.5),
        MetricDescription::quantile("p90", "round", 0.9),
        MetricDescription::quantile("p99", "round", 0.99),
        MetricDescription::quantile("p99.9", "round", 0.999),
        MetricDescription::nanoseconds("min", "round", Reading::Minimum),
        MetricDescription::nanoseconds("mean", "round", Reading::Mean),
        MetricDescription::nanoseconds("max", "round", Reading::Maximum),
        MetricDescription::nanoseconds("sd", "round", Reading::StandardDeviation),
        MetricDescription::per_second("rate", "round"),
        MetricDescription::nanoseconds("connect", "connect", Reading::Cold),
    ],
    needs: &[Need::Peer],
    revision: 1,
    label: |_| "TCP round trip".into(),
    run: |trial| {
        let parameters = trial.parameters();
        let (request, response) = (parameters.integer("request")?, parameters.integer("response")?);
        let no_delay = match parameters.text("nodelay")? {
            "no" => false,
            "yes" => true,
            other => return Err(broken("nodelay", format!("{other} is neither yes nor no"))),
        };
        if !(1..=LARGEST_MESSAGE).contains(&request) || !(1..=LARGEST_MESSAGE).contains(&response) {
            return Err(broken("parameters", "request or response is out of bounds"));
        }
        let peer = trial.peer()?;
        if *peer != Peer::Loopback {
            return Err(Failure::new(FailureKind::NotSupported, format!("no way to the peer {peer:?}")));
        }
        let (mut outgoing, mut incoming) =
            (Buffer::zeroed(request as usize)?, Buffer::zeroed(response as usize)?);
        outgoing.fill(REQUEST);
        let server = Server::start(request as usize, response as usize, no_delay)?;
        let mut connection = None;
        trial.repeat(|operations, report| {
            let connection: &OwnedFd = match &connection {
                Some(connection) => connection,
                None => {
                    let (fresh, stopwatch) = connect(server.address, no_delay)?;
                    report.throughput("connect", 1, &stopwatch);
                    connection.insert(fresh)
                }
            };
            let mut laps = Laps::new();
            let right = rounds(operations, connection.as_fd(), &outgoing, &mut incoming, &mut laps)
                .map_err(|e| broken("a round trip", e))?;
            prove("responses that are the peer's", right, operations)?;
            report.latency("round", operations * (request + response), laps);
            Ok(())
        })?;
        drop(connection);
        prove("exit code of the peer", server.child.wait().unwrap_or(-1) as u64, 0)
    },
};

/// Beyond this the socket buffers fill and both ends wait for each other.
const LARGEST_MESSAGE: u64 = 1 << 16;
/// What requests and responses are full of; different, so that an echo is not taken for a response.
const REQUEST: u8 = b'q';
const RESPONSE: u8 = b'r';

/// The other end, in a process of its own.
struct Server {
    address: SocketAddr,
    child: Child,
}

impl Server {
    fn start(request: usize, response: usize, no_delay: bool) -> Result<Server, Failure> {
        let what = "listening on 127.0.0.1";
        let socket = socket()?;
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        net::bind(&socket, &any_port).map_err(|e| broken(what, e))?;
        net::listen(&socket, 1).map_err(|e| broken(what, e))?;
        let address = net::getsockname(&socket).map_err(|e| broken(what, e))?;
        let address = SocketAddr::try_from(address).map_err(|e| broken(what, e))?;
        let mut incoming = Buffer::zeroed(request)?;
        let mut outgoing = Buffer::zeroed(response)?;
        outgoing.fill(RESPONSE);
        let child = Child::fork(
            &[],
            AssertUnwindSafe(move || {
                let Ok(connection) = net::accept(&socket) else { return 2 };
                if no_delay && sockopt::set_tcp_nodelay(&connection, true).is_err() {
                    return 3;
                }
                serve(connection.as_fd(), &mut incoming, &outgoing)
            }),
        )?;
        Ok(Server { address, child })
    }
}

fn socket() -> Result<OwnedFd, Failure> {
    net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| broken("a TCP socket", e))
}

/// Connects, timed; the socket is made before the clock runs.
fn connect(address: SocketAddr, no_delay: bool) -> Result<(OwnedFd, Stopwatch), Failure> {
    let socket = socket()?;
    if no_delay {
        sockopt::set_tcp_nodelay(&socket, true).map_err(|e| broken("TCP_NODELAY", e))?;
    }
    let mut stopwatch = Stopwatch::default();
    stopwatch.start();
    let connected = net::connect(&socket, &address);
    stopwatch.stop();
    connected.map_err(|e| broken("connecting to 127.0.0.1", e))?;
    Ok((socket, stopwatch))
}

crate::timed! {
    /// So many round trips; how many responses began with what only the peer sends.
    fn rounds(
        operations: u64,
        connection: BorrowedFd<'_>,
        outgoing: &[u8],
        incoming: &mut [u8],
        laps: &mut Laps,
    ) -> Result<u64, Errno> {
        let mut right = 0;
        for _ in 0..operations {
            incoming[0] = 0;
            let started_ns = now_ns();
            if send(connection, outgoing)? != outgoing.len() {
                return Err(Errno::MSGSIZE);
            }
            let mut filled = 0;
            while filled < incoming.len() {
                match recv(connection, &mut incoming[filled..])? {
                    0 => return Err(Errno::PIPE),
                    more => filled += more,
                }
            }
            laps.add(started_ns, now_ns());
            right += u64::from(incoming[0] == RESPONSE);
        }
        Ok(right)
    }
}

crate::timed! {
    /// Answers whole requests until the connection is closed. Gives the process's exit code.
    fn serve(connection: BorrowedFd<'_>, incoming: &mut [u8], outgoing: &[u8]) -> i32 {
        loop {
            let mut filled = 0;
            while filled < incoming.len() {
                match recv(connection, &mut incoming[filled..]) {
                    Ok(0) => return if filled == 0 { 0 } else { 4 },
                    Ok(more) => filled += more,
                    Err(_) => return 5,
                }
            }
            if incoming[0] != REQUEST {
                return 6;
            }
            if send(connection, outgoing) != Ok(outgoing.len()) {
                return 7;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn messages_of_any_size_come_whole() {
        for (out, back) in [("1", "64KiB"), ("64KiB", "1"), ("3000", "5000")] {
            run(&request(&PROBE, &[("request", out), ("response", back), ("nodelay", "yes")])).unwrap();
        }
    }

    #[test]
    fn an_unknown_peer_is_a_gap() {
        let mut request = request(&PROBE, &[]);
        request.peer = Some(Peer::Netperf { address: "127.0.0.1:1".into() });
        assert_eq!(run(&request).unwrap_err().kind, FailureKind::NotSupported);
    }
}

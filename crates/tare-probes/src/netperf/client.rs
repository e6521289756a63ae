//! Driving a stock netserver 2.7: the control connection, requests for tests, and its counts.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use tare_data::failure::{Failure, FailureKind};

use super::FILL;
use super::codec::{
    self, BOTH, CONNECT_TEST, DATAGRAM, IPV4, IPV6, NO_DELAY, OMNI_RESPONSE, OmniRequest, OmniResponse,
    OmniResults, RECEIVE, ROUTING_ALLOWED, STREAM, TCP, TRANSMIT, Text, UDP,
};
use super::control::{read_message, write_message};
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::{broken_failure, prove_count};
use crate::net::flow::{Direction, Flow, Rounds, Transfer, Transport};
use crate::net::reaching::{Listener, connect_to_listener};
use crate::net::sockets;
use crate::net::udp_peer::UdpPeer;

/// Maximum duration of a requested test.
const LONGEST_TEST: Duration = Duration::from_secs(300);
/// Time limit for an answer. A netserver answers at once, other programs stay silent.
const ANSWERS: Duration = Duration::from_secs(10);
/// Time limit for results, which arrive when data has ended. A stock netserver may wait forever for a lost
/// end of a test.
const RESULTS: Duration = Duration::from_secs(15);
/// Number of empty datagrams at the end of a UDP test, one of which has to arrive.
const FAREWELLS: u32 = 3;
/// Byte that netserver's responses begin with.
pub(crate) const RESPONSE: u8 = FILL[0];

/// A netserver that acts as the far end of a flow.
#[derive(Debug)]
pub struct Driven {
    control: TcpStream,
    flow: Flow,
    longest: Duration,
    /// Time from the last request to its answer.
    exchange: Stopwatch,
}

impl Driven {
    /// Connects to `HOST:PORT`. A test without a count lasts at most `longest`.
    pub fn open(address: &str, flow: &Flow, longest: Duration) -> Result<Driven, Failure> {
        let (control, _) = connect_to_listener(address, Listener::Netserver)?;
        let longest = longest.clamp(Duration::from_secs(1), LONGEST_TEST);
        Ok(Driven { control, flow: flow.clone(), longest, exchange: Stopwatch::default() })
    }

    /// Requests a test: of `count` transactions or bytes, or for as long as the trial may take.
    pub(crate) fn begin_test(&mut self, count: Option<u64>) -> Result<SocketAddr, Failure> {
        let here = self.control.peer_addr().map_err(|e| broken_failure("the control connection", e))?.ip();
        let request = self.request(here, count)?;
        self.exchange = Stopwatch::default();
        self.exchange.start();
        let answer = write_message(&mut self.control, &request.encode())
            .and_then(|()| read_message(&mut self.control, ANSWERS));
        self.exchange.stop();
        let answer = answer.map_err(|e| not_netserver(&no_answer(&e)))?;
        if codec::read_message_kind(&answer) != OMNI_RESPONSE {
            return Err(not_netserver(&format!(
                "it answered with a message of kind {}",
                codec::read_message_kind(&answer)
            )));
        }
        let response = OmniResponse::decode(&answer);
        if response.errno != 0 {
            return Err(refused(response.errno));
        }
        let rounds = !matches!(self.flow, Flow::Transfer(_));
        if rounds
            && (response.receive_size, response.send_size) != (request.request_size, request.response_size)
        {
            return Err(not_netserver("it repeats other sizes than were requested"));
        }
        match u16::try_from(response.data_port) {
            Ok(port) if port > 0 => Ok(SocketAddr::new(here, port)),
            _ => Err(not_netserver(&format!("it names the port {}", response.data_port))),
        }
    }

    fn request(&self, here: IpAddr, count: Option<u64>) -> Result<OmniRequest, Failure> {
        let too_much =
            || broken_failure("a batch", "netperf's protocol counts no further than to 2147483648");
        let test_length = match count {
            Some(count) => i32::try_from(count).map_err(|_| too_much()).map(|count| -count)?,
            // The client ends the test; this is when netserver gives it up.
            None => self.longest.as_secs() as i32,
        };
        let mut request = OmniRequest {
            affinity: -1,
            send_buffer: -1,
            send_size: -1,
            send_alignment: 8,
            request_size: -1,
            receive_buffer: -1,
            receive_size: -1,
            receive_alignment: 8,
            response_size: -1,
            flags: ROUTING_ALLOWED,
            test_length,
            send_dirty: -1,
            receive_dirty: -1,
            receive_clean: -1,
            family: if here.is_ipv4() { IPV4 } else { IPV6 },
            socket_type: STREAM,
            protocol: TCP,
            direction: BOTH,
            socket_priority: -1,
            type_of_service: -1,
            ..Default::default()
        };
        match &self.flow {
            Flow::Rounds(Rounds { transport, request: to, response: back, no_delay }) => {
                rounds(&mut request, *to, *back);
                if *transport == Transport::Udp {
                    (request.socket_type, request.protocol) = (DATAGRAM, UDP);
                }
                request.flags |= if *no_delay { NO_DELAY } else { 0 };
            }
            Flow::Connections { request: to, response: back } => {
                rounds(&mut request, *to, *back);
                request.flags |= CONNECT_TEST;
            }
            Flow::Transfer(Transfer { direction: Direction::Send, .. }) => request.direction = RECEIVE,
            Flow::Transfer(Transfer { direction: Direction::Receive, size, congestion }) => {
                request.direction = TRANSMIT;
                request.send_size = *size as i32;
                request.send_width = 1;
                request.congestion_control = Text::new(congestion.as_deref().unwrap_or_default());
            }
            Flow::Hops => {
                let reason = "hops are not visible: a netserver reports no times of its own";
                return Err(Failure::new(FailureKind::NotSupported, reason));
            }
        }
        Ok(request)
    }

    /// Returns the time of the last request and its answer: the greeting of a test over UDP.
    pub(crate) fn exchange_time(&self) -> Stopwatch {
        self.exchange
    }

    /// Ends a UDP test at the far end, from the address that it knows.
    pub(crate) fn send_farewells(&self, line: &UdpPeer<OwnedFd>) {
        for _ in 0..FAREWELLS {
            // Several are sent because one may be lost or refused.
            let _ = line.send(&[]);
        }
    }

    /// Reads netserver's count of transactions, or of bytes in a stream, once data has ended.
    pub(crate) fn read_count(&mut self) -> Result<u64, Failure> {
        let results = self.results()?;
        Ok(match &self.flow {
            Flow::Transfer(Transfer { direction: Direction::Send, .. }) => results.bytes_received,
            Flow::Transfer(Transfer { direction: Direction::Receive, .. }) => results.bytes_sent,
            _ => u64::try_from(results.transactions).unwrap_or(0),
        })
    }

    /// Reads netserver's report, once data has ended.
    fn results(&mut self) -> Result<OmniResults, Failure> {
        let message = read_message(&mut self.control, RESULTS)
            .map_err(|e| broken_failure("netserver's results", no_answer(&e)))?;
        let results = OmniResults::decode(&message);
        if results.errno != 0 {
            return Err(refused(results.errno));
        }
        Ok(results)
    }
}

/// Makes a netserver answer one request over TCP, and returns the address of its data, so that obstacles show
/// before a session begins.
pub fn try_out(address: &str) -> Result<SocketAddr, Failure> {
    let flow = Flow::Rounds(Rounds { transport: Transport::Tcp, request: 1, response: 1, no_delay: false });
    let mut driven = Driven::open(address, &flow, ANSWERS)?;
    let data = driven.begin_test(Some(1))?;
    let (socket, _) = sockets::connect_stream(data, false)?;
    let mut response = [0];
    let answered = net::send(&socket, &FILL[..1], SendFlags::NOSIGNAL)
        .and_then(|_| net::recv(&socket, &mut response, RecvFlags::empty()));
    let (bytes, _) = answered.map_err(|e| sockets::stream_failure("a request", e))?;
    prove_count("bytes of a response", bytes as u64, 1)?;
    drop(socket);
    prove_count("netserver's count", driven.read_count()?, 1)?;
    Ok(data)
}

fn rounds(request: &mut OmniRequest, to: u32, back: u32) {
    (request.request_size, request.response_size) = (to as i32, back as i32);
    (request.send_width, request.receive_width) = (1, 1);
}

fn not_netserver(what: &str) -> Failure {
    let reason = format!("not netserver 2.7, the only version whose protocol is known: {what}");
    Failure::new(FailureKind::NotSupported, reason)
}

fn refused(errno: i32) -> Failure {
    let reason = format!("netserver refuses the test: {}", Errno::from_raw_os_error(errno.clamp(1, 4095)));
    Failure::new(FailureKind::NotSupported, reason)
}

fn no_answer(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => "it does not answer".into(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => "it closed the connection".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Opens a test with a program that gives this answer, and returns the resulting failure.
    fn taken_for(answer: Option<codec::Message>) -> Failure {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let other = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            read_message(&mut connection, ANSWERS).unwrap();
            if let Some(answer) = answer {
                write_message(&mut connection, &answer).unwrap();
            }
        });
        let flow = Flow::Connections { request: 1, response: 1 };
        let begun = Driven::open(&address, &flow, Duration::from_secs(1)).unwrap().begin_test(Some(1));
        other.join().unwrap();
        begun.unwrap_err()
    }

    #[test]
    fn what_is_not_netserver_2_7_is_reported_so() {
        let sizes = OmniResponse { data_port: 7, ..Default::default() };
        let port = OmniResponse { receive_size: 1, send_size: 1, data_port: 0, ..Default::default() };
        for (answer, expected) in [
            (None, "closed the connection"),
            (Some([b'H'; codec::MESSAGE_BYTES]), "message of kind"),
            (Some(sizes.encode()), "other sizes"),
            (Some(port.encode()), "names the port 0"),
        ] {
            let failure = taken_for(answer);
            assert_eq!(failure.kind, FailureKind::NotSupported);
            assert!(
                failure.reason.contains("netserver 2.7") && failure.reason.contains(expected),
                "{failure}"
            );
        }
        let busy = OmniResponse { errno: Errno::BUSY.raw_os_error(), ..Default::default() };
        assert!(taken_for(Some(busy.encode())).reason.contains("refuses"));
    }
}

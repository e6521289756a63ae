//! Which requests of a netperf are carried out: five tests, within bounds, and nothing that names a third party.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rustix::io::Errno;

use super::codec::{
    BOTH, CONNECT_TEST, DATAGRAM, IPV4, IPV6, NO_DELAY, OmniRequest, RECEIVE, ROUTING_ALLOWED, STREAM, TCP,
    TRANSMIT, UDP,
};
use crate::net::flow::{LARGEST_DATAGRAM, LARGEST_MESSAGE};

/// Longest test: netperf's own default is 10 s, and its manual's examples stay below some minutes.
pub const LONGEST_TEST: Duration = Duration::from_secs(300);
/// Largest write or read of a stream: beyond this nothing gets faster, and it is memory at a stranger's word.
pub const LARGEST_TRANSFER: u64 = 1 << 22;
/// Largest socket buffer that is requested of the kernel, which has a limit of its own.
pub(crate) const LARGEST_SOCKET_BUFFER: i32 = 1 << 23;
/// Ports below are for the system's own services.
const FIRST_FREE_PORT: i32 = 1024;
/// A client whose time is up ends the test; a server waits this much longer for that.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// A test that is carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    pub test: Test,
    pub no_delay: bool,
    /// Port that the server is to take; 0 for any.
    pub port: u16,
    pub send_buffer: Option<u32>,
    pub receive_buffer: Option<u32>,
    pub processor: Option<usize>,
    pub length: Length,
}

/// What the server does. Sizes are bytes; none is the socket's own buffer size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// TCP_RR
    StreamRounds { request: usize, response: usize },
    /// TCP_CRR
    ConnectionRounds { request: usize, response: usize },
    /// UDP_RR
    DatagramRounds { request: usize, response: usize },
    /// TCP_STREAM
    Receive { size: Option<usize> },
    /// TCP_MAERTS
    Send { size: Option<usize> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Time(Duration),
    /// A number of transactions, or of bytes of a stream.
    Count(u64),
}

impl Length {
    /// After this the server ends the test, whatever the client does.
    pub fn deadline(self, longest: Duration) -> Duration {
        match self {
            Length::Time(time) => time.min(longest) + GRACE,
            Length::Count(_) => longest + GRACE,
        }
    }
}

/// The test that a request describes, if it is admitted: else the errno that netperf shows its user.
///
/// `here` is this end of the control connection, the one address at which data is taken. Nothing is sent anywhere
/// but to the other end's: the address that a request names for it is not read at all.
pub fn admit(request: &OmniRequest, here: IpAddr, longest: Duration) -> Result<Admitted, Errno> {
    if !request.fill_file.is_empty() {
        // A file of the server's would be read to the client.
        return Err(Errno::ACCESS);
    }
    let family = if here.is_ipv4() { IPV4 } else { IPV6 };
    if request.family != family || !is_here(&request.server_address, here) {
        return Err(Errno::ADDRNOTAVAIL);
    }
    if request.flags & !(NO_DELAY | CONNECT_TEST | ROUTING_ALLOWED) != 0
        || !request.congestion_control.is_empty()
        || request.interval_burst > 0 && request.direction == TRANSMIT
        || request.socket_priority > 0
        || request.type_of_service > 0
    {
        return Err(Errno::OPNOTSUPP);
    }
    Ok(Admitted {
        test: test(request)?,
        no_delay: request.flags & NO_DELAY != 0,
        port: port(request.data_port)?,
        send_buffer: buffer(request.send_buffer)?,
        receive_buffer: buffer(request.receive_buffer)?,
        processor: usize::try_from(request.affinity).ok(),
        length: length(request.test_length, longest)?,
    })
}

fn test(request: &OmniRequest) -> Result<Test, Errno> {
    let connecting = request.flags & CONNECT_TEST != 0;
    match (request.socket_type, request.protocol, request.direction, connecting) {
        (STREAM, TCP, BOTH, connecting) => {
            let (request, response) = sizes(request, LARGEST_MESSAGE)?;
            Ok(match connecting {
                true => Test::ConnectionRounds { request, response },
                false => Test::StreamRounds { request, response },
            })
        }
        (DATAGRAM, UDP, BOTH, false) => {
            let (request, response) = sizes(request, LARGEST_DATAGRAM)?;
            Ok(Test::DatagramRounds { request, response })
        }
        (STREAM, TCP, RECEIVE, false) => Ok(Test::Receive { size: size(request.receive_size)? }),
        (STREAM, TCP, TRANSMIT, false) => Ok(Test::Send { size: size(request.send_size)? }),
        _ => Err(Errno::OPNOTSUPP),
    }
}

fn sizes(request: &OmniRequest, largest: u64) -> Result<(usize, usize), Errno> {
    let one = |bytes: i32| match u64::try_from(bytes) {
        Ok(bytes) if (1..=largest).contains(&bytes) => Ok(bytes as usize),
        _ => Err(Errno::MSGSIZE),
    };
    Ok((one(request.request_size)?, one(request.response_size)?))
}

/// Bytes of a write or read; none where the default is meant.
fn size(bytes: i32) -> Result<Option<usize>, Errno> {
    match u64::try_from(bytes) {
        Err(_) | Ok(0) => Ok(None),
        Ok(bytes) if bytes <= LARGEST_TRANSFER => Ok(Some(bytes as usize)),
        Ok(_) => Err(Errno::MSGSIZE),
    }
}

fn buffer(bytes: i32) -> Result<Option<u32>, Errno> {
    match bytes {
        ..=0 => Ok(None),
        1..=LARGEST_SOCKET_BUFFER => Ok(Some(bytes as u32)),
        _ => Err(Errno::NOBUFS),
    }
}

fn port(port: i32) -> Result<u16, Errno> {
    match u16::try_from(port) {
        Ok(number) if port == 0 || port >= FIRST_FREE_PORT => Ok(number),
        Ok(_) => Err(Errno::ACCESS),
        Err(_) => Err(Errno::INVAL),
    }
}

fn length(length: i32, longest: Duration) -> Result<Length, Errno> {
    let count = u64::from(length.unsigned_abs());
    if length < 0 {
        return Ok(Length::Count(count));
    }
    let time = Duration::from_secs(count);
    if time <= longest { Ok(Length::Time(time)) } else { Err(Errno::INVAL) }
}

/// Whether four words name this address, or none. netperf swaps the words of IPv6 on some machines, so that both
/// orders are taken.
fn is_here(words: &[i32; 4], here: IpAddr) -> bool {
    let bytes = |swapped: bool| {
        let mut bytes = [0; 16];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&if swapped { word.to_le_bytes() } else { word.to_be_bytes() });
        }
        bytes
    };
    let named = |bytes: [u8; 16]| match here {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(bytes)),
    };
    *words == [0; 4] || named(bytes(false)) == here || named(bytes(true)) == here
}

#[cfg(test)]
mod tests {
    use super::super::codec::Text;
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// What `netperf -t TCP_RR -l 1` requests.
    fn stock() -> OmniRequest {
        OmniRequest {
            affinity: -1,
            send_buffer: -1,
            send_size: -1,
            request_size: 1,
            receive_buffer: -1,
            receive_size: -1,
            response_size: 1,
            flags: ROUTING_ALLOWED,
            test_length: 1,
            family: IPV4,
            socket_type: STREAM,
            protocol: TCP,
            direction: BOTH,
            socket_priority: -1,
            type_of_service: -1,
            ..Default::default()
        }
    }

    fn refused(change: impl Fn(&mut OmniRequest)) -> Option<Errno> {
        let mut request = stock();
        change(&mut request);
        admit(&request, HERE, LONGEST_TEST).err()
    }

    #[test]
    fn five_tests_are_known() {
        let admitted = admit(&stock(), HERE, LONGEST_TEST).unwrap();
        assert_eq!(admitted.test, Test::StreamRounds { request: 1, response: 1 });
        assert_eq!(admitted.length, Length::Time(Duration::from_secs(1)));
        let test = |flags, socket_type, protocol, direction| {
            let request = OmniRequest { flags, socket_type, protocol, direction, ..stock() };
            admit(&request, HERE, LONGEST_TEST).map(|admitted| admitted.test)
        };
        let rounds = |test: Result<Test, Errno>| matches!(test, Ok(Test::ConnectionRounds { .. }));
        assert!(rounds(test(CONNECT_TEST, STREAM, TCP, BOTH)));
        assert_eq!(test(0, DATAGRAM, UDP, BOTH), Ok(Test::DatagramRounds { request: 1, response: 1 }));
        assert_eq!(test(0, STREAM, TCP, RECEIVE), Ok(Test::Receive { size: None }));
        assert_eq!(test(0, STREAM, TCP, TRANSMIT), Ok(Test::Send { size: None }));
        assert_eq!(test(0, DATAGRAM, UDP, TRANSMIT), Err(Errno::OPNOTSUPP), "a flood");
        assert_eq!(test(0, STREAM, 132, BOTH), Err(Errno::OPNOTSUPP), "SCTP");
    }

    #[test]
    fn a_third_address_is_refused_and_the_own_one_taken_in_both_orders() {
        assert_eq!(refused(|r| r.server_address[0] = 0x0A00_0001), Some(Errno::ADDRNOTAVAIL));
        assert_eq!(refused(|r| r.family = IPV6), Some(Errno::ADDRNOTAVAIL));
        assert_eq!(refused(|r| r.server_address[0] = 0x7F00_0001), None);
        assert_eq!(refused(|r| r.server_address[0] = 0x0100_007F), None);
        assert_eq!(refused(|r| r.client_address = [1, 2, 3, 4]), None, "not read");
    }

    #[test]
    fn files_sizes_times_and_ports_out_of_bounds_are_refused() {
        assert_eq!(refused(|r| r.fill_file = Text::new("/etc/passwd")), Some(Errno::ACCESS));
        assert_eq!(refused(|r| r.request_size = 1 << 30), Some(Errno::MSGSIZE));
        assert_eq!(refused(|r| r.response_size = -1), Some(Errno::MSGSIZE));
        assert_eq!(refused(|r| r.send_buffer = i32::MAX), Some(Errno::NOBUFS));
        assert_eq!(refused(|r| r.data_port = 22), Some(Errno::ACCESS));
        assert_eq!(refused(|r| r.data_port = 70_000), Some(Errno::INVAL));
        assert_eq!(refused(|r| r.test_length = i32::MAX), Some(Errno::INVAL));
        assert_eq!(refused(|r| r.test_length = i32::MIN), None, "a count, and ended by the clock");
        assert_eq!(refused(|r| r.flags |= 8), Some(Errno::OPNOTSUPP), "its use of the processor");
        assert_eq!(refused(|r| r.congestion_control = Text::new("reno")), Some(Errno::OPNOTSUPP));
        let huge = |r: &mut OmniRequest| (r.direction, r.receive_size) = (RECEIVE, i32::MAX);
        assert_eq!(refused(huge), Some(Errno::MSGSIZE));
    }
}

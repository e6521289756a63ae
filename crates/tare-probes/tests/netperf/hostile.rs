//! Clients that mean no good: whatever they ask for, nobody else gets a byte, and the server goes on.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use tare_probes::netperf::codec::{
    BOTH, DATAGRAM, IPV4, MESSAGE_BYTES, OmniRequest, OmniResponse, OmniResults, RECEIVE, ROUTING_ALLOWED,
    STREAM, TCP, TRANSMIT, Text, UDP,
};
use tare_probes::netperf::server::Limits;

use crate::stand::{Served, V4, ask, next};

fn udp_rounds() -> OmniRequest {
    OmniRequest {
        affinity: -1,
        send_buffer: -1,
        receive_buffer: -1,
        request_size: 1,
        response_size: 1,
        flags: ROUTING_ALLOWED,
        test_length: -3,
        family: IPV4,
        socket_type: DATAGRAM,
        protocol: UDP,
        direction: BOTH,
        ..Default::default()
    }
}

fn tcp(direction: i32) -> OmniRequest {
    OmniRequest { socket_type: STREAM, protocol: TCP, direction, ..udp_rounds() }
}

/// The errno with which a request is answered.
fn errno(served: &Served, request: OmniRequest) -> i32 {
    OmniResponse::decode(&ask(&mut served.control(), &request.encode())).errno
}

/// Holds that the server still measures.
fn goes_on(served: &Served) {
    let mut control = served.control();
    let response = OmniResponse::decode(&ask(&mut control, &udp_rounds().encode()));
    assert_eq!(response.errno, 0);
    let data = SocketAddr::new(V4, u16::try_from(response.data_port).unwrap());
    let client = UdpSocket::bind((V4, 0)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for _ in 0..3 {
        client.send_to(b"?", data).unwrap();
        assert_eq!(client.recv_from(&mut [0; 2]).unwrap(), (1, data));
    }
    let results = OmniResults::decode(&next(&mut control));
    assert_eq!((results.transactions, results.bytes_received, results.bytes_sent), (3, 3, 3));
}

#[test]
fn what_reaches_beyond_the_client_is_refused() {
    let served = Served::at(V4);
    let elsewhere = i32::from_be_bytes(Ipv4Addr::new(127, 0, 0, 2).octets());
    let server_address = [elsewhere, 0, 0, 0];
    assert_ne!(errno(&served, OmniRequest { server_address, ..udp_rounds() }), 0);
    assert_ne!(errno(&served, OmniRequest { fill_file: Text::new("/etc/passwd"), ..tcp(TRANSMIT) }), 0);
    // A flood of datagrams to whomever the client names.
    let flood = OmniRequest { client_address: server_address, direction: TRANSMIT, ..udp_rounds() };
    assert_ne!(errno(&served, flood), 0);
    goes_on(&served);
}

#[test]
fn huge_sizes_and_times_are_refused() {
    let served = Served::at(V4);
    for request in [
        OmniRequest { request_size: i32::MAX, ..udp_rounds() },
        OmniRequest { response_size: i32::MAX, ..tcp(BOTH) },
        OmniRequest { receive_size: i32::MAX, ..tcp(RECEIVE) },
        OmniRequest { send_size: i32::MAX, ..tcp(TRANSMIT) },
        OmniRequest { send_buffer: i32::MAX, ..tcp(TRANSMIT) },
        OmniRequest { test_length: i32::MAX, ..tcp(BOTH) },
        OmniRequest { data_port: 80, ..tcp(BOTH) },
        OmniRequest { affinity: i32::MAX, ..tcp(BOTH) },
    ] {
        assert_ne!(errno(&served, request.clone()), 0, "{request:?}");
    }
    goes_on(&served);
}

#[test]
fn garbage_ends_its_own_connection_only() {
    let served = Served::at(V4);
    for byte in [0u8, 0x61, 0xff] {
        let mut control = served.control();
        control.write_all(&[byte; MESSAGE_BYTES]).unwrap();
        assert_eq!(control.read(&mut [0; 1]).unwrap_or(0), 0, "closed without a word");
    }
    // Half a message, and then nothing.
    let mut half = served.control();
    half.write_all(&[0; 100]).unwrap();
    drop(half);
    goes_on(&served);
}

#[test]
fn datagrams_of_others_are_not_answered_and_not_counted() {
    let served = Served::at(V4);
    let mut control = served.control();
    let response = OmniResponse::decode(&ask(&mut control, &udp_rounds().encode()));
    let data = SocketAddr::new(V4, u16::try_from(response.data_port).unwrap());
    // Another address of this machine, which is not that of the control connection.
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    stranger.send_to(b"?", data).unwrap();
    assert!(stranger.recv_from(&mut [0; 2]).is_err(), "a stranger was answered");
    let client = UdpSocket::bind((V4, 0)).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    client.send_to(b"?", data).unwrap();
    assert_eq!(client.recv_from(&mut [0; 2]).unwrap().0, 1);
    // Once the client has spoken, its port is fixed: nobody else can end the test either.
    stranger.send_to(b"", data).unwrap();
    for _ in 0..2 {
        client.send_to(b"?", data).unwrap();
        assert_eq!(client.recv_from(&mut [0; 2]).unwrap().0, 1);
    }
    assert_eq!(OmniResults::decode(&next(&mut control)).transactions, 3);
}

#[test]
fn a_second_test_at_the_same_time_is_told_that_the_server_is_busy() {
    let served = Served::at(V4);
    let mut first = served.control();
    let response = OmniResponse::decode(&ask(&mut first, &tcp(BOTH).encode()));
    assert_eq!(response.errno, 0);
    assert_eq!(errno(&served, udp_rounds()), rustix::io::Errno::BUSY.raw_os_error());
    let data = TcpStream::connect((V4, u16::try_from(response.data_port).unwrap())).unwrap();
    drop(data);
    assert_eq!(OmniResults::decode(&next(&mut first)).transactions, 0);
    goes_on(&served);
}

#[test]
fn connections_that_say_nothing_are_bounded_in_number_and_time() {
    let first_word = Duration::from_millis(300);
    let served = Served::with(V4, Limits { controls: 2, first_word, ..Limits::default() });
    let silent: Vec<TcpStream> = (0..5).map(|_| served.control()).collect();
    // Its turn comes when those before it have been sent away.
    goes_on(&served);
    for mut control in silent {
        assert_eq!(control.read(&mut [0; 1]).unwrap_or(0), 0, "sent away");
    }
}

#[test]
fn connections_that_say_nothing_keep_nobody_waiting() {
    // Longer than any test waits.
    let first_word = Duration::from_secs(300);
    let served = Served::with(V4, Limits { controls: 2, first_word, ..Limits::default() });
    let silent: Vec<TcpStream> = (0..300).map(|_| served.control()).collect();
    let trickling: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut control = served.control();
            control.write_all(&udp_rounds().encode()[..100]).unwrap();
            control
        })
        .collect();
    goes_on(&served);
    // The oldest made room.
    let mut first = &silent[0];
    assert_eq!(first.read(&mut [0; 1]).unwrap_or(0), 0, "sent away");
    drop(trickling);
}

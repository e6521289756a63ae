//! A stand-in for netserver on loopback: the tests that tare requests, with whole messages and no limit on
//! their requests.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use tare_probes::netperf::codec::{
    CONNECT_TEST, DATAGRAM, OmniRequest, OmniResponse, OmniResults, RECEIVE, TRANSMIT,
};
use tare_probes::netperf::control::{read_message, write_message};

const PATIENCE: Duration = Duration::from_secs(20);
const FILL: &[u8] = b"netperf\0";

/// Datagrams that are counted and not answered.
#[derive(Clone, Copy, PartialEq)]
pub enum Losing {
    None,
    EachThirdDatagram,
}

pub struct StandIn {
    pub address: SocketAddr,
}

impl StandIn {
    /// Listens until the process of the tests ends.
    pub fn start(here: IpAddr, losing: Losing) -> StandIn {
        let listener = TcpListener::bind((here, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut control in listener.incoming().map(Result::unwrap) {
                // A client that goes away ends its own connection alone.
                thread::spawn(move || while serve_test(&mut control, losing).is_ok() {});
            }
        });
        StandIn { address }
    }
}

/// Reads a request, answers it, serves its data and reports its counts.
fn serve_test(control: &mut TcpStream, losing: Losing) -> io::Result<()> {
    let request = OmniRequest::decode(&read_message(control, PATIENCE)?);
    let here = control.local_addr()?.ip();
    let mut results = OmniResults::default();
    if request.socket_type == DATAGRAM {
        let socket = UdpSocket::bind((here, 0))?;
        announce(control, &request, socket.local_addr()?.port())?;
        results.transactions = answer_datagrams(&socket, &request, losing)?;
    } else {
        let listener = TcpListener::bind((here, 0))?;
        announce(control, &request, listener.local_addr()?.port())?;
        serve_connections(&listener, &request, &mut results)?;
    }
    write_message(control, &results.encode())
}

fn announce(control: &mut TcpStream, request: &OmniRequest, port: u16) -> io::Result<()> {
    let response = OmniResponse {
        receive_size: request.request_size,
        send_size: request.response_size,
        data_port: port.into(),
        ..Default::default()
    };
    write_message(control, &response.encode())
}

/// Answers until an empty datagram ends the test.
fn answer_datagrams(socket: &UdpSocket, request: &OmniRequest, losing: Losing) -> io::Result<i32> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let (mut incoming, outgoing) = messages(request);
    let mut transactions = 0;
    loop {
        let (length, from) = socket.recv_from(&mut incoming)?;
        if length == 0 {
            return Ok(transactions);
        }
        transactions += 1;
        if losing == Losing::None || transactions % 3 != 0 {
            socket.send_to(&outgoing, from)?;
        }
    }
}

fn serve_connections(
    listener: &TcpListener,
    request: &OmniRequest,
    results: &mut OmniResults,
) -> io::Result<()> {
    // A length below zero is a count, of transactions or of bytes.
    let count = u64::from(request.test_length.unsigned_abs());
    if request.flags & CONNECT_TEST != 0 {
        for _ in 0..count {
            let (mut data, _) = listener.accept()?;
            results.transactions += answer_rounds(&mut data, request, 1)?;
        }
        return Ok(());
    }
    let (mut data, _) = listener.accept()?;
    match request.direction {
        RECEIVE => results.bytes_received = io::copy(&mut data, &mut io::sink())?,
        TRANSMIT => {
            let outgoing = vec![FILL[0]; request.send_size as usize];
            while results.bytes_sent < count {
                data.write_all(&outgoing)?;
                results.bytes_sent += outgoing.len() as u64;
            }
        }
        _ => results.transactions = answer_rounds(&mut data, request, u64::MAX)?,
    }
    Ok(())
}

/// Answers whole requests until the client closes, or `most` times.
fn answer_rounds(data: &mut TcpStream, request: &OmniRequest, most: u64) -> io::Result<i32> {
    let (mut incoming, outgoing) = messages(request);
    let mut transactions = 0;
    for _ in 0..most {
        match data.read_exact(&mut incoming) {
            Ok(()) => data.write_all(&outgoing)?,
            Err(_) => break,
        }
        transactions += 1;
    }
    Ok(transactions)
}

/// Allocates a buffer for a request, and a response.
fn messages(request: &OmniRequest) -> (Vec<u8>, Vec<u8>) {
    let response = FILL.iter().copied().cycle().take(request.response_size as usize).collect();
    (vec![0; request.request_size as usize], response)
}

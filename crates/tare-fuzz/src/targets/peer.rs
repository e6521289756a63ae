//! tare's peer, both ends: a stranger gets no byte, a client that knows the secret is held to the bounds of its flow,
//! and a client believes a hostile peer nothing that it cannot use.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;
use tare_probes::net::flow::Flow;
use tare_probes::net::flow::{Direction, Rounds, Transfer, Transport};
use tare_probes::peer::Secret;
use tare_probes::peer::client::PeerSession;
use tare_probes::peer::connection::{Connection, Event, LEAST_PORT, LONGEST_FLOW, Wanted};
use tare_probes::peer::message::{Answer, Ask, PROTOCOL};
use tare_probes::peer::noise::{Channel, FIRST_FRAME, Opening, accept_handshake};

use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "peer",
    corpus,
    words: &[
        "\n",
        "\0\u{30}",
        "\"protocol\":1",
        "\"protocol\":2",
        "\"flow\":null",
        "\"connect_back\":22",
        "\"hops\"",
        "{\"ready\":",
        "{\"queued\":{\"before\":1}}",
        "{\"done\":{\"code\":0}}",
        "\"deadline_ms\":18446744073709551615",
        "4294967295",
        "\"token\":\"",
    ],
    run,
};

/// The side that speaks, by the first byte of an input; the rest are its bytes.
const STRANGER: u8 = b's';
/// A client with the secret: a message a line, sealed.
const CLIENT: u8 = b'c';
/// A client with the secret, whose frames are changed on the way.
const CHANGED: u8 = b'x';
/// A peer with the secret: an answer a line, sealed.
const PEER: u8 = b'p';

fn secret() -> Secret {
    Secret::parse(&"17".repeat(32)).expect("64 hex digits")
}

fn corpus() -> Vec<Vec<u8>> {
    let (_, first) = Opening::new(&secret()).expect("a handshake begins");
    let rounds = |transport| Flow::Rounds(Rounds { transport, request: 100, response: 20, no_delay: true });
    let transfer = Transfer { direction: Direction::Send, size: 1 << 17, congestion: Some("cubic".into()) };
    let flows = [
        None,
        Some(rounds(Transport::Tcp)),
        Some(rounds(Transport::Udp)),
        Some(Flow::Connections { request: 1, response: 1 }),
        Some(Flow::Transfer(transfer)),
        Some(Flow::Hops),
    ];
    let ask = |flow| {
        let version = "0.1.0".to_owned();
        Ask {
            protocol: PROTOCOL,
            version,
            flow,
            connect_back: Some(20_000),
            leaves: false,
            deadline_ms: 10_000,
        }
    };
    let asks = flows.map(|flow| said(CLIENT, serde_json::to_vec(&ask(flow))));
    let answers = [
        Answer::Queued { before: 3 },
        Answer::Ready { port: 4000, token: "0f".repeat(16) },
        Answer::Done { code: 0 },
        Answer::Here { version: "0.1.0".into(), sessions: 1 },
        Answer::Apart { protocol: 2, version: "0.2.0".into() },
        Answer::Refused { reason: "no".into() },
    ];
    let answers = answers.map(|answer| said(PEER, serde_json::to_vec(&answer)));
    let raw = [said(STRANGER, Ok(first)), said(CHANGED, Ok(vec![0, 20, 1, 2, 3]))];
    raw.into_iter().chain(asks).chain(answers).collect()
}

fn said(who: u8, what: serde_json::Result<Vec<u8>>) -> Vec<u8> {
    [vec![who], what.expect("a message is JSON")].concat()
}

fn run(input: &[u8]) -> Result<String, String> {
    let Some((who, what)) = input.split_first() else { return Ok("silence".into()) };
    let lines = || what.split(|byte| *byte == b'\n');
    match *who {
        CLIENT => client(|channel| lines().filter_map(|line| channel.seal_bytes(line)).flatten().collect()),
        CHANGED => client(|_| what.to_vec()),
        PEER => peer(lines()),
        _ => stranger(what),
    }
    .map_err(|e: io::Error| e.to_string())?
}

/// Opens both ends of a connection over loopback; closed at once, so that ten minutes of them leave no port
/// waiting.
fn pair() -> io::Result<(TcpStream, Connection)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, from) = listener.accept()?;
    sockopt::set_socket_linger(&near, Some(Duration::ZERO))?;
    near.set_nonblocking(true)?;
    Ok((near, Connection::new(far.into(), from)))
}

/// Asserts that the peer sent nothing.
fn silent(mut near: &TcpStream) -> Result<(), String> {
    match near.read(&mut [0; 1]) {
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
        other => Err(format!("a stranger was answered: {other:?}")),
    }
}

fn stranger(bytes: &[u8]) -> io::Result<Result<String, String>> {
    let (mut near, mut connection) = pair()?;
    near.write_all(bytes)?;
    near.shutdown(Shutdown::Write)?;
    let secret = secret();
    let event = loop {
        match connection.read_event(&secret) {
            Event::Nothing => {}
            event => break event,
        }
    };
    Ok(silent(&near).and_then(|()| match event {
        Event::Over => Ok("a stranger is sent away".into()),
        Event::Proved(..) if bytes.len() >= FIRST_FRAME => Ok("a stranger proves the secret".into()),
        _ => Err(format!("{} bytes of a stranger count as known", bytes.len())),
    }))
}

/// Runs a client that has proved the secret and then sends anything.
fn client(says: impl FnOnce(&mut Channel) -> Vec<u8>) -> io::Result<Result<String, String>> {
    let secret = secret();
    let (mut near, mut connection) = pair()?;
    let (opening, first) = Opening::new(&secret).map_err(io::Error::other)?;
    near.write_all(&first)?;
    let Event::Proved(_, proved) = connection.read_event(&secret) else {
        return Ok(Err("a right handshake is not taken".into()));
    };
    let (channel, answer) = *proved;
    connection.admit_stranger(channel, &answer)?;
    let mut body = [0; FIRST_FRAME];
    near.read_exact(&mut body)?;
    let Some(mut channel) = opening.into_channel(&body[2..]) else {
        return Ok(Err("the answer to a handshake is not taken".into()));
    };
    near.write_all(&says(&mut channel))?;
    near.shutdown(Shutdown::Write)?;
    let event = loop {
        match connection.read_event(&secret) {
            Event::Nothing => {}
            event => break event,
        }
    };
    Ok(match event {
        Event::Over => Ok("a client is sent away".into()),
        Event::Who { .. } => Ok("a client asks who is there".into()),
        Event::Flow(wanted) if is_within_bounds(&wanted) => {
            Ok(format!("a client gets {:?}", std::mem::discriminant(&wanted.flow)))
        }
        Event::Flow(wanted) => Err(format!("{wanted:?} is taken")),
        Event::Refuse(answer) => {
            // If the reason is too long for a frame, the connection ends without it.
            let sent = connection.send_answer(&answer).is_ok();
            Ok(format!("a client is refused {sent}: {}", without_numbers(&format!("{answer:?}"))))
        }
        Event::Nothing | Event::Proved(..) => Err("a known client proves itself again".into()),
    })
}

/// Runs a peer that knows the secret and answers anything; the client asks for a flow.
fn peer<'l>(lines: impl Iterator<Item = &'l [u8]>) -> io::Result<Result<String, String>> {
    let secret = secret();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address: SocketAddr = listener.local_addr()?;
    let selected = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut session = PeerSession::open(&address.to_string(), &secret)?;
            session.request_flow(&Flow::Hops, Duration::from_secs(1))
        });
        let (mut stream, _) = listener.accept()?;
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
        let mut first = [0; FIRST_FRAME];
        stream.read_exact(&mut first)?;
        let (mut channel, answer) =
            accept_handshake(&secret, &first[2..]).ok_or_else(|| io::Error::other("no handshake"))?;
        stream.write_all(&answer)?;
        // Closed with bytes of the client unread, this end would take back its own answers.
        let mut question = [0; 2];
        stream.read_exact(&mut question)?;
        stream.read_exact(&mut vec![0; usize::from(u16::from_be_bytes(question))])?;
        let answers: Vec<u8> = lines.filter_map(|line| channel.seal_bytes(line)).flatten().collect();
        // The client may have heard enough before all of it is said.
        let _ = stream.write_all(&answers).and_then(|()| stream.shutdown(Shutdown::Write));
        Ok::<_, io::Error>(client.join())
    })?;
    Ok(match selected {
        Err(_) => Err("the client panicked".into()),
        Ok(Ok(ready)) if ready.address.ip() == address.ip() => Ok("a peer is ready".into()),
        Ok(Ok(ready)) => Err(format!("a peer sends its client to {}", ready.address)),
        Ok(Err(failure)) => Ok(format!("a peer gives up: {}", without_numbers(&failure.reason))),
    })
}

fn is_within_bounds(Wanted { flow, connect_back, deadline }: &Wanted) -> bool {
    flow.check_bounds().is_ok()
        && *deadline <= LONGEST_FLOW
        && connect_back.is_none_or(|port| port >= LEAST_PORT)
}

//! The far end of a flow on Windows: a process of its own, told the token on its input, telling its port on its output.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use super::{GIVEN_UP_AFTER, SILENCE, TOKEN_BYTES, Token, shown_back};
use crate::harness::affinity;
use crate::net::flow::{Direction, Flow, LARGEST_BATCH, REQUEST, RESPONSE, Rounds, Transfer, Transport};
use crate::net::ledger::write_answer;

/// Exit codes of one that was started wrongly, and of one whose sockets failed.
const CANNOT: i32 = 4;
const FAILED: i32 = 5;
/// Exit code of one that was sent what the near end does not send.
const STRANGE: i32 = 6;

/// Serves a flow to its end, and returns the exit code.
pub(crate) fn run_far_end(rest: &[OsString]) -> i32 {
    let flow = rest.first().and_then(|flow| serde_json::from_str::<Flow>(flow.to_str()?).ok());
    let Some(Ok(flow)) = flow.map(Flow::into_checked) else { return CANNOT };
    let cpu = rest.get(1).map(|cpu| cpu.to_str().and_then(|cpu| cpu.parse().ok()));
    match cpu {
        Some(None) => return CANNOT,
        Some(Some(cpu)) if affinity::pin_to_processor(cpu).is_err() => return CANNOT,
        _ => {}
    }
    serve(&flow).unwrap_or(FAILED)
}

fn serve(flow: &Flow) -> io::Result<i32> {
    let mut token = [0; TOKEN_BYTES];
    io::stdin().read_exact(&mut token)?;
    if let Flow::Rounds(Rounds { transport: Transport::Udp, request, response, .. }) = flow {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        tell(socket.local_addr()?.port())?;
        return answer_datagrams(&socket, &token, *request as usize, *response as usize);
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    tell(listener.local_addr()?.port())?;
    match flow {
        Flow::Rounds(Rounds { request, response, no_delay, .. }) => {
            let connection = admit(&listener, &token)?;
            connection.set_nodelay(*no_delay)?;
            answer_rounds(connection, *request as usize, *response as usize)
        }
        Flow::Connections { request, response } => {
            answer_connections(&listener, &token, *request as usize, *response as usize)
        }
        Flow::Transfer(Transfer { direction, size, .. }) => {
            transfer(admit(&listener, &token)?, *direction, *size as usize)
        }
        Flow::Hops => Ok(CANNOT),
    }
}

fn tell(port: u16) -> io::Result<()> {
    let mut output = io::stdout();
    output.write_all(&port.to_le_bytes())?;
    output.flush()
}

/// Accepts the first connection that shows the token. All others get no byte, and are closed.
fn admit(listener: &TcpListener, token: &Token) -> io::Result<TcpStream> {
    loop {
        let (mut connection, _) = listener.accept()?;
        connection.set_read_timeout(Some(GIVEN_UP_AFTER))?;
        let mut shown = [0; TOKEN_BYTES];
        if connection.read_exact(&mut shown).is_ok() && shown == *token {
            connection.set_read_timeout(None)?;
            connection.write_all(&shown_back(token))?;
            return Ok(connection);
        }
    }
}

/// Answers whole requests until the connection is closed.
fn answer_rounds(mut connection: TcpStream, request: usize, response: usize) -> io::Result<i32> {
    let (mut incoming, outgoing) = (vec![0; request], vec![RESPONSE; response]);
    loop {
        let mut filled = 0;
        while filled < request {
            match connection.read(&mut incoming[filled..])? {
                0 => return Ok(if filled == 0 { 0 } else { STRANGE }),
                more => filled += more,
            }
        }
        if incoming[0] != REQUEST {
            return Ok(STRANGE);
        }
        connection.write_all(&outgoing)?;
    }
}

/// Answers a request on each connection and closes it, for ever: who started this process ends it.
fn answer_connections(
    listener: &TcpListener,
    token: &Token,
    request: usize,
    response: usize,
) -> io::Result<i32> {
    let (mut incoming, outgoing) = (vec![0; request], vec![RESPONSE; response]);
    loop {
        let (mut connection, _) = listener.accept()?;
        connection.set_read_timeout(Some(SILENCE))?;
        if connection.read_exact(&mut incoming).is_err() {
            continue;
        }
        let shows_token = request >= TOKEN_BYTES;
        if if shows_token { incoming.starts_with(token) } else { incoming[0] == REQUEST } {
            // A connection that fails is the near end's to notice.
            let _ = connection.write_all(&outgoing);
        }
    }
}

/// Takes or sends the bytes of each batch until the connection is closed.
fn transfer(mut connection: TcpStream, direction: Direction, size: usize) -> io::Result<i32> {
    let mut buffer = vec![RESPONSE; size];
    let mut header = [0; 8];
    loop {
        // The near end closes between batches.
        if connection.read_exact(&mut header).is_err() {
            return Ok(0);
        }
        let bytes = u64::from_le_bytes(header);
        if bytes > LARGEST_BATCH {
            return Ok(STRANGE);
        }
        match direction {
            Direction::Send => {
                receive_bytes(&mut connection, bytes, &mut buffer)?;
                connection.write_all(&header)?;
            }
            Direction::Receive => send_bytes(&mut connection, bytes, &buffer)?,
        }
        push_held_bytes(&connection)?;
    }
}

/// Sends `bytes` bytes in writes of the buffer's size.
pub(super) fn send_bytes(connection: &mut TcpStream, bytes: u64, buffer: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let piece = &buffer[..buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        left -= connection.write(piece)? as u64;
    }
    Ok(())
}

/// Receives exactly `bytes` bytes into a buffer, over and over.
pub(super) fn receive_bytes(connection: &mut TcpStream, bytes: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match connection.read(&mut buffer[..room])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => left -= more as u64,
        }
    }
    Ok(())
}

/// Sends what Nagle's algorithm holds back: the end of a batch would wait for a delayed acknowledgement.
pub(super) fn push_held_bytes(connection: &TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_nodelay(false)
}

/// Waits for a datagram with the token, and then answers what comes from there, for ever: who started this process ends it.
fn answer_datagrams(socket: &UdpSocket, token: &Token, request: usize, response: usize) -> io::Result<i32> {
    // A byte more than a request, so that a longer datagram is distinguished from one of the right length.
    let mut incoming = vec![0; request.max(TOKEN_BYTES) + 1];
    let mut outgoing = vec![RESPONSE; response];
    let mut far = None;
    loop {
        let (length, from) = match socket.recv_from(&mut incoming) {
            Ok(came) => came,
            // An answer found nobody; or a datagram was longer than any of the near end's.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        if incoming[..length] == *token {
            far = Some(from);
            // A full queue counts as a lost datagram.
            let _ = socket.send_to(&shown_back(token), from);
        } else if far == Some(from) && length == request {
            write_answer(&incoming[..length], &mut outgoing);
            let _ = socket.send_to(&outgoing, from);
        }
    }
}

//! `tare report --serve`: shows the page of a record on loopback while a session writes it, and does nothing else.
//!
//! The one who may read is the one who has the address: it holds a random token. Nothing is taken in but the head
//! of a GET request, and every connection has bounds of bytes, of time and of number. It is a process of its own, so
//! that a session has no thread for it; all it does by itself is to read what was appended, twice a second.

mod live;
mod readers;
mod request;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tare_lab::error::{ErrorKind, LabError};
use tare_report::html;
use tare_report::text::plain;

use self::live::Live;
use self::readers::{Number, Readers};
use self::request::{Refusal, Requested};
use crate::args::View;
use crate::show::again::again;
use crate::show::session;
use crate::{platform, signals, ui};

/// Pause between two looks at the record; a look at one that has not grown is two system calls.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A reader who takes nothing for this long is dropped.
const WRITE_DEADLINE: Duration = Duration::from_secs(5);
/// A whole page is taken in this time, or never: 1 MB over loopback takes milliseconds.
const PAGE_DEADLINE: Duration = Duration::from_secs(20);
/// A page is written in pieces of this many bytes, between which its deadline is looked at.
const PIECE: usize = 64 << 10;
/// What a refused peer still sends is taken for this long, and for this many pieces.
const HEAR_OUT: Duration = Duration::from_millis(500);
const MOST_HEARD: usize = 16;
/// A stream without news sends a comment this often, which shows whether anybody still reads.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// A stream ends after this long; a browser that still reads connects again by itself.
const STREAM_LASTS: Duration = Duration::from_secs(3600);

/// What every answer demands: keep nothing, guess nothing, embed nothing, send no referrer.
const HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
                       Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\nConnection: close\r\n";

/// What the threads share.
struct Server {
    live: Live,
    record: String,
    view: View,
    port: u16,
    token: String,
    readers: Readers,
}

/// Shows a record until Ctrl-C. Port 0 takes any that is free.
pub fn run(record: &Path, port: u16, view: View) -> anyhow::Result<ExitCode> {
    let live = Live::open(record).map_err(LabError::from)?;
    let listener = listen(port)?;
    let server = Arc::new(Server {
        live,
        record: record.display().to_string(),
        view,
        port: listener.local_addr()?.port(),
        token: fresh_token()?,
        readers: Readers::default(),
    });
    let ended = signals::watch()?;
    ui::print(format!("http://127.0.0.1:{}/{}/\n", server.port, server.token))?;
    anstream::eprintln!("note: shows {} as it grows; Ctrl-C ends", server.record);
    let mut looked = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        if let Some(stream) = platform::next_connection(&listener, LOOK_EVERY)? {
            admit(&server, stream);
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            server.live.catch_up().map_err(LabError::from)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listen(port: u16) -> Result<TcpListener, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)).map_err(|e| {
        LabError::new(ErrorKind::Environment, format!("cannot listen on 127.0.0.1:{port}"))
            .because(e)
            .hint("--serve alone takes a port that is free")
    })
}

/// 128 random bits.
fn fresh_token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    platform::randomise(&mut bytes)?;
    Ok(tare_data::encoding::hex(&bytes))
}

/// Answers a connection in a thread of its own, unless too many readers are there.
fn admit(server: &Arc<Server>, mut stream: TcpStream) {
    let is_ready =
        stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(WRITE_DEADLINE)));
    if is_ready.is_err() {
        return;
    }
    let number = match server.readers.admit(&stream) {
        Ok(Some(number)) => number,
        Ok(None) => return refuse(&mut stream, Refusal::Busy),
        Err(_) => return,
    };
    let theirs = Arc::clone(server);
    let started = std::thread::Builder::new().name("reader".into()).spawn(move || {
        answer(&theirs, &mut stream, number);
        theirs.readers.leaves(number);
    });
    if started.is_err() {
        server.readers.leaves(number);
    }
}

fn answer(server: &Server, stream: &mut TcpStream, number: Number) {
    let requested =
        request::read_head(stream).and_then(|head| request::requested(&head, server.port, &server.token));
    if requested.is_ok() {
        server.readers.knows(number);
    }
    match requested {
        // A reader who went away is not a failure.
        Ok(Requested::Page) => match page(server) {
            Ok(page) => drop(send(stream, "text/html; charset=utf-8", page.as_bytes())),
            Err(error) => {
                anstream::eprintln!("note: the page cannot be made: {}", plain(&error.to_string()));
                refuse(stream, Refusal::Broken);
            }
        },
        Ok(Requested::Events) => drop(stream_events(server, stream)),
        Err(refusal) => {
            refuse(stream, refusal);
            hear_out(stream);
        }
    }
}

/// Takes what a refused peer still sends, within bounds: closed over unread bytes, it would never read its answer.
fn hear_out(stream: &mut TcpStream) {
    let until = Instant::now() + HEAR_OUT;
    let is_ready = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(HEAR_OUT)));
    let mut part = [0; PIECE];
    for _ in 0..MOST_HEARD {
        if is_ready.is_err() || Instant::now() >= until || !matches!(stream.read(&mut part), Ok(1..)) {
            return;
        }
    }
}

fn refuse(stream: &mut TcpStream, refusal: Refusal) {
    let status = refusal.status();
    let allow = if refusal == Refusal::OtherMethod { "Allow: GET\r\n" } else { "" };
    let text = format!(
        "HTTP/1.1 {status}\r\n{HEADERS}{allow}Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{status}\n",
        status.len() + 1
    );
    // Whoever is refused may have gone already.
    drop(stream.write_all(text.as_bytes()));
}

fn page(server: &Server) -> Result<String, LabError> {
    let (session, goes_on) = server.live.session();
    let Some(mut session) = session else { return Ok(html::waiting(&server.record, ui::language())) };
    let findings = session::findings(&mut session, &server.view)?;
    let again = again(&session);
    let options = html::Options {
        record: Some(&server.record),
        again: Some(&again),
        live: goes_on,
        beside: None,
        language: ui::language(),
    };
    Ok(html::render(&session, &findings, &options))
}

fn send(stream: &mut TcpStream, kind: &str, body: &[u8]) -> io::Result<()> {
    let until = Instant::now() + PAGE_DEADLINE;
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\n{HEADERS}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    for piece in body.chunks(PIECE) {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.write_all(piece)?;
    }
    Ok(())
}

/// Sends how the session stands: at once, and whenever the record has grown, until it has ended.
fn stream_events(server: &Server, stream: &mut TcpStream) -> io::Result<()> {
    let until = Instant::now() + STREAM_LASTS;
    write!(stream, "HTTP/1.1 200 OK\r\n{HEADERS}Content-Type: text/event-stream\r\n\r\nretry: 2000\n\n")?;
    let mut seen = None;
    while Instant::now() < until {
        match server.live.wait(seen, SIGN_OF_LIFE) {
            None => stream.write_all(b": nothing new\n\n")?,
            Some((version, standing)) => {
                seen = Some(version);
                write!(stream, "event: standing\ndata: {}\n\n", standing.json())?;
                if standing.ending.is_some() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

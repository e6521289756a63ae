//! `tare report --serve`: what a browser, a script and a stranger get from it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::program::Program;

/// Longest wait of a test for an answer; it is far beyond what any takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a record, ended with the test.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(program: &Program, record: &str) -> Served {
        let mut command = program.command(&["report", "--serve", record]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let rest = address.trim_end().strip_prefix("http://127.0.0.1:").expect(&address);
        let (port, token) = rest.split_once('/').unwrap();
        let token = token.strip_suffix('/').unwrap().to_owned();
        assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{address}");
        Served { child, port: port.parse().unwrap(), token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The whole answer to a request; empty where the connection was just closed.
    fn answer(&self, method: &str, path: &str, host: &str) -> String {
        let mut stream = self.connect();
        let _ = write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nx=1&y");
        let mut answer = Vec::new();
        // Whoever is sent away may be cut off before the end.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn own_host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn page(&self) -> String {
        self.answer("GET", &format!("/{}/", self.token), &self.own_host())
    }

    /// The lines of the event stream.
    fn events(&self) -> impl Iterator<Item = String> + use<> {
        let mut stream = self.connect();
        let (token, host) = (&self.token, self.own_host());
        write!(stream, "GET /{token}/events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        BufReader::new(stream).lines().map_while(Result::ok)
    }
}

/// The lines of a whole record of three rounds.
fn recorded(program: &Program) -> Vec<String> {
    let said =
        program.run(&["run", "--only", "null", "--in", "native", "--rounds", "3", "--record", "whole.tare"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = fs::read_to_string(program.path("whole.tare")).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn status(answer: &str) -> &str {
    answer.lines().next().unwrap_or("")
}

#[test]
fn a_record_is_followed_from_before_its_plan_to_its_end() {
    let program = Program::new();
    let lines = recorded(&program);
    let plan = lines.iter().position(|line| line.contains("{\"plan\"")).unwrap();
    let growing = program.path("growing.tare");
    let grow = |lines: &[String]| {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(&growing).unwrap();
        file.write_all(lines.concat().as_bytes()).unwrap();
    };
    grow(&lines[..1]);
    let served = Served::start(&program, "growing.tare");
    let waiting = served.page();
    assert!(waiting.contains("connect-src 'self'"), "{}", status(&waiting));
    let mut standings = served.events().filter_map(|line| {
        line.strip_prefix("data: ").map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap())
    });
    assert_eq!(standings.next().unwrap()["planned"], false);
    grow(&lines[1..=plan]);
    assert_eq!(standings.next().unwrap()["planned"], true);
    // Half a line is not a line yet.
    let middle = plan + (lines.len() - plan) / 2;
    let (half, rest) = lines[middle].split_at(lines[middle].len() / 2);
    grow(&lines[plan + 1..middle]);
    grow(&[half.to_owned()]);
    let midway = standings.next().unwrap();
    assert!(midway["trials"].as_u64().unwrap() >= 1 && midway["ending"].is_null(), "{midway}");
    grow(&[rest.to_owned()]);
    grow(&lines[middle + 1..]);
    let last = standings.by_ref().find(|standing| !standing["ending"].is_null()).unwrap();
    assert_eq!(last["ending"], "complete");
    assert!(last["trials"].as_u64() > midway["trials"].as_u64());
    assert_eq!(standings.next(), None, "the stream ends with the session");
    assert!(!served.page().contains("connect-src"), "a session that has ended tells nothing more");
}

#[test]
fn strangers_learn_nothing() {
    let program = Program::new();
    recorded(&program);
    let served = Served::start(&program, "whole.tare");
    let own = served.own_host();
    let page = format!("/{}/", served.token);
    let refusals = [
        ("GET", "/".to_owned(), own.as_str(), "404 Not Found"),
        ("GET", format!("/{}/", "0".repeat(32)), &own, "404 Not Found"),
        ("GET", format!("/{}/other", served.token), &own, "404 Not Found"),
        ("POST", page.clone(), &own, "405 Method Not Allowed"),
        ("DELETE", page.clone(), &own, "405 Method Not Allowed"),
        ("GET", page.clone(), "tare.example:80", "403 Forbidden"),
        ("GET", page.clone(), "tare.example", "403 Forbidden"),
    ];
    for (method, path, host, wanted) in refusals {
        let answer = served.answer(method, &path, host);
        assert_eq!(status(&answer), format!("HTTP/1.1 {wanted}"), "{method} {path} {host}");
        assert!(answer.len() < 600 && !answer.contains("null"), "{answer}");
    }
    let answer = served.page();
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
    for header in ["Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY"] {
        assert!(answer.contains(header), "{header}");
    }
}

#[test]
fn a_head_that_does_not_end_is_bounded_in_bytes_and_in_time() {
    let program = Program::new();
    recorded(&program);
    let served = Served::start(&program, "whole.tare");
    let mut long = served.connect();
    // The server may close before all of it is sent.
    let _ = long.write_all(&[b'a'; 64 << 10]);
    let mut answer = String::new();
    let _ = long.read_to_string(&mut answer);
    assert!(answer.is_empty() || status(&answer) == "HTTP/1.1 400 Bad Request", "{answer}");
    // A byte now and then does not keep a connection: its time counts from its beginning.
    let mut slow = served.connect();
    slow.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut answer = Vec::new();
    let mut sent = 0;
    while answer.is_empty() && sent < 200 && slow.write_all(b"a").is_ok() {
        sent += 1;
        let mut part = [0; 256];
        match slow.read(&mut part) {
            Ok(read) => answer.extend_from_slice(&part[..read.max(1)]),
            Err(_) => continue,
        }
    }
    assert!(sent < 200, "it was still heard after {sent} bytes");
    assert_eq!(status(&String::from_utf8_lossy(&answer)), "HTTP/1.1 408 Request Timeout");
}

#[test]
fn more_connections_than_a_reader_needs_are_sent_away_and_those_there_go_on() {
    let program = Program::new();
    let lines = recorded(&program);
    let running = lines[..lines.len() - 1].concat();
    fs::write(program.path("running.tare"), running).unwrap();
    let served = Served::start(&program, "running.tare");
    let mut streams: Vec<_> = (0..16).map(|_| served.events()).collect();
    for stream in &mut streams {
        assert!(stream.any(|line| line.starts_with("data: ")));
    }
    let answer = served.page();
    assert!(
        answer.is_empty() || status(&answer) == "HTTP/1.1 503 Service Unavailable",
        "{}",
        status(&answer)
    );
}

#[test]
fn an_interrupt_ends_it_and_a_port_that_is_taken_is_an_error() {
    let program = Program::new();
    recorded(&program);
    let mut served = Served::start(&program, "whole.tare");
    let taken = program.run(&["report", &format!("--serve={}", served.port), "whole.tare"]);
    assert_eq!(taken.code, Some(3));
    assert!(taken.err.contains("cannot listen on 127.0.0.1"), "{}", taken.err);
    // A reader in the middle of a request does not hold it.
    let half = served.connect();
    half.shutdown(Shutdown::Read).unwrap();
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(served.child.wait().unwrap().success());
    let missing = program.run(&["report", "--serve", "nothing.tare"]);
    assert_eq!(missing.code, Some(5));
    fs::write(program.path("no.tare"), "no record\n").unwrap();
    assert_eq!(program.run(&["report", "--serve", "no.tare"]).code, Some(5));
}

#[test]
fn silent_connections_lock_nobody_out() {
    let program = Program::new();
    recorded(&program);
    let served = Served::start(&program, "whole.tare");
    let mut silent: Vec<TcpStream> = Vec::new();
    for _ in 0..10 {
        // As many as may be, and half a head.
        silent.extend((0..20).map(|_| served.connect()));
        for mut stream in silent.iter().rev().take(8) {
            let _ = write!(stream, "GET /");
        }
        let page = served.page();
        assert_eq!(status(&page), "HTTP/1.1 200 OK");
    }
    // Windows that are open stay, however many come.
    let mut window = served.events();
    assert!(window.next().is_some());
    silent.extend((0..40).map(|_| served.connect()));
    assert_eq!(status(&served.page()), "HTTP/1.1 200 OK");
    assert!(window.any(|line| line.starts_with("data: ")));
}

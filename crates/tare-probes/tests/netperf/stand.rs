//! What the tests stand on: tare's server and stock programs on free ports of loopback, ended when dropped.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tare_probes::harness::child::Child;
use tare_probes::netperf::codec::{MESSAGE_BYTES, Message};
use tare_probes::netperf::server::{Limits, serve};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Longest that a stock program may take here.
const PATIENCE: Duration = Duration::from_secs(30);

/// tare's server, in a process of its own.
pub struct Served {
    pub address: SocketAddr,
    _child: Child,
}

impl Served {
    pub fn at(here: IpAddr) -> Served {
        let longest_test = Duration::from_secs(20);
        Served::with(here, Limits { longest_test, controls: 3, ..Limits::default() })
    }

    pub fn with(here: IpAddr, limits: Limits) -> Served {
        let listener = TcpListener::bind((here, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let child = Child::fork(
            &[],
            AssertUnwindSafe(move || {
                // Ended from outside.
                i32::from(serve(&listener, limits, &|| false).is_err())
            }),
        );
        Served { address, _child: child.unwrap() }
    }

    /// A control connection whose reads do not wait for ever.
    pub fn control(&self) -> TcpStream {
        let control = TcpStream::connect(self.address).unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        control
    }
}

/// Sends a message and gives the next one that comes.
pub fn ask(control: &mut TcpStream, message: &Message) -> Message {
    control.write_all(message).unwrap();
    next(control)
}

pub fn next(control: &mut TcpStream) -> Message {
    let mut answer = [0; MESSAGE_BYTES];
    control.read_exact(&mut answer).unwrap();
    answer
}

/// A stock program; none, with a word on it, where it is not installed.
pub fn stock(name: &str, test: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        println!("SKIPPED {test}: {name} is not installed");
    }
    found
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Output {
    use std::process::Stdio;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

/// The number after `NAME=`.
pub fn number(output: &Output, name: &str) -> f64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let number = line.and_then(|value| value.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {text}{}", String::from_utf8_lossy(&output.stderr)))
}

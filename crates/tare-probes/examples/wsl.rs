//! A stand-in for wsl.exe, for tests under Wine: hands its words and its streams to `bench/wsl`, which has distributions. Where
//! that answers on this machine stands in the file `wsl.port` beside this program.

#![allow(clippy::disallowed_methods)]

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::process::ExitCode;
use std::thread;

/// Kinds of what is answered: how the program ended, or what it wrote on either stream.
const ENDED: u8 = 0;
const OUTPUT: u8 = 1;

fn main() -> ExitCode {
    match pass_on() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "wsl.exe: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Passes everything on, and gives the exit code that is answered.
fn pass_on() -> io::Result<u8> {
    let port = fs::read_to_string(env::current_exe()?.with_file_name("wsl.port"))?;
    let port: u16 = port.trim().parse().map_err(io::Error::other)?;
    let mut answers = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    answers.set_nodelay(true)?;
    let words = env::args().skip(1).collect::<Vec<_>>().join("\0");
    answers.write_all(&(words.len() as u32).to_le_bytes())?;
    answers.write_all(words.as_bytes())?;
    let requests = answers.try_clone()?;
    thread::spawn(move || pass_on_input(requests));
    loop {
        let mut head = [0; 5];
        answers.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        answers.read_exact(&mut bytes)?;
        match kind {
            ENDED => return Ok(bytes[0]),
            OUTPUT => io::stdout().write_all(&bytes).and_then(|()| io::stdout().flush())?,
            _ => io::stderr().write_all(&bytes)?,
        }
    }
}

fn pass_on_input(mut requests: TcpStream) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = io::stdin().lock().read(&mut bytes) {
        if requests.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
    let _ = requests.shutdown(Shutdown::Write);
}

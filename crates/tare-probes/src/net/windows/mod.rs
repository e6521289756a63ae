//! The network's probes on Windows, over loopback. The far end is this program, started again, as Windows has no fork; both
//! ends use the sockets of the standard library, which are Winsock's.
//!
//! What flows is what flows on Linux (`net/`): the same messages, tokens and headers.

pub(crate) mod far;
pub(crate) mod near;
mod socket;

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};
use tare_data::peer::Peer;

use crate::harness::handover::Placement;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::{Trial, broken_failure, prove_count};
use crate::net::flow::Flow;
use crate::variables::inherited_variables;

/// First argument under which this program is the far end of a flow; the flow follows, and maybe its processor.
pub(crate) const FAR: &str = "agent-far";

const TOKEN_BYTES: usize = 16;
/// Secret that a connection or a datagram shows to be let in: the port is open to every user of the machine.
type Token = [u8; TOKEN_BYTES];
/// A far end that sends nothing for this long is lost.
const SILENCE: Duration = Duration::from_secs(10);
/// A datagram that is not answered within this is given up, as on Linux.
const GIVEN_UP_AFTER: Duration = Duration::from_millis(300);

/// The far end; it is ended when this is dropped.
struct Far {
    process: Child,
    /// Port on loopback.
    port: u16,
    token: Token,
}

impl Far {
    fn open(trial: &Trial<'_>, flow: &Flow, placement: Placement) -> Result<Far, Failure> {
        if *trial.peer()? != Peer::Loopback {
            let reason = "only the peer loopback is written for Windows yet";
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        let failed = |e: io::Error| broken_failure("the far end", e);
        let flow = serde_json::to_string(flow).map_err(|e| failed(e.into()))?;
        let mut command = crate::starting::command(trial.program());
        command.arg(FAR).arg(flow).env_clear().envs(inherited_variables());
        if let Placement::Pinned { there } = placement {
            command.arg(there.to_string());
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let token = fresh_token();
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let mut port = [0; 2];
        let told = input.zip(output).map(|(mut input, mut output)| {
            input.write_all(&token)?;
            output.read_exact(&mut port)
        });
        match told {
            Some(Ok(())) => {}
            Some(Err(e)) => return Err(failed(e)),
            None => return Err(broken_failure("the far end", "it has no pipes")),
        }
        Ok(Far { process, port: u16::from_le_bytes(port), token })
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Connects, timed, shows the token and waits for its answer.
    fn connect(&self, no_delay: bool) -> Result<(TcpStream, Stopwatch), Failure> {
        let failed = |e: io::Error| broken_failure("connecting", e);
        let mut stopwatch = Stopwatch::start_new();
        let connection = TcpStream::connect(self.address());
        stopwatch.stop();
        let mut connection = connection.map_err(failed)?;
        connection.set_nodelay(no_delay).map_err(failed)?;
        connection.set_read_timeout(Some(SILENCE)).map_err(failed)?;
        let mut answer = [0; TOKEN_BYTES];
        connection
            .write_all(&self.token)
            .and_then(|()| connection.read_exact(&mut answer))
            .map_err(failed)?;
        if answer != shown_back(&self.token) {
            return Err(broken_failure("the far end", "it did not take the token"));
        }
        // A wait with a bound sets a timer.
        connection.set_read_timeout(None).map_err(failed)?;
        Ok((connection, stopwatch))
    }

    /// Ends a far end whose connection is closed, and fails where it did not do its part.
    fn finish(mut self) -> Result<(), Failure> {
        let status = self.process.wait().map_err(|e| broken_failure("waiting for the far end", e))?;
        prove_count("exit code of the peer", status.code().unwrap_or(-1) as u64, 0)
    }

    /// Ends a far end that would go on for ever, and fails where it has not.
    fn stop(mut self) -> Result<(), Failure> {
        match self.process.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(broken_failure("the peer", format!("it ended early: {status}"))),
            Err(e) => Err(broken_failure("the peer", e)),
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Generates bytes that nobody can guess: the keys of the standard library's hashes are the system's random
/// bytes.
fn fresh_token() -> Token {
    let mut token = [0; TOKEN_BYTES];
    for half in token.chunks_mut(TOKEN_BYTES / 2) {
        half.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    }
    token
}

/// Computes the far end's answer to its token: as long, and no echo.
fn shown_back(token: &Token) -> Token {
    token.map(|byte| !byte)
}

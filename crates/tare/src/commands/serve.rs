//! `tare serve`: the peer of network probes that run elsewhere.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::json;
use tare_data::shell::quote_word;
use tare_lab::asked::secrets::TARE;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::session::peers::secret_in;
use tare_probes::peer::server::{Account, PeerEnding};
use tare_probes::peer::{Secret, Server, Terms};
use tare_report::number::format_duration;

use crate::args::Serve;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{signals, ui};

pub fn run_serve(args: Serve) -> Result<Exit, CommandError> {
    let expires = args.expires;
    let listen = args.listen;
    let secret = match &args.secret_file {
        Some(path) => kept_secret(path)?,
        None => fresh_secret()?,
    };
    let next = || listen.port().checked_add(1).filter(|port| *port > 1);
    let data_port = args.data_port.or_else(next);
    let (expires_after, sessions) = (Some(expires), args.sessions);
    let terms = Terms { listen, secret: secret.clone(), data_port, expires: expires_after, sessions };
    let server = Server::bind(terms).map_err(|failure| {
        LabError::new(ErrorKind::Environment, format!("cannot serve on {listen}"))
            .with_cause(failure.reason)
            .with_hint("give an address of this machine and a free port: --listen ADDRESS:PORT")
    })?;
    let stopped = signals::watch_signals()?;
    let address = reached_at(server.address());
    // A secret from a file is not printed.
    let peer = match &args.secret_file {
        Some(path) => format!("{TARE}{address}/?secret-file={}", path.display()),
        None => format!("{TARE}{address}/#{}", secret.to_hex()),
    };
    let data = data_port.map_or("any free port".to_owned(), |port| format!("port {port}"));
    if args.json {
        let listening = server.address().to_string();
        let expires_s = expires.as_secs_f64();
        let document =
            json!({ "listening": listening, "data_port": data_port, "peer": peer, "expires_s": expires_s });
        ui::print_output(format!("{document:#}\n"))?;
    } else {
        let listening = server.address();
        ui::print_output(format!(
            "listening on {listening}, data on {data} (TCP and UDP), for {}; Ctrl-C ends it\n\n  tare run rtt --peer {}\n",
            format_duration(expires.as_secs_f64()),
            quote_word(&peer)
        ))?;
    }
    let account = server.serve(&|| stopped.load(Ordering::Relaxed)).map_err(|failure| {
        LabError::new(ErrorKind::Environment, "the peer cannot continue").with_cause(failure.reason)
    })?;
    ui::print_note(&words(&account));
    Ok(Exit::Done)
}

fn words(account: &Account) -> String {
    let why = match account.ending {
        PeerEnding::Expired => "its time is up",
        PeerEnding::Served => "its sessions have ended",
        PeerEnding::UsedUp => "its secret was used as often as one may be; start again for a new one",
        PeerEnding::Stopped => "it was stopped",
    };
    let Account { served, strangers, .. } = account;
    format!("note: {why}; {served} flows served, {strangers} connections without the secret turned away")
}

/// Builds the address to connect to: for a wildcard address, this machine's host name.
fn reached_at(listening: SocketAddr) -> String {
    match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => format!("{}:{}", host_name(), listening.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => format!("{}:{}", host_name(), listening.port()),
        _ => listening.to_string(),
    }
}

fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

fn fresh_secret() -> Result<Secret, LabError> {
    Secret::new_random()
        .map_err(|e| LabError::new(ErrorKind::Environment, "cannot make a secret").with_cause(e))
}

/// Reads the secret from a file that only the user can read, or creates the file with a new secret.
fn kept_secret(path: &Path) -> Result<Secret, LabError> {
    let storage =
        |what: &str| LabError::new(ErrorKind::Storage, format!("{what} the secret in {}", path.display()));
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let secret = fresh_secret()?;
            writeln!(file, "{}", secret.to_hex()).map_err(|e| storage("cannot write").with_cause(e))?;
            return Ok(secret);
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(storage("cannot make").with_cause(e)),
    }
    let text = secret_in(path)?;
    Secret::parse(&text).ok_or_else(|| {
        storage("cannot use")
            .with_cause("it is not 64 hex digits")
            .with_hint("remove the file: tare serve creates a new one")
    })
}

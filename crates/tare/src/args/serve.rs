//! Arguments of `tare serve`.

use std::path::PathBuf;
use std::time::Duration;

/// Serve network probes of other machines, with authentication.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare serve                                 serve this machine only, and print the --peer to use
  tare serve --listen 192.0.2.7:12866        serve other machines too
  tare serve --listen '[::]:12866' --expires 8h --secret-file /etc/tare/secret
  tare serve --listen 192.0.2.7:12866 --sessions 1   stop after one session

Data uses the port after --listen's, over TCP and UDP. Only clients that know the secret are served.")]
pub struct Serve {
    /// Listen on this address and port.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:12866")]
    pub listen: std::net::SocketAddr,
    /// Use this port for data [default: the one after --listen's; a free port if --listen uses port 0].
    #[arg(long, value_name = "PORT")]
    pub data_port: Option<u16>,
    /// Read the secret (64 hex digits) from this file, which is created, readable only by you, if it does not
    /// exist [default: print a new secret].
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Stop after this time, e.g. 90s, 8m, 1h.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = super::parse_time)]
    pub expires: Duration,
    /// Stop after N sessions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: Option<u32>,
    /// Print the address as JSON as soon as the server listens.
    #[arg(long)]
    pub json: bool,
}

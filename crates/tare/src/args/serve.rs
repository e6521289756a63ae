//! Arguments of `tare serve`.

use std::path::PathBuf;
use std::time::Duration;

/// Run an authenticated peer for network probes of other machines.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare serve                                 for this machine only; prints the --peer to use
  tare serve --listen 192.0.2.7:12866        for other machines too
  tare serve --listen '[::]:12866' --expires 8h --secret-file /etc/tare/secret
  tare serve --listen 192.0.2.7:12866 --sessions 1   for one session: ends with it

Data flows use the port after the one of --listen, over TCP and UDP. Only clients with the secret are served.")]
pub struct Serve {
    /// Address and port.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:12866")]
    pub listen: std::net::SocketAddr,
    /// Port of data flows [default: the one after --listen's; a free port if --listen uses port 0].
    #[arg(long, value_name = "PORT")]
    pub data_port: Option<u16>,
    /// File with the secret, 64 hex digits; created, readable only by you, if it does not exist. Without it, a new
    /// secret is printed.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Stop after this time, e.g. 90s, 8m, 1h.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = super::parse_time)]
    pub expires: Duration,
    /// Stop when N sessions have ended.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: Option<u32>,
    /// Print one JSON document once it listens.
    #[arg(long)]
    pub json: bool,
}

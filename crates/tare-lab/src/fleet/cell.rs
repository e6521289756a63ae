//! A cell on its node: what a job of a fleet does there. Plan and program are compared with what was submitted, and the record
//! gets its name last.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_data::facts::Facts;
use tare_data::session::Ending;
use tare_data::session::identity::FleetCell;
use tare_paths::door::Door;
use tare_probes::peer::client::PeerSession;
use tare_probes::peer::{Secret, Server, Terms};

use crate::asked::secrets::TARE;
use crate::asked::{Measured, Request, Until};
use crate::error::{ErrorKind, LabError};
use crate::fleet::files::{Files, of_cell, of_pair};
use crate::fleet::folder::{self, read_plan};
use crate::fleet::plan::{FleetPlan, hash_bytes};
use crate::host::waiting::until_found;
use crate::session::peers::secret_in;

/// Time in which the other node of a pair must serve: its task may start later.
const SERVES_WITHIN: Duration = Duration::from_secs(60);
/// Longest address that is read, of version 6.
const LONGEST_ADDRESS: u64 = 64;
/// Pause between two tries at it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Measurement of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    Cell {
        node: String,
        session: u32,
    },
    /// The first measures, the second serves; rounds count from 0.
    Pair {
        round: usize,
        a: String,
        b: String,
    },
}

/// A cell whose plan is the one that was submitted.
pub struct Cell {
    pub files: Files,
    /// The fleet's folder.
    pub fleet: Door,
    which: Which,
    plan: FleetPlan,
    plan_sha256: String,
    /// Path of a pair's secret.
    secret: PathBuf,
}

impl Cell {
    /// Reads the plan. Another than the one that was submitted is refused, and so is another program: a folder in which
    /// several may write is not a place of trust. The secret of a pair lies in the fleet's folder, unless the job brought it.
    pub fn open(
        folder: &Path,
        which: Which,
        plan_sha256: &str,
        program: &Path,
        secret: Option<&Path>,
    ) -> Result<Cell, LabError> {
        let fleet = Door::open(folder).map_err(LabError::storage_error("open", folder))?;
        let (plan, found) = read_plan(&fleet)?;
        let refused = |because: &str| {
            LabError::new(ErrorKind::Record, format!("{} is not measured here", folder.display()))
                .with_cause(because)
        };
        if found != plan_sha256 {
            return Err(refused("its plan is not the one that was submitted"));
        }
        let bytes = fs::read(program).map_err(LabError::storage_error("read", program))?;
        if hash_bytes(&bytes) != plan.binary {
            return Err(refused("this program is not the one that was planned"));
        }
        let is_known = |name: &str| plan.nodes.iter().any(|node| node.name == name);
        let (files, known) = match &which {
            Which::Cell { node, session } => (of_cell(node, *session), is_known(node)),
            Which::Pair { round, a, b } => {
                let planned =
                    plan.pairs.get(*round).is_some_and(|pairs| pairs.contains(&(a.clone(), b.clone())));
                (of_pair(*round, a, b), planned)
            }
        };
        if !known {
            return Err(refused("the plan does not name it"));
        }
        files.make_folder(&fleet).map_err(LabError::storage_error("write in", folder))?;
        let secret = secret.map_or_else(|| folder::secret_path(folder), Path::to_owned);
        Ok(Cell { files, fleet, which, plan, plan_sha256: found, secret })
    }

    /// Builds the request for the session of this cell on this node. `facts` are the engine's about the job.
    pub fn make_request(&self, facts: Facts) -> Result<Request, LabError> {
        let measure = &self.plan.measure;
        let (node, session, peers) = match &self.which {
            Which::Cell { node, session } => (node, *session, Vec::new()),
            Which::Pair { round, a, b } => {
                let peer = format!("node={TARE}{}/?secret-file={}", self.address(b), self.secret.display());
                (a, *round as u32 + 1, vec![peer])
            }
        };
        let (id, plan) = (self.plan.fleet.clone(), self.plan_sha256.clone());
        let study = self.plan.study_part(matches!(self.which, Which::Pair { .. }))?;
        let budget = measure.budget_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        Ok(Request {
            environments: measure.environments.clone(),
            only: measure.only.clone(),
            peers,
            until: measure.rounds.map(Until::Rounds).or(budget.map(Until::Budget)),
            planted: true,
            fleet: Some(FleetCell { id, node: node.clone(), session, plan }),
            host: facts,
            ..Request::new(Measured::Read(study), &measure.against, self.fleet.join(&self.files.part_path()))
        })
    }

    pub fn scratch(&self) -> Option<&Path> {
        self.plan.measure.scratch.as_deref().map(Path::new)
    }

    /// Waits until the other node of a pair serves.
    pub fn wait_for_peer(&self) -> Result<(), LabError> {
        let Which::Pair { b, .. } = &self.which else { return Ok(()) };
        let secret = self.secret()?;
        let mut last = None;
        let serves = || match PeerSession::open(&self.address(b), &secret).and_then(PeerSession::query_peer) {
            Ok(_) => Some(()),
            Err(failure) => {
                last = Some(failure.reason);
                None
            }
        };
        until_found(SERVES_WITHIN, LOOK_AGAIN, serves).ok_or_else(|| {
            LabError::new(ErrorKind::Environment, format!("the node {b} does not serve"))
                .with_cause(last.unwrap_or_default())
        })
    }

    /// Lets the other node go: it serves one session.
    pub fn leave_peer(&self) {
        let Which::Pair { b, .. } = &self.which else { return };
        if let Ok(secret) = self.secret() {
            // It ends by its time otherwise.
            let _ = PeerSession::open(&self.address(b), &secret).and_then(PeerSession::end_session);
        }
    }

    /// Serves the other node of the pair for one session. `own` is where it is reached, if not by its name: it is written down for
    /// the other.
    pub fn serve_peer(&self, own: Option<IpAddr>, stopped: &dyn Fn() -> bool) -> Result<(), LabError> {
        let port = self.plan.measure.port;
        let any: IpAddr = match own {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        let terms = Terms {
            listen: (any, port).into(),
            secret: self.secret()?,
            data_port: port.checked_add(1),
            expires: Some(Duration::from_secs(self.plan.limit_s)),
            sessions: Some(1),
        };
        let failed = |failure: tare_data::failure::Failure| {
            LabError::new(ErrorKind::Environment, format!("cannot serve on port {port}"))
                .with_cause(failure.reason)
        };
        let server = Server::bind(terms).map_err(failed)?;
        let file = self.files.address_path();
        if let Some(own) = own {
            self.fleet
                .write_file(&file, own.to_string().as_bytes())
                .map_err(LabError::storage_error("write", &file))?;
        }
        let served = server.serve(stopped).map(drop).map_err(failed);
        let _ = self.fleet.remove_file(&file);
        served
    }

    /// Renames the record by how its session ended: whole, or left as it is with the reason next to it.
    pub fn finish_record(&self, ended: Result<Ending, &LabError>) -> Result<(), LabError> {
        let files = &self.files;
        let why = match ended {
            Ok(Ending::Complete) => {
                let part = files.part_path();
                let whole = self.fleet.open_file(&part).and_then(|file| file.sync_all());
                return whole
                    .and_then(|()| self.fleet.rename(&part, &files.whole_path()))
                    .map_err(LabError::storage_error("name", &part));
            }
            Ok(Ending::Interrupted) => {
                "the session was stopped: its job was cancelled, or its time was up".to_owned()
            }
            Ok(Ending::BaselineFailed) => "the baseline failed in too many rounds in a row".to_owned(),
            Ok(Ending::SubjectsFailed) => "every other environment was given up".to_owned(),
            Ok(Ending::BrokenOff) => "the session broke off".to_owned(),
            Err(error) => {
                std::iter::once(error.what.clone()).chain(error.causes()).collect::<Vec<_>>().join(": ")
            }
        };
        files.write_why(&self.fleet, &why).map_err(LabError::storage_error("write", &files.why_path()))
    }

    /// Finds the address of the other node of a pair: as it wrote down, else by its name.
    fn address(&self, node: &str) -> String {
        let port = self.plan.measure.port;
        let written = self.fleet.read_bytes(&self.files.address_path(), LONGEST_ADDRESS).unwrap_or_default();
        match str::from_utf8(&written).ok().and_then(|text| text.parse::<IpAddr>().ok()) {
            Some(address) => SocketAddr::new(address, port).to_string(),
            None => format!("{node}:{port}"),
        }
    }

    fn secret(&self) -> Result<Secret, LabError> {
        Secret::parse(&secret_in(&self.secret)?).ok_or_else(|| {
            LabError::new(ErrorKind::Storage, format!("cannot use the secret in {}", self.secret.display()))
                .with_cause("it is not 64 hex digits")
        })
    }
}

//! Requests of the host to the agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::Case;
use crate::peer::Peer;

/// Message of the host to the agent. A request is one line, shorter than [`crate::frame::LONGEST_REQUEST`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Describe the environment and these places (name to path inside).
    Describe { places: BTreeMap<String, String> },
    /// Keep a piece of a file that a user command needs.
    Carry(Piece),
    /// Run one trial in a fresh process.
    Trial(Box<TrialRequest>),
    /// End; the agent leaves nothing behind.
    Leave,
}

/// Limit on the bytes of a file in one piece: in base64 and with all names it stays below the longest
/// request.
pub const LONGEST_PIECE: usize = 1_024;
/// Longest name of a file that is carried along, folders included.
pub const LONGEST_CARRIED_NAME: usize = 120;
/// Limit on the bytes that a session carries along; a line that passes 2 KiB at a time takes seconds for as
/// much.
pub const MOST_CARRIED: u64 = 4 << 20;

/// A piece of a user's file, on its way into an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Path of the place `own`, inside the environment.
    pub directory: String,
    /// Name of the command that needs it.
    pub command: String,
    /// Path of the file below the folder that the command runs in.
    pub name: String,
    pub offset: u64,
    pub executable: bool,
    /// At most [`LONGEST_PIECE`] bytes, in base64.
    pub bytes: String,
}

/// Longest deadline of a trial, in ms: a day.
pub const LONGEST_DEADLINE_MS: u64 = 86_400_000;

/// Trial to run, with everything that fixes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRequest {
    /// Number of the trial within the session; its frames carry it, so that a late one is recognised.
    pub trial: u64,
    pub case: Case,
    pub amount: Amount,
    /// Folder of the place, inside the environment; the trial works in a fresh folder below it.
    pub directory: Option<String>,
    /// Route to the peer that the case names, as seen from inside.
    #[serde(default)]
    pub peer: Option<Peer>,
    /// For probes that choose at random: the same in every environment of a round.
    pub seed: u64,
    /// After this the trial's process ends itself, whatever it waits for.
    pub deadline_ms: u64,
    /// Share by which the trial works longer on purpose, in everything that it times; 0 in an ordinary one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slower: f64,
    /// Time from the agent's start in which the clock may be slow, for which the trial waits; 0 where it stays as it is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub settling_ms: u64,
    /// The trial's side of a pair; none where it runs alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// Drawn for this request alone, and echoed by the trial's first frame: an answer that was made before is not one.
    pub nonce: u64,
}

/// Value of the word in the file of a pair's turns once a side has given up: no turn gets there.
pub const GIVEN_UP: u32 = u32::MAX;

/// Side of a pair: two trials whose processes alternate, so that whatever the machine does meanwhile hits both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// File inside the environment that both sides map, and whose first four bytes say whose turn it is.
    pub path: String,
    /// Descriptor under which the agent inherited it, in place of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<i32>,
    pub is_second: bool,
    /// Time that a step may take, and after which a side that does not hand over is given up.
    pub patience_ms: u64,
    /// Operations after each hand-over that are not timed.
    pub settle: u64,
    /// Processor that both sides run on; none where they run anywhere.
    pub processor: Option<usize>,
}

/// Amount of a trial, decided once for a session: alike on both sides of a pair, and in all trials that run alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// Find out how long an operation takes here, in little time.
    Calibrate,
    /// `batches` batches of `batch` operations each.
    Operations { batch: u64, batches: u32 },
    /// Batches of `batch` operations until the time is up, as tools do that run for 60 s.
    Duration { batch: u64, seconds: f64 },
    /// A single run of a command that is not timed, and whose output and files are kept.
    Outcome,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

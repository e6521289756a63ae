//! Limits of processor time: what the control groups of an environment allow, and how often they have stopped its work; and what it
//! uses while others are measured.

use serde::{Deserialize, Serialize};

/// Processor time that a control group may use in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quota {
    pub quota_us: u64,
    pub period_us: u64,
}

impl Quota {
    /// Computes how many processors it amounts to.
    pub fn processors(self) -> f64 {
        self.quota_us as f64 / self.period_us.max(1) as f64
    }
}

/// A control group that counts its periods, since it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Controllers of its hierarchy and its path, as the host sees them: `cpu,cpuacct:/quota/`, `:/user.slice/`.
    pub group: String,
    /// None where it sets no limit itself.
    #[serde(flatten)]
    pub quota: Option<Quota>,
    /// Periods in which it wanted to work.
    pub periods: u64,
    /// Periods in which its work was stopped.
    pub throttled: u64,
    /// Time for which it was stopped, over all processors.
    pub throttled_ns: u64,
}

/// Counts of the control groups of an environment, at a moment of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitCounts {
    #[serde(rename = "environment")]
    pub target: String,
    /// True where a start of it begins: counts before are none of this start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
    /// Its groups and all their parents that count, each once; none where they cannot be read.
    pub groups: Vec<GroupCounts>,
    /// None where nothing was watched since the counts before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

/// Processor time of an environment while others are measured, since the counts of it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Time for which it was watched.
    pub watched_ns: u64,
    /// Processor time that it used meanwhile, over all processors.
    pub used_ns: u64,
}

impl Idle {
    /// Adds another stretch of time.
    pub fn join(self, other: Idle) -> Idle {
        Idle {
            watched_ns: self.watched_ns.saturating_add(other.watched_ns),
            used_ns: self.used_ns.saturating_add(other.used_ns),
        }
    }
}

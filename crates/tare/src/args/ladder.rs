//! Arguments of `tare ladder`.

use super::SessionOptions;

/// Build an environment up one mechanism at a time, and report what each mechanism adds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare ladder container                     add namespaces, control groups and a filter in turn
  tare ladder seccomp --only sys.getppid    vary the number of rules in a seccomp filter
  tare ladder landlock --only sys.operation vary the rules and layers of Landlock
  tare ladder landlock --both-orders        do rules cost the same under one layer and under 15?
  tare ladder container -- git status       show what each mechanism adds to your own command
  tare ladder tare-ladder-2026-01-31T12-00.tare  show an earlier ladder again")]
pub struct Ladder {
    /// Build up container, seccomp, landlock, speculation or gvisor; or show the record of an earlier ladder again.
    #[arg(value_name = "LADDER|RECORD")]
    pub ladder: String,
    /// Also add the last mechanisms in reverse order, and report by how much the order changes what each
    /// adds.
    #[arg(long)]
    pub both_orders: bool,
    #[command(flatten)]
    pub session: SessionOptions,
    /// Print JSON like a session's, except that each environment is compared with the one before
    /// it.
    #[arg(long)]
    pub json: bool,
    /// Measure this command instead of probes.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "only")]
    pub words: Vec<String>,
}

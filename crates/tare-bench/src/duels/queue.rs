//! file.queue and fio: requests past the cache, several outstanding, through io_uring.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tare_data::names::{Case, parse_size};
use tare_data::request::Amount;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Site};
use crate::ratio::Requirement;
use crate::tool;

/// Size of the file. O_DIRECT leaves nothing of it in the cache; more would only take longer to lay out in
/// each round.
const SIZE: &str = "64MiB";

/// Operation, pattern, block, depth; and fio's word for operation and pattern.
type Shape = (&'static str, &'static str, &'static str, &'static str, &'static str);

const SHAPES: [Shape; 4] = [
    ("read", "random", "4KiB", "32", "randread"),
    ("read", "random", "4KiB", "1", "randread"),
    ("read", "sequential", "1MiB", "8", "read"),
    ("write", "random", "4KiB", "32", "randwrite"),
];

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    SHAPES.map(|shape| Box::new(Queue { shape, ready: None }) as Box<dyn Duel>).into()
}

struct Queue {
    shape: Shape,
    ready: Option<(Case, Amount, PathBuf)>,
}

impl Duel for Queue {
    fn name(&self) -> String {
        let (op, pattern, block, depth, _) = self.shape;
        format!("file.queue {pattern} {op} {block} Q{depth}T1")
    }

    fn describe_tool(&self) -> String {
        let (_, _, block, depth, rw) = self.shape;
        format!("fio --ioengine=io_uring --direct=1 --rw={rw} --bs={block} --iodepth={depth}")
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure { name: "rate", unit: "MB/s", required: Requirement::AtLeast(0.98) },
            Figure { name: "mean latency", unit: "µs", required: Requirement::Shown },
        ]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("fio")?;
        let (op, pattern, block, depth, _) = self.shape;
        let parameters = [
            ("op", op),
            ("pattern", pattern),
            ("bs", block),
            ("depth", depth),
            ("threads", "1"),
            ("size", SIZE),
            ("engine", "uring"),
        ];
        let case = make_case("file.queue", &parameters)?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let file = site.agent.probe_folder().join("fio");
        let bytes = parse_size(SIZE).ok_or("a size that is none")?;
        // Written, so that reads do not find holes.
        fs::write(&file, vec![b't'; bytes as usize]).map_err(|e| format!("writing fio's file: {e}"))?;
        rustix::fs::sync();
        self.ready = Some((case, amount, file));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, amount, _) = self.ready.as_ref().ok_or("not prepared")?;
        rustix::fs::sync();
        let ran = site.agent.run_trial(case, *amount)?;
        Ok(vec![ran.metric_value("rate")? / 1e6, ran.metric_value("mean")? / 1e3])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (_, _, file) = self.ready.as_ref().ok_or("not prepared")?;
        let (_, _, block, depth, rw) = self.shape;
        // In bytes: fio takes 4KiB for 4000 of them unless told otherwise.
        let bytes = |text| parse_size(text).ok_or("a size that is none");
        let (block, size) = (bytes(block)?, bytes(SIZE)?);
        rustix::fs::sync();
        let mut command = Command::new(tool::find_program("fio")?);
        command.args(["--name=duel", "--ioengine=io_uring", "--direct=1", "--time_based", "--numjobs=1"]);
        command.args(["--norandommap", "--randrepeat=0", "--output-format=json"]);
        command.arg(format!("--filename={}", file.display())).arg(format!("--size={size}"));
        command.arg(format!("--rw={rw}")).arg(format!("--bs={block}")).arg(format!("--iodepth={depth}"));
        command.arg(format!("--runtime={}", site.setting.seconds()));
        let ended = tool::run_program(&mut command, site.setting.patience())?;
        figures(&ended.output, self.shape.0)
    }
}

/// Reads MB/s and mean latency in microseconds from fio's JSON.
fn figures(output: &str, op: &str) -> Result<Vec<f64>, String> {
    let document = tool::parse_json("fio", output)?;
    let of = &document["jobs"][0][op];
    let number =
        |value: &serde_json::Value| value.as_f64().ok_or_else(|| format!("fio gave no {op} figures"));
    Ok(vec![number(&of["bw_bytes"])? / 1e6, number(&of["lat_ns"]["mean"])? / 1e3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_out_of_fios_document() {
        let text =
            "note: something\n{\"jobs\":[{\"read\":{\"bw_bytes\":250000000,\"lat_ns\":{\"mean\":1500.0}}}]}";
        assert_eq!(figures(text, "read"), Ok(vec![250.0, 1.5]));
        assert!(figures(text, "write").is_err());
        assert!(figures("", "read").is_err());
    }
}

//! `tare clean`: removes the leftovers of killed sessions.

use tare_report::json::pretty;
use tare_report::text::plain;

use crate::args::Clean;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{paths, ui};

pub fn run(args: Clean) -> Result<Exit, CommandError> {
    let programs = paths::programs()?;
    let mut outcomes = Vec::new();
    for state in paths::states()? {
        outcomes.extend(tare_lab::ownership::clean::clean(&state, &programs)?);
    }
    let left = outcomes.iter().filter(|outcome| outcome.left_because.is_some()).count();
    if args.json {
        let all: Vec<_> = outcomes
            .iter()
            .map(|o| serde_json::json!({ "thing": o.what, "left_because": o.left_because }))
            .collect();
        ui::print(pretty(&serde_json::Value::Array(all)))?;
    } else if outcomes.is_empty() {
        ui::print("nothing was left behind\n")?;
    }
    for outcome in outcomes.iter().filter(|_| !args.json) {
        match &outcome.left_because {
            None => ui::print(format!("removed  {}\n", plain(&outcome.what)))?,
            Some(reason) => ui::print(format!("LEFT     {}: {}\n", plain(&outcome.what), plain(reason)))?,
        }
    }
    Ok(if left == 0 { Exit::Done } else { Exit::Environment })
}

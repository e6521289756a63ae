//! `tare clean`: removes the leftovers of killed sessions.

use tare_report::json::render_pretty_json;
use tare_report::text::plain_line;

use crate::args::Clean;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{paths, ui};

pub fn run_clean(args: Clean) -> Result<Exit, CommandError> {
    let programs = paths::find_programs()?;
    let mut outcomes = Vec::new();
    for state in paths::list_state_folders()? {
        outcomes.extend(tare_lab::ownership::clean::remove_leftovers(&state, &programs)?);
    }
    let left = outcomes.iter().filter(|outcome| outcome.left_because.is_some()).count();
    if args.json {
        let all: Vec<_> = outcomes
            .iter()
            .map(|o| serde_json::json!({ "thing": o.what, "left_because": o.left_because }))
            .collect();
        ui::print_output(render_pretty_json(&serde_json::Value::Array(all)))?;
    } else if outcomes.is_empty() {
        ui::print_output("nothing was left behind\n")?;
    }
    for outcome in outcomes.iter().filter(|_| !args.json) {
        match &outcome.left_because {
            None => ui::print_output(format!("removed  {}\n", plain_line(&outcome.what)))?,
            Some(reason) => {
                ui::print_output(format!("LEFT     {}: {}\n", plain_line(&outcome.what), plain_line(reason)))?
            }
        }
    }
    Ok(if left == 0 { Exit::Done } else { Exit::Environment })
}

//! `tare` alone: where this shell is, what could be measured from it, and the lines to type.

use tare_lab::environments::found::list_found;

use crate::args::Here;
use crate::args::here::Part;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::{commands, paths, ui};

/// Lines to type, with what each gives and how long it takes.
const LINES: [(&str, &str, &str); 3] = [
    ("tare run -- git status", "the cost for your command", "1 min"),
    ("tare run", "the cost in general", "3 min"),
    ("tare run --like ARTICLE", "an article's table, next to yours", "5 min and more"),
];

/// Prints the first screen, and fails: a script that lost its arguments must notice.
pub fn print_front_desk() -> Result<Exit, CommandError> {
    // Elsewhere than on Linux there is nothing to tell of the layers.
    if cfg!(unix) {
        commands::here::run_here(&Here { only: Some(Part::Where), ..Here::default() })?;
    }
    ui::print_text(&describe_ways(&list_found(&paths::find_programs()?)), false)?;
    Ok(Exit::Usage)
}

fn describe_ways(found: &[&str]) -> String {
    let language = ui::find_language();
    let mut text = String::new();
    if !found.is_empty() {
        let line = format!(
            "{} {} ({})",
            language.word("Found, and not yet tried:"),
            found.join(", "),
            language.word("tare check tries them")
        );
        text = ui::wrap_text(&line, ui::measure_width()).join("\n") + "\n";
    }
    text.push('\n');
    let about = |text: &'static str| language.describe(text);
    let width = LINES.iter().map(|(line, ..)| line.len()).max().unwrap_or(0);
    let columns = |text: &str| tare_report::text::count_columns(text);
    let widest = LINES.iter().map(|(_, gives, _)| columns(about(gives))).max().unwrap_or(0);
    for (line, gives, takes) in LINES {
        let (gives, takes) = (about(gives), about(takes));
        let gap = " ".repeat(widest - columns(gives));
        text.push_str(&format!("  {line:width$}   {gives}{gap}   {takes}\n"));
    }
    text + "\n" + language.word("tare help has the main commands, tare help --all every one.") + "\n"
}

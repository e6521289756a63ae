//! `tare self man`: manual pages, generated from the help.

use std::fs;
use std::io;

use clap::{Arg, ArgAction, Command};
use clap_mangen::Man as Page;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tare_lab::error::{ErrorKind, LabError};

use crate::args::help::command_line;
use crate::args::itself::Man;
use crate::command_error::CommandError;
use crate::exit::Exit;

/// Environment variable with the time, in seconds, that files of a reproducible build are dated to.
const BUILD_TIME: &str = "SOURCE_DATE_EPOCH";

/// Writes `tare.1` and a page `tare-COMMAND.1` for every command.
pub fn run_man(args: Man) -> Result<Exit, CommandError> {
    let mut command = command_line().disable_help_subcommand(true);
    command.build();
    let written = list_pages(command).into_iter().try_for_each(|(name, text)| {
        let text = text?;
        fs::write(args.folder.join(name), text)
    });
    written.map_err(|e| {
        LabError::new(ErrorKind::Storage, format!("cannot write pages into {}", args.folder.display()))
            .with_cause(e)
            .with_hint("name an existing folder that you can write to")
    })?;
    Ok(Exit::Done)
}

/// Lists the pages of a command and of all commands below it, with their file names.
fn list_pages(command: Command) -> Vec<(String, io::Result<String>)> {
    let below: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned().collect();
    let page = (Page::new(command.clone()).get_filename(), render_page(command));
    std::iter::once(page).chain(below.into_iter().flat_map(list_pages)).collect()
}

fn render_page(command: Command) -> io::Result<String> {
    // A page leaves out the description of an option that the short help hides.
    let command = command.mut_args(|argument| argument.hide_short_help(false));
    let synopsis = write_synopsis(&command);
    let title = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    let source = concat!("tare ", env!("CARGO_PKG_VERSION"));
    let page = Page::new(command).title(title).date(find_date()).source(source).manual("tare");
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(replace_synopsis(&String::from_utf8_lossy(&text), &synopsis))
}

/// Finds the day of the pages: that of the build, or today.
fn find_date() -> String {
    let given = std::env::var(BUILD_TIME).ok().and_then(|seconds| seconds.parse().ok());
    let time = given.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now);
    time.to_zoned_datetime(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Replaces the synopsis of a page, and takes out what formatters warn about: spaces at the ends of lines, and line breaks next to
/// empty lines.
fn replace_synopsis(page: &str, synopsis: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut is_replaced = false;
    for line in page.lines().map(str::trim_end) {
        if line.starts_with(".SH") {
            is_replaced = line == ".SH SYNOPSIS";
            out.push(line);
            out.extend(is_replaced.then_some(synopsis));
        } else if !is_replaced {
            match (out.last().copied(), line) {
                (Some(".sp" | ""), ".br") => {}
                (Some(".br"), ".sp" | "") => *out.last_mut().expect("a line") = line,
                _ => out.push(line),
            }
        }
    }
    out.join("\n") + "\n"
}

/// Writes the synopsis of a command: every option with its value, each on a line of its source.
fn write_synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(|arg| !arg.is_hide_set()).partition(|arg| arg.is_positional());
    let lines = [format!("\\fB{}\\fR", escape(name))]
        .into_iter()
        .chain(options.into_iter().map(write_option))
        .chain(positional.into_iter().map(write_positional))
        .chain(command.has_subcommands().then(|| "\\fICOMMAND\\fR".to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

fn write_option(option: &Arg) -> String {
    let short = option.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
    let long = option.get_long().map(|long| format!("\\fB\\-\\-{}\\fR", escape(long)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let value = match option.get_action() {
        ArgAction::Set | ArgAction::Append => format!(" {}", write_value(option)),
        _ => String::new(),
    };
    enclose(format!("{}{value}", names.join("|")), option.is_required_set())
}

fn write_positional(argument: &Arg) -> String {
    let many = argument.get_num_args().is_some_and(|count| count.max_values() > 1);
    let before = if argument.is_last_set() { "\\fB\\-\\-\\fR " } else { "" };
    let after = if many { " ..." } else { "" };
    enclose(format!("{before}{}{after}", write_value(argument)), argument.is_required_set())
}

fn write_value(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default().iter();
    let names: Vec<String> = names.map(|name| format!("\\fI{}\\fR", escape(name))).collect();
    names.join(" ")
}

fn enclose(text: String, is_required: bool) -> String {
    if is_required { text } else { format!("[{text}]") }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

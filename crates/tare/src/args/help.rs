//! The command line as its help shows it: commands under headings, in the user's language.

use clap::CommandFactory;
use tare_report::language::Language;

use super::Args;

/// Headings of `tare help --all`, each with its commands.
pub const HEADINGS: [(&str, &[&str]); 5] = [
    ("Measure", &["here", "run", "fleet"]),
    ("Understand", &["explain", "advise", "ladder", "selftest"]),
    ("Report", &["report", "compare", "import"]),
    ("Look up", &["list", "show"]),
    ("Keep house", &["check", "serve", "environment", "clean", "self"]),
];

/// Commands on the first screen, in the order in which somebody needs them.
const FIRST: [&str; 6] = ["here", "run", "explain", "compare", "report", "check"];

/// Options on the first screen of `tare run -h`, each in a line. All others are in `tare run --help`.
const SHORT: [(&str, &str); 14] = [
    ("study", "Run a shipped study or a TOML file [default: quick]"),
    ("environments", "Measure these [default: three that are ready]"),
    ("like", "Repeat an article's measurements, and show its figures"),
    ("only", "Run only these probes, e.g. 'sys.*,file.seq'"),
    ("budget", "Limit the session, e.g. 90s, 8m, 1h"),
    ("record", "Write the record to this file"),
    ("dry_run", "Print what would be done, and do nothing"),
    ("warmup", "Warm up with N runs [default: 1]"),
    ("runs", "Run each command N times"),
    ("ignore_failure", "Continue after runs that failed"),
    ("words", "Measure this command; --- precedes another"),
    ("html", "Also write the report as a page"),
    ("exports", "Write another format"),
    ("fail_if", "Exit with 6 if, e.g., 'slower:gvisor>1.5'"),
];

/// Last lines of `tare run -h`.
const SHORT_EXAMPLES: &str = "Examples:
  tare run --in native,gvisor -- git status   measure your own command
  tare run --like qiita-wsl-rtt               repeat an article
Every option: tare run --help";

/// Gives `tare run` a short help of one screen beside the whole one.
fn shorten_help(run: clap::Command) -> clap::Command {
    let examples = run.get_after_help().cloned().unwrap_or_default();
    let run = run.mut_args(|argument| match SHORT.iter().find(|(name, _)| argument.get_id() == *name) {
        Some((_, short)) => {
            let long = argument.get_help().cloned().unwrap_or_default();
            argument.help(*short).long_help(long)
        }
        None => argument.hide_short_help(true),
    });
    run.after_long_help(examples).after_help(SHORT_EXAMPLES)
}

/// Builds the command line whose help lists every command.
pub fn build_whole_command_line(language: Language) -> clap::Command {
    build_listing(language, &HEADINGS)
}

/// Builds the command line, whose help lists the commands under headings.
pub fn command_line() -> clap::Command {
    build_command_line(Language::English)
}

/// Builds the command line with first lines, headings and groups of its help in a language.
pub fn build_command_line(language: Language) -> clap::Command {
    build_listing(language, &[("Commands", &FIRST)])
}

/// Builds the command line with these commands in its help.
fn build_listing(language: Language, headings: &[(&str, &[&str])]) -> clap::Command {
    let command = translate_help(Args::command(), language)
        .mut_subcommands(|below| if below.get_name() == "run" { shorten_help(below) } else { below });
    let styles = clap::builder::Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let widest = headings.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (heading, names) in headings {
        template.push_str(&format!("{header}{}:{header:#}\n", language.describe(heading)));
        for name in *names {
            let subcommand = command.find_subcommand(name);
            let about = subcommand.and_then(clap::Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            template.push_str(&format!("  {literal}{name:widest$}{literal:#}  {about}\n"));
        }
        template.push('\n');
    }
    template
        .push_str(&format!("{header}{}:{header:#}\n{{options}}{{after-help}}", language.describe("Options")));
    command.help_template(template)
}

/// Translates the first line of a command's help and the headings of its arguments, and of all commands below it.
fn translate_help(command: clap::Command, language: Language) -> clap::Command {
    if language == Language::English {
        return command;
    }
    let first = command.get_about().map(ToString::to_string).unwrap_or_default();
    let about = language.find_description(&first);
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let long = about.map(|about| long.replacen(first.as_str(), about, 1)).filter(|long| !long.is_empty());
    let command = command.mut_args(|argument| {
        let usual = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = argument.get_help_heading().unwrap_or(usual).to_owned();
        match language.find_description(&heading) {
            Some(heading) => argument.help_heading(heading),
            None => argument,
        }
    });
    let command = command.mut_subcommands(|below| translate_help(below, language));
    let command = about.into_iter().fold(command, |command, about| command.about(about));
    long.into_iter().fold(command, |command, long| command.long_about(long))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_screens_are_short_and_all_is_behind_them() {
        let mut run = command_line().find_subcommand("run").unwrap().clone().term_width(80);
        let short = run.render_help().to_string();
        assert!(short.lines().count() <= 40, "{} lines: {short}", short.lines().count());
        assert!(SHORT.iter().all(|(_, text)| short.contains(text)), "{short}");
        assert!(run.render_long_help().to_string().contains("--until-decided"));
        let first = command_line().render_help().to_string();
        let whole = build_whole_command_line(Language::English).render_help().to_string();
        let commands = command_line();
        for name in commands.get_subcommands().map(clap::Command::get_name) {
            let lists =
                |text: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("{name} ")));
            assert_eq!((lists(&first), lists(&whole)), (FIRST.contains(&name), true), "{name}: {first}");
        }
    }

    #[test]
    fn first_lines_headings_and_groups_of_help_are_in_japanese() {
        let is_japanese = |text: &str| text.chars().any(|c| ('\u{3040}'..'\u{a000}').contains(&c));
        let command = build_command_line(Language::Japanese);
        for below in command.get_subcommands() {
            let about = below.get_about().unwrap().to_string();
            assert!(is_japanese(&about), "{}: {about}", below.get_name());
            let headings = below.get_arguments().filter_map(clap::Arg::get_help_heading);
            headings.for_each(|heading| assert!(is_japanese(heading), "{}: {heading}", below.get_name()));
        }
        let help = build_whole_command_line(Language::Japanese).render_help().to_string();
        for (heading, _) in HEADINGS {
            assert!(!help.contains(&format!("\n{heading}:")), "{help}");
        }
    }
}

//! The command line as its help shows it: commands under headings, in the user's language.

use clap::CommandFactory;
use tare_report::language::Language;

use super::Args;

/// Headings of `tare --help`, each with its commands.
pub const HEADINGS: [(&str, &[&str]); 5] = [
    ("Measure", &["here", "run", "fleet"]),
    ("Understand", &["explain", "advise", "ladder", "selftest"]),
    ("Report", &["report", "compare", "import"]),
    ("Look up", &["list", "show"]),
    ("Keep house", &["check", "serve", "environment", "clean", "self"]),
];

/// Builds the command line, whose help lists the commands under headings.
pub fn command_line() -> clap::Command {
    build_command_line(Language::English)
}

/// Builds the command line with first lines, headings and groups of its help in a language.
pub fn build_command_line(language: Language) -> clap::Command {
    let command = translate_help(Args::command(), language);
    let styles = clap::builder::Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let widest = HEADINGS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (heading, names) in HEADINGS {
        template.push_str(&format!("{header}{}:{header:#}\n", language.describe(heading)));
        for name in names {
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
    fn first_lines_headings_and_groups_of_help_are_in_japanese() {
        let is_japanese = |text: &str| text.chars().any(|c| ('\u{3040}'..'\u{a000}').contains(&c));
        let command = build_command_line(Language::Japanese);
        for below in command.get_subcommands() {
            let about = below.get_about().unwrap().to_string();
            assert!(is_japanese(&about), "{}: {about}", below.get_name());
            let headings = below.get_arguments().filter_map(clap::Arg::get_help_heading);
            headings.for_each(|heading| assert!(is_japanese(heading), "{}: {heading}", below.get_name()));
        }
        let help = build_command_line(Language::Japanese).render_help().to_string();
        for (heading, _) in HEADINGS {
            assert!(!help.contains(&format!("\n{heading}:")), "{help}");
        }
    }
}

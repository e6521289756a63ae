//! The command that repeats a session's plan, from the arguments in its record.

use tare_data::session::{Role, Session};
use tare_data::shell::join_words;

/// Formats the command that repeats the session's plan: same environments, same seed.
pub fn format_repeat_command(session: &Session) -> String {
    // Words after -- are a user command, not options of tare.
    let (recorded, command) = match session.header.command.iter().position(|word| word == "--") {
        Some(at) => session.header.command.split_at(at),
        None => (session.header.command.as_slice(), &[][..]),
    };
    let mut words: Vec<String> = std::iter::once("tare".to_owned()).chain(recorded.iter().cloned()).collect();
    if !names(recorded, "--seed") {
        words.extend(["--seed".to_owned(), format!("{:x}", session.plan.seed)]);
    }
    if !names(recorded, "--in") {
        let sides = &session.plan.targets;
        // Commands are compared in one environment.
        let subjects = sides.of_role(Role::Subject).filter(|side| side.command.is_none());
        let targets = sides.of_role(Role::Baseline).chain(subjects);
        let specifications: Vec<String> = targets.map(|target| target.specification.to_string()).collect();
        words.extend(["--in".to_owned(), specifications.join(",")]);
    }
    words.extend(command.iter().cloned());
    join_words(words)
}

/// Tells whether recorded words contain an option, as a separate word or with its value after `=`.
fn names(words: &[String], option: &str) -> bool {
    words.iter().any(|word| word.split('=').next() == Some(option))
}

#[cfg(test)]
mod tests {
    use tare_specimen::make_three_sides;

    use super::*;

    #[test]
    fn a_command_that_was_read_from_words_follows_the_separator_again() {
        let mut session = make_three_sides();
        // A record has the words as they were read, not as they were typed: tare run git status.
        session.header.command = ["run", "--", "git", "status"].map(str::to_owned).to_vec();
        let again = format_repeat_command(&session);
        assert!(again.starts_with("tare run --seed "), "{again}");
        assert!(again.contains(" --in ") && again.ends_with(" -- git status"), "{again}");
    }

    #[test]
    fn an_option_is_recognised_however_it_was_typed() {
        let words = |text: &[&str]| text.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for typed in [&["--in", "gvisor"][..], &["--in=gvisor"], &["--in=gvisor?net=host,native"]] {
            assert!(names(&words(typed), "--in"), "{typed:?}");
        }
        for typed in [&["--interval=3"][..], &["--only", "in"], &[]] {
            assert!(!names(&words(typed), "--in"), "{typed:?}");
        }
    }
}

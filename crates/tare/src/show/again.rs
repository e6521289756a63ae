//! The command that repeats a session's plan, from the arguments in its record.

use tare_data::session::{Role, Session};
use tare_data::shell::join_words;

/// Commands that choose environments without `--in`.
const WITHOUT_IN: [&str; 2] = ["ladder", "selftest"];

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
    if !names(recorded, "--in") && !recorded.first().is_some_and(|verb| WITHOUT_IN.contains(&verb.as_str())) {
        let sides = &session.plan.targets;
        // Commands are compared in one environment.
        let subjects = sides.of_role(Role::Subject).filter(|side| side.command.is_none());
        // A baseline that is named is not named again.
        let baseline = sides.of_role(Role::Baseline).filter(|_| !names(recorded, "--against"));
        let targets: Vec<String> =
            baseline.chain(subjects).map(|target| target.specification.to_string()).collect();
        let given = (!targets.is_empty()).then(|| ["--in".to_owned(), targets.join(",")]);
        words.extend(given.into_iter().flatten());
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
    fn a_baseline_that_was_named_is_not_named_again() {
        let mut session = make_three_sides();
        let again = |session: &mut Session, words: &[&str]| {
            session.header.command = words.iter().map(|word| (*word).to_owned()).collect();
            format_repeat_command(session)
        };
        assert!(again(&mut session, &["run"]).contains("native,container,gvisor"));
        // A preset has another specification than its name, and would be a further environment.
        let against = again(&mut session, &["run", "--against", "wsl2-like"]);
        assert!(against.contains("container,gvisor") && !against.contains("native"), "{against}");
        assert!(!again(&mut session, &["ladder", "container"]).contains(" --in "), "it has no such option");
        session.plan.targets.retain(|side| side.name == "native");
        assert!(!again(&mut session, &["run", "--against", "wsl2-like"]).contains(" --in "));
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

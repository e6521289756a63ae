//! The command that plans a session again, from the words that its record holds.

use tare_data::session::{Role, Session};

use crate::invocation::{quoted, unquoted};

/// The command that plans the same session again: same environments, same seed.
pub fn again(session: &Session) -> String {
    let mut words = vec!["tare".to_owned()];
    words.extend(session.header.command.iter().cloned());
    let recorded = &session.header.command;
    if !names(recorded, "--seed") {
        words.push(format!("--seed {:x}", session.plan.seed));
    }
    if !names(recorded, "--in") {
        let targets = session.plan.targets.iter().filter(|target| target.role != Role::Control);
        let specifications: Vec<&str> = targets.map(|target| target.specification.as_str()).collect();
        words.push(format!("--in {}", quoted(&specifications.join(","))));
    }
    words.join(" ")
}

/// Whether recorded words give an option: as a word of its own, or with its value after `=`.
fn names(words: &[String], option: &str) -> bool {
    words.iter().any(|word| unquoted(word).split('=').next() == Some(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_recognised_however_it_was_typed() {
        let words = |text: &[&str]| text.iter().map(|word| quoted(word)).collect::<Vec<_>>();
        for typed in [&["--in", "gvisor"][..], &["--in=gvisor"], &["--in=gvisor?net=host,native"]] {
            assert!(names(&words(typed), "--in"), "{typed:?}");
        }
        for typed in [&["--interval=3"][..], &["--only", "in"], &[]] {
            assert!(!names(&words(typed), "--in"), "{typed:?}");
        }
    }
}

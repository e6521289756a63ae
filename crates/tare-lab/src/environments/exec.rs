//! exec: whatever a launcher starts, which is words that come before a command.

use tare_data::facts::keys::LAUNCHER_WORDS;

use crate::launching::entering::Launcher;
use crate::launching::template::Far;
use crate::launching::words::{encode_words, split_words};
use crate::provider::prelude::*;

choice! {
    /// The way in, as a specification names it.
    enum NamedFar: "far",
        "how the agent gets there. auto: tried in this order; path: this machine's path is visible inside; \
         stdin: it is sent through standard input to a shell"
    {
        Auto = "auto",
        Path = "path",
        Stdin = "stdin",
    }
}

/// The name of the environment in reports.
pub(crate) const NAME: OptionDescription =
    OptionDescription::new_text("name", "", "heading in reports; exec and the program's name unless given");

const PROVIDER_NAME: &str = "exec";

pub static PROVIDER: fn() -> Provider = provider! {
    name: PROVIDER_NAME,
    instance: Some("words"),
    parse: |specification| Ok(Box::new(Exec::parse_words(specification)?)),
    summary: "whatever the words after ':' start, with a command after them",
    short_description: "anything that a launcher starts",
    stands_for: "any sandbox, container or machine that is entered by words before a command: 'exec:firejail --quiet --'. \
                 Nothing is known of it beforehand: tare looks around inside once a session, and notes how it got \
                 there (launcher.far), what differs from this machine (launcher.differs) and which folders both see. \
                 The words are split as a shell would, without expansion; write %2C for a comma and %3F for a question \
                 mark, or use --enter NAME='words'.",
    options: &[NAME, NamedFar::OPTION],
    descends: false,
    kernel: KernelFacts::OF_RUNTIME,
    roots: Roots::Any,
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["*".into()],
        writes: Some(
            "where the launcher leads: a copy of tare if it cannot see this one, and a folder for each start",
        ),
        ..Footprint::from_starts("the launcher with the agent after its words, and once more to look around")
    },
};

/// Writes the whole path of a program that is named relative to this folder into its specification: a session may be continued
/// in another.
pub(super) fn make_absolute(specification: &mut Specification) {
    let Some(instance) = specification.instance.as_mut().filter(|_| specification.provider == PROVIDER_NAME)
    else {
        return;
    };
    let end = instance.find(char::is_whitespace).unwrap_or(instance.len());
    let first = &instance[..end];
    let is_relative =
        first.contains('/') && !first.starts_with('/') && !first.contains(['\'', '"', '\\', '%']);
    if let (true, Ok(path)) = (is_relative, std::path::absolute(first)) {
        let path = tare_data::shell::quote_for_script(&encode_words(&path.to_string_lossy()));
        instance.replace_range(..end, &path);
    }
}

struct Exec {
    text: String,
    words: Vec<String>,
    far: NamedFar,
}

impl Exec {
    fn parse_words(specification: &Specification) -> Result<Exec, LabError> {
        let words = specification.instance.as_deref().map(split_words).transpose()?;
        Ok(Exec {
            text: specification.to_string(),
            words: words.unwrap_or_default(),
            far: NamedFar::from_specification(specification)?,
        })
    }
}

/// Explains why a program is not found: a path may be there and be none.
fn explain_missing(first: &str) -> String {
    match std::fs::metadata(first) {
        Ok(about) if first.contains('/') && about.is_dir() => format!("{first} is a folder"),
        Ok(_) if first.starts_with('/') => format!("{first} may not be executed"),
        Ok(_) if first.contains('/') => format!("{first} is not a whole path"),
        _ => format!("there is no program '{first}'"),
    }
}

impl Environment for Exec {
    fn proof(&self) -> Proof {
        Proof::None
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let first = self.words.first().ok_or_else(|| {
            NotReady::from_reason("no words are given: write exec:words, or --enter NAME='words'")
        })?;
        let program = programs.find(first).ok_or_else(|| NotReady::from_reason(explain_missing(first)))?;
        let mut facts = Facts::default();
        facts.add_fact("runtime.path", program.to_string_lossy());
        facts.add_fact(LAUNCHER_WORDS, tare_data::shell::join_words(&self.words));
        let words = [program.to_string_lossy().into_owned()].into_iter();
        let launcher = Launcher {
            name: self.text.clone(),
            words: words.chain(self.words[1..].iter().cloned()).collect(),
            far: match self.far {
                NamedFar::Auto => None,
                NamedFar::Path => Some(Far::Path),
                NamedFar::Stdin => Some(Far::Stdin),
            },
            ..Launcher::default()
        };
        Ok(Ready::new(facts, move |workspace| launcher.prepare_entrance(workspace)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell_and_bad_ones_are_refused() {
        let of = |text: &str| Exec::parse_words(&text.parse().unwrap());
        let exec = of("exec:bwrap --bind '/a b' /%2C%3F --?far=stdin").unwrap();
        assert_eq!(exec.words, ["bwrap", "--bind", "/a b", "/,?", "--"]);
        assert_eq!(exec.far, NamedFar::Stdin);
        assert!(of("exec:'x").is_err() && of("exec:x?far=moon").is_err());
        let mut relative: Specification = "exec:./bin/box --".parse().unwrap();
        make_absolute(&mut relative);
        assert!(relative.instance.unwrap().ends_with("/bin/box --"));
        assert!(of("exec").unwrap().check_ready(&Programs::default()).is_err());
    }
}

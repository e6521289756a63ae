//! The needs of a session in the sizes of the original tools, in words.

use crate::language::{Language, say};
use crate::number::format_gibibytes;
use crate::text::clean_text;

/// Time and room that a session in full size takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// The article, or the study.
    pub name: String,
    /// Time of a round's trials; 0 where none has a fixed length.
    pub round_s: f64,
    /// Rounds that an answer needs, and the time of their trials.
    pub rounds: u32,
    pub least_s: f64,
    /// Limit on the session's time; none where something else ends it.
    pub budget_s: Option<f64>,
    /// Room that files take; 0 without files.
    pub room_bytes: u64,
}

impl Needs {
    /// Says how long the session takes and how much room it needs, before it begins.
    pub fn describe(&self, language: Language) -> String {
        let time = |seconds| language.format_duration(seconds);
        let mut sentences = vec![say!(
            language,
            "{name} in full size: trials and files are as long as there.",
            name = clean_text(&self.name)
        )];
        if self.round_s > 0.0 {
            sentences.push(say!(
                language,
                "A round takes {round} at least, and the {rounds} rounds that an answer needs {all}.",
                round = time(self.round_s),
                rounds = self.rounds,
                all = time(self.least_s)
            ));
        }
        if let Some(budget_s) = self.budget_s {
            sentences.push(say!(
                language,
                "The session ends after {budget} at the latest; Ctrl-C ends it earlier, and --resume continues it.",
                budget = time(budget_s)
            ));
        }
        if self.room_bytes > 0 {
            let room = format_gibibytes(self.room_bytes);
            sentences.push(say!(language, "Its files take up to {room} on a disk.", room));
        }
        language.join_sentences(&sentences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_and_the_room_are_said_beforehand() {
        let needs = Needs {
            name: "tuni-wsl2-linux".into(),
            round_s: 2660.0,
            rounds: 6,
            least_s: 15_960.0,
            budget_s: Some(21_600.0),
            room_bytes: 60 << 30,
        };
        assert_eq!(
            needs.describe(Language::English),
            "tuni-wsl2-linux in full size: trials and files are as long as there. A round takes 44 min 20 s at least, and \
             the 6 rounds that an answer needs 4 h 26 min. The session ends after 6 h 0 min at the latest; Ctrl-C ends it \
             earlier, and --resume continues it. Its files take up to 60 GiB on a disk."
        );
        let of_sizes = Needs { round_s: 0.0, budget_s: None, room_bytes: 0, ..needs };
        assert!(!of_sizes.describe(Language::English).contains("round"), "no time is known");
    }
}

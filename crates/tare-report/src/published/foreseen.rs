//! Conclusions that a session will not tell, in words that are said before it begins.

use std::collections::BTreeSet;

use tare_analysis::published::{Foreseen, Obstacle, Published, foresee_untold};

use crate::language::{Language, message, say};
use crate::text::clean_text;

/// Says how many conclusions of an article a session will not tell, and what would; nothing where it may tell all.
pub fn describe_untold(article: &Published, environments: &[Foreseen], language: Language) -> Option<String> {
    let untold = foresee_untold(article, environments);
    let about = |name_of: fn(&Obstacle) -> Option<&str>, why: &'static str| {
        let names: Vec<&str> = untold.iter().filter_map(name_of).collect();
        let each: BTreeSet<String> = names.iter().map(|name| clean_text(name)).collect();
        let (count, each) = (names.len(), language.join_with_and(&each.into_iter().collect::<Vec<_>>()));
        let why = language.word(why);
        (count > 0).then(|| say!(language, "{count} about {names} ({why})", count, names = each, why))
    };
    let emulated = about(
        |of| if let Obstacle::Emulated(name) = of { Some(name) } else { None },
        message!("emulated here"),
    );
    let unmeasured = about(
        |of| if let Obstacle::Unmeasured(name) = of { Some(name) } else { None },
        message!("not measured"),
    );
    let never = untold.iter().filter(|of| **of == Obstacle::Always).count();
    let never =
        (never > 0).then(|| say!(language, "{count} that a session alone does not show", count = never));
    let reasons: Vec<String> = [emulated, unmeasured, never].into_iter().flatten().collect();
    let untold = (!reasons.is_empty()).then(|| {
        say!(
            language,
            "{article}: this session will not tell {count} of {all} conclusions, however long it is: {reasons}.",
            article = clean_text(&article.id),
            count = untold.len(),
            all = article.claims.len(),
            reasons = reasons.join(language.word("; "))
        )
    });
    let emulated = environments.iter().filter(|of| of.is_emulated);
    let emulated: Vec<String> = emulated.map(|of| clean_text(&of.specification)).collect();
    let of_emulated = (!emulated.is_empty()).then(|| {
        say!(
            language,
            "No row of {names} is judged, since the processor is emulated; with KVM it is \
             (tare check --in 'qemu?acceleration=kvm' says what is missing).",
            names = language.join_with_and(&emulated)
        )
    });
    let sentences: Vec<String> = untold.into_iter().chain(of_emulated).collect();
    (!sentences.is_empty()).then(|| language.join_sentences(&sentences))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_will_not_tell_is_said_with_what_would() {
        let article: Published =
            toml::from_str(include_str!("../../../../published/qiita-wsl-rtt.toml")).unwrap();
        let describe = |environments: &[(&str, bool)]| {
            let of = |(name, is_emulated): &(&str, bool)| Foreseen {
                specification: (*name).to_owned(),
                is_emulated: *is_emulated,
            };
            let environments: Vec<Foreseen> = environments.iter().map(of).collect();
            describe_untold(&article, &environments, Language::English)
        };
        let emulated = describe(&[("wsl1-like?net=host", false), ("wsl2-like?net=tap", true)]).unwrap();
        assert!(emulated.contains(" about wsl2-like?net=tap (emulated here)"), "{emulated}");
        assert!(emulated.contains("acceleration=kvm"), "{emulated}");
        let guest = describe(&[("wsl1-like", false), ("wsl2-like", false), ("guest", true)]).unwrap();
        assert!(guest.contains("No row of guest is judged") && !guest.contains("about guest"), "{guest}");
        let without = describe(&[("native", false), ("wsl1-like", false)]).unwrap();
        assert!(without.contains(" about wsl2 (not measured)"), "{without}");
        // Absolute figures, and two that no session tells.
        let real = describe(&[("wsl1-like", false), ("wsl2-like", false)]).unwrap();
        let rest =
            "will not tell 6 of 11 conclusions, however long it is: 6 that a session alone does not show.";
        assert!(real.ends_with(rest), "{real}");
    }
}

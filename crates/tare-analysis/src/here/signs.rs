//! Signs: facts as the rules read them, and what the signs of a layer are worth together.

use tare_data::facts::Facts;

use super::layers::{Class, Confidence, Evidence, Layer};

/// Conclusions that later ones rest on.
pub struct Seen<'a> {
    /// The program's code is translated, and the facts of the processor are not the machine's.
    pub translator: bool,
    /// The whole machine's processor is emulated.
    pub emulated: bool,
    pub kernels: &'a [Layer],
    pub tracers: &'a [Layer],
}

impl Seen<'_> {
    pub fn has_kernel(&self, name: &str) -> bool {
        self.kernels.iter().any(|layer| layer.name == name)
    }

    /// Tells whether another kernel answers, whose namespaces and mounts are its own.
    pub fn is_other_kernel(&self) -> bool {
        self.kernels.iter().any(|layer| layer.class == Class::Kernel && layer.confidence == Confidence::Sure)
    }

    pub fn has_tracer(&self, name: &str) -> bool {
        self.tracers.iter().any(|layer| layer.name == name)
    }
}

/// Facts, read by the rules.
#[derive(Clone, Copy)]
pub struct View<'a>(pub &'a Facts);

impl<'a> View<'a> {
    /// Returns a fact's text, empty where it is absent.
    pub fn text(self, key: &str) -> &'a str {
        self.0.get(key).unwrap_or_default()
    }

    pub fn number(self, key: &str) -> Option<f64> {
        self.text(key).parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Tells whether a fact that lists words has this one.
    pub fn has_word(self, key: &str, word: &str) -> bool {
        self.text(key).split(' ').any(|known| known == word)
    }

    pub fn evidence(self, fact: &'static str, proves: &'static str) -> Evidence {
        Evidence { fact, value: self.text(fact).to_owned(), proves }
    }
}

/// Strength of a sign: an act that only the layer can do, a name that others can take, or a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    Hint,
    Name,
    Act,
}

/// Signs of a layer that were found.
#[derive(Default)]
pub struct Signs(Vec<(Strength, Evidence)>);

impl Signs {
    pub fn note(&mut self, is_so: bool, strength: Strength, evidence: Evidence) {
        if is_so {
            self.0.push((strength, evidence));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges: an act or two names are sure, one name is likely, hints are possible.
    pub fn confidence(&self) -> Option<Confidence> {
        let names = self.0.iter().filter(|(strength, _)| *strength == Strength::Name).count();
        match self.0.iter().map(|(strength, _)| *strength).max()? {
            Strength::Act => Some(Confidence::Sure),
            Strength::Name if names > 1 => Some(Confidence::Sure),
            Strength::Name => Some(Confidence::Likely),
            Strength::Hint => Some(Confidence::Possible),
        }
    }

    pub fn into_layer(self, class: Class, name: &'static str, variant: &str) -> Option<Layer> {
        let confidence = self.confidence()?;
        let evidence = self.0.into_iter().map(|(_, evidence)| evidence).collect();
        Some(Layer { class, name, variant: variant.to_owned(), confidence, evidence })
    }
}

/// Parses the first two parts of a release into one number: 618 for `6.18.44`.
pub fn parse_release(text: &str) -> Option<u32> {
    const MOST_MINOR: u32 = 99;
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    let major: u32 = parts.next()?.parse().ok()?;
    let minor: u32 = parts.next()?.parse().ok()?;
    Some(major.min(1_000) * 100 + minor.min(MOST_MINOR))
}

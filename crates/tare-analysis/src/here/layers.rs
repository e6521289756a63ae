//! Layers: their kinds, how sure they are, and the evidence for them.

/// Kind of layer, in the order in which layers lie around a program, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Tracer,
    Filter,
    /// Runs programs for another processor.
    Translator,
    /// Another root folder, and nothing else.
    Root,
    Container,
    /// Answers system calls in place of the machine's Linux.
    Kernel,
    Machine,
}

impl Class {
    /// Returns its name in documents for programs.
    pub fn name(self) -> &'static str {
        match self {
            Class::Tracer => "tracer",
            Class::Filter => "filter",
            Class::Translator => "translator",
            Class::Root => "root",
            Class::Container => "container",
            Class::Kernel => "kernel",
            Class::Machine => "machine",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Possible,
    Likely,
    Sure,
}

impl Confidence {
    /// Returns its name in documents for programs.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Sure => "sure",
        }
    }
}

/// A fact, and the conclusion that it allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub fact: &'static str,
    pub value: String,
    pub proves: &'static str,
}

/// A layer between the program and the hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub class: Class,
    /// Name of the product or mechanism, e.g. `docker`, `gvisor`, `seccomp`.
    pub name: &'static str,
    /// Variant of the product, e.g. `systrap`; empty where there is none, or it does not show.
    pub variant: String,
    pub confidence: Confidence,
    pub evidence: Vec<Evidence>,
}

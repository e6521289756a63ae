//! Layers: their kinds, how sure they are, and the evidence for them.

use tare_data::named;

named! {
    /// Kind of layer, in the order in which layers lie around a program, the innermost first.
    pub enum Class {
        Tracer = "tracer",
        Filter = "filter",
        /// Runs programs for another processor.
        Translator = "translator",
        /// Another root folder, and nothing else.
        Root = "root",
        Container = "container",
        /// Answers system calls in place of the machine's Linux.
        Kernel = "kernel",
        Machine = "machine",
    }
}

named! {
    /// Certainty of a layer, the least first.
    pub enum Confidence {
        Possible = "possible",
        Likely = "likely",
        Sure = "sure",
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

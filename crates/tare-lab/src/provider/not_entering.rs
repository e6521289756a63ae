//! What stands in a provider's description where no environment can be entered.

/// An environment whose options were parsed.
pub trait Environment {}

/// What is done once for all environments of a provider.
#[derive(Debug)]
pub struct Preparation;

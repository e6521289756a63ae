//! The analysis as its users meet it: sessions in, findings out; and its promises, by simulation.

mod change;
mod deciding;
mod findings;
mod gaps;
mod gate;
mod golden;
mod hostile;
mod noise_models;
mod published;
mod reading;
mod sessions;
mod simulation;

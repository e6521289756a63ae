//! The analysis as its users meet it: sessions in, findings out; and its promises, by simulation.

mod across;
mod change;
mod deciding;
mod findings;
mod gate;
mod golden;
mod horizon;
mod hostile;
mod missing;
mod noise_models;
mod promises;
mod published;
mod reading;
mod selftest;
mod sessions;
mod simulation;
mod totals;

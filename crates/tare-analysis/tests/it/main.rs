//! The analysis as its users meet it: sessions in, findings out; and its promises, by simulation.

mod across;
mod answers;
mod bill;
mod change;
mod deciding;
mod findings;
mod fleet;
mod gate;
mod golden;
mod hostile;
mod missing;
mod published;
mod reading;
mod selftest;
mod sessions;
mod simulations;

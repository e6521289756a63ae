//! What the tests of the program share with `bench`: sessions that are killed or meet other faults, and what is left of
//! them.

pub mod kills;

//! Code that the tests of the program share with `bench`: sessions that are killed or meet other faults, and
//! the search for their remains.

pub mod kills;
pub mod ports;
pub mod programs;

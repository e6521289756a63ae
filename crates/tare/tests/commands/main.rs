//! The program as a person or a script meets it: what it prints, how it ends, what it leaves.

mod dry_run;
mod environments;
mod errors;
mod faults;
mod files;
mod held;
mod honesty;
mod importing;
mod kill;
mod kills;
mod liar;
mod memory;
mod owners;
mod peers;
mod places;
mod program;
mod serving;
mod sessions;
mod strangers;
mod tools;
mod trust;

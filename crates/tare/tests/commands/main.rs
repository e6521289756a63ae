//! The program as a person or a script meets it: what it prints, how it ends, what it leaves.

mod errors;
mod kill;
mod program;
mod sessions;

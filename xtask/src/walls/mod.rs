//! The dependency walls: what each crate must never reach.
//!
//! `table` says what is forbidden and why; `reach` asks cargo; `without_std` proves that the core needs no standard library.
//! Only normal dependencies are walled: tests may use what they like. A wall looks at packages, `tidy` at the source text.

mod check;
mod reach;
mod table;
mod without_std;

pub(crate) use check::run;

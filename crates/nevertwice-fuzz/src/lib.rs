//! What the fuzz targets check, and the runner that needs no fuzzer. Development only.
//!
//! Each file of `targets` is one reader of foreign bytes with the properties that it is held to: not only that it does not
//! panic, but that what was read is written back as it was, and that a damaged folder is refused with a code or gives a prefix
//! of its history, never more. Two programs drive them: a coverage-guided fuzzer (the folder `fuzz/` of the repository, which
//! needs a nightly toolchain), and [`replay`], which needs nothing: it takes the committed inputs and a fixed number of seeded
//! mutations of each, so that the same run happens everywhere.
//!
//! - [`TARGETS`]: the list;
//! - [`corpus`]: the committed inputs, and [`seeds`], which make the first of them from the product itself;
//! - [`Mutator`]: changes an input, as a seed has it.
//!
//! `docs/fuzzing.md` says how to run and what was found.
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod corpus;
mod forge;
mod mutate;
mod problem;
mod replay;
pub mod seeds;
mod target;
pub mod targets;

pub use mutate::Mutator;
pub use replay::{Tally, replay};
pub use target::{TARGETS, Target, Verdict, target};

//! Runs a command of the binary to its end.

use std::process::{Command, Output};

/// For [`Command`].
pub(crate) trait Ran {
    /// Runs it to its end, and notes the codes that it tells.
    fn ran(&mut self) -> Output;
}

impl Ran for Command {
    fn ran(&mut self) -> Output {
        let output = self.output().expect("the binary starts");
        for text in [&output.stdout, &output.stderr] {
            nevertwice_testkit::codes::met_in(&String::from_utf8_lossy(text));
        }
        output
    }
}

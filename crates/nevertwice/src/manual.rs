//! `nevertwice completions` and `nevertwice man`: both are made from the definition of the command line, so they can't be behind it.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output::report;

/// Writes the completions of a shell to standard output.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Of which shell.
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "nevertwice", &mut text);
        report(|out| Ok(out.write_all(&text)?))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the manual page to standard output, or all pages into a folder.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder for all pages, one for each command; it must exist.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(&self, command: Command) -> Result<ExitCode, Box<dyn Error>> {
        match &self.to {
            Some(folder) => clap_mangen::generate_to(command, folder)
                .map_err(|error| format!("{}: {error}; name a folder that exists and can be written", folder.display()))?,
            None => {
                let mut text = Vec::new();
                Man::new(command).render(&mut text)?;
                report(|out| Ok(out.write_all(&text)?))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

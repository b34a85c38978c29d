//! Where the repository is, and how its tools are called.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cargo_metadata::{Metadata, MetadataCommand};

use crate::step::Failure;

pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The nearest folder, from this package or the working directory upwards, that holds the lock file.
    pub(crate) fn find() -> Result<Self, Failure> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => {
                env::current_dir().map_err(|error| Failure::new(format!("no working directory: {error}"), "change to the repository"))?
            }
        };
        match start.ancestors().find(|dir| dir.join("Cargo.lock").is_file()) {
            Some(root) => Ok(Self { root: root.to_path_buf() }),
            None => {
                Err(Failure::new(format!("no Cargo.lock in {} or above it", start.display()), "run `cargo xtask` inside the repository"))
            }
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that runs us, in the root of the repository.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    pub(crate) fn metadata(&self) -> Result<Metadata, Failure> {
        let mut command = MetadataCommand::new();
        command.current_dir(&self.root).other_options(vec!["--locked".into(), "--all-features".into()]);
        command.exec().map_err(|error| {
            Failure::new(
                format!("`cargo metadata --locked --all-features` failed: {error}"),
                "if the lock file is out of date, run `cargo metadata` once and commit Cargo.lock",
            )
        })
    }
}

/// Runs a command whose output goes straight to the terminal.
pub(crate) fn stream(command: &mut Command, remedy: &str) -> Result<(), Failure> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}`: {status}", shown(command)), remedy)) }
}

/// Runs a command and keeps its output.
pub(crate) fn capture(command: &mut Command) -> Result<Output, Failure> {
    command.output().map_err(|error| not_started(command, &error))
}

/// The command as one would type it, without the folder of the program.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("`{}` did not start: {error}", shown(command)),
        "check that the Rust toolchain with rustfmt and clippy is installed",
    )
}

//! How the commands ask a server: with which key, and whose certificates are believed.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Args;
use nevertwice_server::config::Secret;
use nevertwice_server::{Remote, Target};

/// How a server is asked.
#[derive(Args, Debug)]
pub(crate) struct AskingArgs {
    /// A file with the server's operator key; none if it has no keys.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// A file with the certificates, in PEM, of the authorities that are believed over https; those of the system if absent.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl AskingArgs {
    /// The server; nothing is asked yet.
    pub(crate) fn remote(&self, target: &Target) -> Result<Remote, Box<dyn Error>> {
        let key = self.api_key_file.as_deref().map(read_key).transpose()?;
        Ok(Remote::new(target.clone(), key, self.ca.as_deref())?)
    }
}

/// A key, from a file: on the command line everybody on the machine could see it.
fn read_key(file: &Path) -> Result<Secret, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the key can't be read from {}: {error}; nothing was done", file.display()))?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{} holds no key of visible ASCII characters; nothing was done", file.display()).into());
    }
    Ok(Secret::new(key))
}

//! Puts the settings together from where they come from.

use std::collections::HashMap;
use std::path::PathBuf;

use config::builder::DefaultState;
use config::{ConfigBuilder, Environment, File, FileFormat};
use nevertwice_api::ErrorCode;

use super::Config;
use crate::error::StartError;

/// What every variable of the environment begins with.
const PREFIX: &str = "NEVERTWICE";

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A TOML file.
    pub file: Option<PathBuf>,
    /// The environment; what does not begin with `NEVERTWICE_` is passed over.
    pub environment: HashMap<String, String>,
    /// What the command line says, by key.
    pub flags: Vec<(String, String)>,
}

/// Puts the settings together, and refuses nonsense.
///
/// # Errors
/// If the file can't be read, a key is unknown, a value has the wrong type, or settings contradict each other.
pub fn load(sources: &Sources) -> Result<Config, StartError> {
    let config: Config = build(sources).and_then(|built| built.try_deserialize()).map_err(|error| refuse(&error.to_string()))?;
    config.check()?;
    Ok(config)
}

fn build(sources: &Sources) -> Result<config::Config, config::ConfigError> {
    let mut builder: ConfigBuilder<DefaultState> = config::Config::builder();
    if let Some(file) = &sources.file {
        builder = builder.add_source(File::from(file.as_path()).format(FileFormat::Toml).required(true));
    }
    let environment = Environment::with_prefix(PREFIX).prefix_separator("_").source(Some(sources.environment.clone()));
    builder = builder.add_source(environment);
    for (key, value) in &sources.flags {
        builder = builder.set_override(key, value.as_str())?;
    }
    builder.build()
}

fn refuse(wrong: &str) -> StartError {
    StartError::new(
        ErrorCode::ConfigurationInvalid,
        format!("{wrong}. Nothing was started. See docs/configuration.md for the settings, their types and their ranges."),
    )
}

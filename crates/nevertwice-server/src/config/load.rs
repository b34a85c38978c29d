//! Puts the settings together from where they come from.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use config::builder::DefaultState;
use config::{ConfigBuilder, Environment, File, FileFormat};
use nevertwice_api::ErrorCode;

use super::Config;
use super::renamed::old_name;
use crate::error::StartError;

/// What every variable of the environment begins with.
const PREFIX: &str = "NEVERTWICE";
const SEPARATOR: &str = "_";

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

/// What the environment (such as `std::env::vars_os()`) says about settings. What does not begin with `NEVERTWICE_` may be
/// anything, and is passed over.
///
/// # Errors
/// If the name or the value of a setting is not UTF-8. The value is not told: it may be a key.
pub fn environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<HashMap<String, String>, StartError> {
    let is_setting = |name: &OsString| {
        let rest = name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(SEPARATOR.as_bytes()))
    };
    let read = |(name, value): (OsString, OsString)| match (name.into_string(), value.into_string()) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        (Ok(name), Err(_)) => Err(refuse(&format!("The value of the environment's {name} is not UTF-8"))),
        (Err(name), _) => Err(refuse(&format!("The name of the environment's {} is not UTF-8", name.display()))),
    };
    variables.into_iter().filter(|(name, _)| is_setting(name)).map(read).collect()
}

/// Puts the settings together, and refuses nonsense.
///
/// # Errors
/// If the file can't be read, a key is unknown, a value has the wrong type, or settings contradict each other.
pub fn load(sources: &Sources) -> Result<Config, StartError> {
    let Some(path) = &sources.file else { return load_from(None, sources) };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(&format!("{} can't be read: {error}", path.display())))?;
    load_from(Some((&path.display().to_string(), &text)), sources)
}

/// The same with a file of that name and text.
pub(crate) fn load_from(file: Option<(&str, &str)>, sources: &Sources) -> Result<Config, StartError> {
    let table = file.map(|(name, toml)| check_toml(name, toml)).transpose()?;
    if let Some(old) = old_name(table.as_ref(), sources) {
        return Err(refuse(&old));
    }
    let toml = file.map(|(_, toml)| toml);
    let config: Config = build(toml, sources).and_then(|built| built.try_deserialize()).map_err(|error| refuse(&error.to_string()))?;
    config.check()?;
    Ok(config)
}

/// Refuses what is no TOML. The library's own message would show the line, and with it a key that stands there.
fn check_toml(name: &str, toml: &str) -> Result<toml::Table, StartError> {
    let error = match toml.parse::<toml::Table>() {
        Ok(table) => return Ok(table),
        Err(error) => error,
    };
    let before = error.span().and_then(|span| toml.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Err(refuse(&format!("{name} is no TOML: line {line}: {}", error.message())))
}

fn build(toml: Option<&str>, sources: &Sources) -> Result<config::Config, config::ConfigError> {
    let mut builder: ConfigBuilder<DefaultState> = config::Config::builder();
    if let Some(toml) = toml {
        builder = builder.add_source(File::from_str(toml, FileFormat::Toml));
    }
    let environment = Environment::with_prefix(PREFIX).prefix_separator(SEPARATOR).source(Some(sources.environment.clone()));
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

//! What the configuration says of traces, checked and read.

use std::path::PathBuf;
use std::str::FromStr;

use axum::http::Uri;
use nevertwice_api::ErrorCode;
use tokio::time::Duration;

use super::headers::Headers;
use crate::config::Config;
use crate::error::StartError;
use crate::remote::Target;
use crate::watched;

/// The largest file of headers.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Where traces go below a collector's address.
const TRACES: &str = "/v1/traces";

/// The address of a collector: that of a server, and the path of its traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(super) target: Target,
    pub(super) path: String,
}

impl Endpoint {
    pub(crate) const fn has_tls(&self) -> bool {
        self.target.has_tls()
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|_| "it is no URL".to_owned())?;
        let target = Target::of(&uri).map_err(|error| error.to_string())?;
        if uri.query().is_some() {
            return Err("it has a query, which does not belong there".to_owned());
        }
        let path = format!("{}{TRACES}", uri.path().trim_end_matches('/'));
        Ok(Self { target, path })
    }
}

/// How traces are recorded and sent.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) endpoint: Endpoint,
    pub(super) ca: Option<PathBuf>,
    pub(super) headers: Headers,
    pub(super) service_name: String,
    pub(super) sample_ratio: f64,
    pub(super) queue_max: usize,
    pub(super) flush: Duration,
    pub(super) timeout: Duration,
}

impl Options {
    /// What the configuration says; `None` if there is no collector. Reads the file of headers.
    pub(super) fn of(config: &Config) -> Result<Option<Self>, String> {
        let Some(endpoint) = &config.otlp_endpoint else { return Ok(None) };
        let endpoint = endpoint.parse().map_err(|wrong| format!("`otlp_endpoint`: {wrong}"))?;
        let headers = match (&config.otlp_headers, &config.otlp_headers_file) {
            (Some(secret), _) => Headers::read(secret.reveal()).map_err(|wrong| format!("`otlp_headers`: {wrong}"))?,
            (None, Some(path)) => {
                let contents = watched::read(std::slice::from_ref(path), FILE_BYTES_MAX)?;
                let text = contents.first().map_or(Ok(""), |bytes| std::str::from_utf8(bytes));
                let text = text.map_err(|_| format!("{} is not UTF-8", path.display()))?;
                Headers::read(text).map_err(|wrong| format!("{}: {wrong}", path.display()))?
            }
            (None, None) => Headers::default(),
        };
        Ok(Some(Self {
            endpoint,
            ca: config.otlp_ca_file.clone(),
            headers,
            service_name: config.otlp_service_name.clone(),
            sample_ratio: config.otlp_sample_ratio,
            queue_max: config.otlp_queue_max,
            flush: Duration::from_millis(config.otlp_flush_ms),
            timeout: Duration::from_millis(config.otlp_timeout_ms),
        }))
    }
}

/// What a start would refuse of the files that the settings of traces name.
pub(super) fn refuse(wrong: &str) -> StartError {
    StartError::new(
        ErrorCode::ConfigurationInvalid,
        format!("{wrong}. Nothing was started. Correct the settings of traces, `otlp_…`, or the files that they name."),
    )
}

/// Reads the files of the collector's settings as a start would. `None`: no collector is set; else whether headers with secrets go
/// to it over a connection that anybody on the way can read.
///
/// # Errors
/// What is wrong, in words, without what stands in the files.
pub fn check_otlp_files(config: &Config) -> Result<Option<bool>, String> {
    let Some(options) = Options::of(config)? else { return Ok(None) };
    super::exporter::connect(&options)?;
    Ok(Some(!options.headers.is_empty() && !options.endpoint.has_tls()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_address_and_a_path_to_which_traces_are_added() {
        for (text, target, path) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318", "/v1/traces"),
            ("https://otlp.example/", "https://otlp.example", "/v1/traces"),
            ("https://otlp.example/otlp/", "https://otlp.example", "/otlp/v1/traces"),
        ] {
            let endpoint: Endpoint = text.parse().expect("an endpoint");
            assert_eq!((endpoint.target.to_string().as_str(), endpoint.path.as_str()), (target, path));
        }
        for text in ["", "collector:4318", "grpc://collector:4317", "http://key@collector", "http://collector?a=b"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}

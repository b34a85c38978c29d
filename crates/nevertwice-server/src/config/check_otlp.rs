//! What is refused of the settings of traces. What stands in their files is looked at when they are read.

use super::Config;
use crate::telemetry::Endpoint;

/// The longest name of a service.
const NAME_CHARS_MAX: usize = 128;

impl Config {
    pub(super) fn check_otlp(&self, wrong: &mut Vec<String>) {
        let mut refuse = |is_wrong: bool, text: &str| {
            if is_wrong {
                wrong.push(text.to_owned());
            }
        };
        let has_others = self.otlp_ca_file.is_some() || self.otlp_headers.is_some() || self.otlp_headers_file.is_some();
        let Some(endpoint) = &self.otlp_endpoint else {
            return refuse(has_others, "`otlp_endpoint` is missing: without it no traces are sent, and what goes with them means nothing");
        };
        match endpoint.parse::<Endpoint>() {
            Ok(endpoint) => {
                let is_vain = self.otlp_ca_file.is_some() && !endpoint.has_tls();
                refuse(is_vain, "`otlp_ca_file` is for a collector that is reached over https://, and `otlp_endpoint` is not");
            }
            // What stands there is not shown: whoever puts a password into the address finds out so.
            Err(what) => refuse(true, &format!("`otlp_endpoint` is no address of a collector: {what}")),
        }
        let has_two = self.otlp_headers.is_some() && self.otlp_headers_file.is_some();
        refuse(has_two, "`otlp_headers` and `otlp_headers_file` say the same: set one of them");
        let name = &self.otlp_service_name;
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        refuse(!is_name, &format!("`otlp_service_name` must have 1 to {NAME_CHARS_MAX} characters"));
        let ratio = self.otlp_sample_ratio;
        refuse(!(0.0..=1.0).contains(&ratio), &format!("`otlp_sample_ratio` must be from 0 to 1, and is {ratio}"));
    }
}

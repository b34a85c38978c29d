//! Traces: would a start take what goes with them to the collector, and who can read it?

use nevertwice_server::check_otlp_files;
use nevertwice_server::config::Config;

use super::finding::{Finding, Grade};
use super::permissions::{self, Kept};

const SUBJECT: &str = "traces";

pub(super) fn look(config: &Config) -> Vec<Finding> {
    let Some(endpoint) = &config.otlp_endpoint else { return Vec::new() };
    let mut findings = vec![match check_otlp_files(config) {
        Ok(Some(true)) => Finding::new(
            SUBJECT,
            Grade::Warning,
            format!("headers go with the traces to {endpoint}, which is reached without TLS"),
            "A key in them crosses the network as it is: whoever can listen there has it.",
            "reach the collector over https://, or through one on this machine",
        ),
        Ok(_) => {
            Finding::fine(SUBJECT, format!("traces go to {endpoint}"), "Whether it takes them, `nevertwice_spans_exported_total` tells.")
        }
        Err(wrong) => {
            let advice = "mend the file, or what `otlp_headers_file` and `otlp_ca_file` name";
            Finding::new(SUBJECT, Grade::Error, wrong, "`serve` would refuse to start.", advice)
        }
    }];
    let files = [(&config.otlp_headers_file, Kept::Secret), (&config.otlp_ca_file, Kept::Open)];
    findings.extend(files.into_iter().filter_map(|(file, kept)| permissions::look(SUBJECT, file.as_deref()?, kept)));
    findings
}

#[cfg(test)]
mod tests {
    use nevertwice_server::config::Secret;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn what_goes_to_the_collector_is_judged_as_a_start_would() {
        assert_eq!(look(&Config::default()), Vec::new());
        let folder = TempDir::new().expect("a folder can be made");
        let file = folder.path().join("headers");
        let to = |endpoint: &str| Config { otlp_endpoint: Some(endpoint.to_owned()), ..Config::default() };
        let plain = to("http://127.0.0.1:4318");
        assert_eq!(look(&plain)[0].grade, Grade::Fine);
        assert_eq!(look(&Config { otlp_headers: Some(Secret::new("a: hush")), ..plain.clone() })[0].grade, Grade::Warning);
        let with_file = Config { otlp_headers_file: Some(file.clone()), ..plain };
        assert_eq!(look(&with_file)[0].grade, Grade::Error);
        std::fs::write(&file, "authorization: hush-0123456789").expect("it can be written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
            assert!(look(&with_file).iter().any(|finding| finding.found.contains("mode 644")), "{:?}", look(&with_file));
        }
        assert!(!format!("{:?}", look(&with_file)).contains("hush"));
    }
}

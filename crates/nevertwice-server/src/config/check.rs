//! What is refused: nonsense, and what is unsafe together.

use nevertwice_api::{ErrorCode, Level};
use nevertwice_core::limits::{HOLD_MS_MAX, LEASE_MS_MAX, RETENTION_MS_MAX, RETENTION_MS_MIN};

use nevertwice_local::REPLICAS_MAX;

use super::{Config, Secret};
use crate::access::PREFIX;
use crate::error::StartError;

/// How often a hold is looked at, at least, before it ends.
pub(crate) const SWEEPS_A_HOLD: u64 = 4;

/// The shortest and the longest key of a caller.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 16..=512;

impl Config {
    /// Refuses settings that are nonsense, or unsafe together. All that is wrong is named at once.
    ///
    /// # Errors
    /// If anything is wrong.
    pub fn check(&self) -> Result<(), StartError> {
        let mut wrong = Vec::new();
        self.check_ranges(&mut wrong);
        self.check_keys(&mut wrong);
        self.check_together(&mut wrong);
        self.check_jwt(&mut wrong);
        self.check_key_records(&mut wrong);
        self.check_otlp(&mut wrong);
        if !wrong.is_empty() {
            return Err(StartError::new(
                ErrorCode::ConfigurationInvalid,
                format!("{}. Nothing was started. Correct the settings; docs/configuration.md lists them.", wrong.join("; ")),
            ));
        }
        if !self.has_credentials() && !self.listen.ip().is_loopback() {
            return Err(StartError::new(
                ErrorCode::CredentialsRequired,
                format!(
                    "`listen` is {}, which others can reach, and there are no credentials: none of `operator_key`, `service_key`, `keys_file` and `jwt_issuer` is set. Nothing was started. Set a key, make one with `nevertwice key`, or listen on 127.0.0.1.",
                    self.listen
                ),
            ));
        }
        Ok(())
    }

    fn check_ranges(&self, wrong: &mut Vec<String>) {
        let mut in_range = |key: &str, value: i128, min: i128, max: i128| {
            if value < min || value > max {
                wrong.push(format!("`{key}` must be from {min} to {max}, and is {value}"));
            }
        };
        in_range("replicas_min", self.replicas_min as i128, 0, REPLICAS_MAX as i128);
        in_range("replicas_wait_ms", self.replicas_wait_ms.into(), 10, 600_000);
        in_range("ledger_wait_ms", self.ledger_wait_ms.into(), 10, 600_000);
        in_range("ledger_lag_ms_max", self.ledger_lag_ms_max.into(), 1, RETENTION_MS_MAX.into());
        in_range("ledger_connections_max", self.ledger_connections_max.into(), 1, 1_000);
        in_range("ledger_statement_ms", self.ledger_statement_ms.into(), 100, 3_600_000);
        in_range("queue_max", self.queue_max as i128, 1, 1_000_000);
        in_range("retention_ms", self.retention_ms.into(), RETENTION_MS_MIN.into(), RETENTION_MS_MAX.into());
        in_range("keys_records_max", self.keys_records_max.into(), 1, 1_000_000_000);
        in_range("keys_answers_bytes_max", self.keys_answers_bytes_max.into(), 1, 1 << 40);
        in_range("keys_records_per_principal_max", self.keys_records_per_principal_max.into(), 0, 1_000_000_000);
        in_range("keys_answers_bytes_per_principal_max", self.keys_answers_bytes_per_principal_max.into(), 0, 1 << 40);
        in_range("keys_answer_bytes_max", self.keys_answer_bytes_max.into(), 1, 1 << 25);
        in_range("keys_retention_ms", self.keys_retention_ms.into(), RETENTION_MS_MIN.into(), RETENTION_MS_MAX.into());
        in_range("keys_lease_ms", self.keys_lease_ms.into(), 1, LEASE_MS_MAX.into());
        in_range("keys_lease_ms_max", self.keys_lease_ms_max.into(), 1, LEASE_MS_MAX.into());
        in_range("hold_ms", self.hold_ms.into(), 1, HOLD_MS_MAX.into());
        in_range("sweep_ms", self.sweep_ms.into(), 10, 3_600_000);
        in_range("closing_grace_ms", self.closing_grace_ms.into(), 0, HOLD_MS_MAX.into());
        in_range("answer_deadline_ms", self.answer_deadline_ms.into(), 10, 600_000);
        in_range("request_read_ms", self.request_read_ms.into(), 10, 600_000);
        in_range("tls_handshake_ms", self.tls_handshake_ms.into(), 10, 600_000);
        in_range("otlp_queue_max", self.otlp_queue_max as i128, 1, 1_000_000);
        in_range("otlp_flush_ms", self.otlp_flush_ms.into(), 10, 60_000);
        in_range("otlp_timeout_ms", self.otlp_timeout_ms.into(), 10, 60_000);
        in_range("reload_ms", self.reload_ms.into(), 10, 3_600_000);
        in_range("drain_ms", self.drain_ms.into(), 0, 600_000);
        in_range("body_bytes_max", self.body_bytes_max as i128, 1_024, 1 << 26);
        in_range("batch_lines_max", self.batch_lines_max as i128, 1, 10_000);
        in_range("batch_line_bytes_max", self.batch_line_bytes_max as i128, 256, 65_536);
        in_range("headers_bytes_max", self.headers_bytes_max as i128, 1_024, 1 << 20);
        in_range("headers_max", self.headers_max as i128, 8, 1_024);
        in_range("connections_max", self.connections_max as i128, 1, 1_000_000);
        in_range("connections_per_address_max", self.connections_per_address_max as i128, 0, 1_000_000);
        in_range("requests_max", self.requests_max.into(), 1, 1_000_000);
        in_range("requests_reserved_percent", self.requests_reserved_percent.into(), 0, 90);
        in_range("requests_waiting_max", self.requests_waiting_max.into(), 0, 1_000_000);
        in_range("request_wait_ms", self.request_wait_ms.into(), 1, 600_000);
        for (rate, per_second, burst, at_once) in [
            ("rate_per_principal", self.rate_per_principal, "burst_per_principal", self.burst_per_principal),
            ("rate_per_key", self.rate_per_key, "burst_per_key", self.burst_per_key),
            ("rate_per_address", self.rate_per_address, "burst_per_address", self.burst_per_address),
        ] {
            in_range(rate, per_second.into(), 0, 1_000_000);
            in_range(burst, at_once.into(), 1, 1_000_000);
        }
    }

    fn check_keys(&self, wrong: &mut Vec<String>) {
        for (key, secret) in [("operator_key", &self.operator_key), ("service_key", &self.service_key)] {
            let is_fine = |secret: &Secret| {
                let text = secret.reveal();
                KEY_BYTES.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
            };
            if secret.as_ref().is_some_and(|secret| !is_fine(secret)) {
                wrong.push(format!("`{key}` must have {} to {} visible ASCII characters", KEY_BYTES.start(), KEY_BYTES.end()));
            }
        }
        for (key, secret) in [("operator_key", &self.operator_key), ("service_key", &self.service_key)] {
            if secret.as_ref().is_some_and(|secret| secret.reveal().starts_with(PREFIX)) {
                wrong.push(format!("`{key}` must not begin with `{PREFIX}`: that is how the keys of `keys_file` begin"));
            }
        }
        if self.operator_key.is_some() && self.operator_key == self.service_key {
            wrong.push("`operator_key` and `service_key` must differ".to_owned());
        }
    }

    fn check_together(&self, wrong: &mut Vec<String>) {
        if i128::from(self.sweep_ms) * i128::from(SWEEPS_A_HOLD) > i128::from(self.hold_ms) {
            wrong.push("`sweep_ms` must be at most a quarter of `hold_ms`: holds have to end on time".to_owned());
        }
        if self.hold_ms >= self.retention_ms {
            wrong.push("`hold_ms` must be shorter than `retention_ms`: a retry within the hold must find its booking".to_owned());
        }
        if i128::from(self.answer_deadline_ms) * 2 > i128::from(self.retention_ms) {
            wrong.push(
                "`answer_deadline_ms` must be at most half of `retention_ms`: a retry must find what its first attempt did".to_owned(),
            );
        }
        match self.level {
            Level::Decided | Level::Journaled => {}
            Level::Replicated if self.replicas_min > 0 => {}
            Level::Replicated => {
                wrong.push("`level` is `replicated`, which needs a `replicas_min` of 1 or more, and as many standbys".to_owned())
            }
            Level::Ledgered if self.ledger.is_some() => {}
            Level::Ledgered => wrong.push("`level` is `ledgered`, which needs a `ledger`".to_owned()),
        }
        if self.ledger.is_some() && self.ledger_wait_ms > self.answer_deadline_ms {
            wrong.push("`ledger_wait_ms` must be at most `answer_deadline_ms`: nobody would hear what came later".to_owned());
        }
        if self.ledger.is_some() && i128::from(self.ledger_lag_ms_max) >= i128::from(self.retention_ms) {
            wrong.push(
                "`ledger_lag_ms_max` must be shorter than `retention_ms`: a key must not be forgotten before the ledger has it".to_owned(),
            );
        }
        if self.ledger.is_none() && self.ledger_password_file.is_some() {
            wrong.push("`ledger_password_file` is the password of a `ledger`, and there is none".to_owned());
        }
        if self.replicas_min > 0 && self.replicas_wait_ms > self.answer_deadline_ms {
            wrong.push("`replicas_wait_ms` must be at most `answer_deadline_ms`: nobody would hear what came later".to_owned());
        }
        if self.person_key_file.is_none() && self.data.file_name().is_none() {
            wrong.push("`data` has no name to put `.key` behind, so `person_key_file` must say where that file is".to_owned());
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            wrong.push("`tls_certificate` and `tls_key` belong together: set both, or neither".to_owned());
        }
        if let Some(url) = &self.public_url {
            let is_http = url.starts_with("http://") || url.starts_with("https://");
            if !is_http || url.len() > 512 || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
                wrong.push("`public_url` must be an http or https address of visible ASCII characters".to_owned());
            }
        }
    }
}

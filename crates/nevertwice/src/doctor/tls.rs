//! TLS: would a start take the certificate and its key, and for how long will clients?

use nevertwice_server::config::Config;
use nevertwice_server::{CertificateTimes, check_tls_files, instant_text};

use super::finding::{Finding, Grade};
use super::permissions::{self, Kept};

const SUBJECT: &str = "TLS";

/// From here on somebody should renew it.
const SOON_MS: i64 = 14 * 86_400_000;

pub(super) fn look(config: &Config, now_ms: i64) -> Vec<Finding> {
    let (Some(certificate), Some(key)) = (&config.tls_certificate, &config.tls_key) else { return judge_none(config) };
    let mut findings = vec![match check_tls_files(config) {
        Ok(times) => judge(times, now_ms),
        Err(wrong) => Finding::new(
            SUBJECT,
            Grade::Error,
            wrong,
            "`serve` would refuse to start; one that runs goes on with the pair that it had.",
            "mend the files, or what `tls_certificate` and `tls_key` name; docs/access.md says how they are read again",
        ),
    }];
    findings.extend(permissions::look(SUBJECT, key, Kept::Secret));
    findings.extend(permissions::look(SUBJECT, certificate, Kept::Open));
    findings
}

fn judge_none(config: &Config) -> Vec<Finding> {
    if config.listen.ip().is_loopback() {
        return Vec::new();
    }
    let found = format!("`tls_certificate` and `tls_key` are not set, and the server listens on {}", config.listen);
    let means = "Keys and JWTs cross the network as they are: whoever can listen there has them.";
    let advice = "set both, or have a proxy on this machine end TLS and listen on 127.0.0.1";
    vec![Finding::new(SUBJECT, Grade::Note, found, means, advice)]
}

fn judge(times: Option<CertificateTimes>, now_ms: i64) -> Finding {
    let Some(CertificateTimes { begins_at, ends_at }) = times else {
        return Finding::new(
            SUBJECT,
            Grade::Note,
            "certificate and key belong together, and the certificate does not tell when it ends",
            "Nobody will warn before it does.",
            "look at it with `openssl x509 -noout -dates`",
        );
    };
    let at = |at_ms: i64| instant_text(at_ms).unwrap_or_else(|| "an instant out of range".to_owned());
    let renew = "renew the certificate; a running server reads it again within `reload_ms`, or at SIGHUP";
    if now_ms < begins_at {
        let found = format!("the certificate, or one that leads to its root, begins at {}", at(begins_at));
        return Finding::new(
            SUBJECT,
            Grade::Error,
            found,
            "Clients refuse it until then.",
            "compare this machine's clock, or take another",
        );
    }
    let left_ms = ends_at.saturating_sub(now_ms);
    if left_ms <= 0 {
        let found = format!("the certificate, or one that leads to its root, ended at {}", at(ends_at));
        return Finding::new(SUBJECT, Grade::Error, found, "Clients refuse to connect.", renew);
    }
    let found = format!("certificate and key belong together; the first of the certificates ends at {}", at(ends_at));
    if left_ms < SOON_MS {
        let found = format!("{found}, in {} days", left_ms / 86_400_000);
        return Finding::new(SUBJECT, Grade::Warning, found, "From then on clients refuse to connect.", renew);
    }
    Finding::fine(SUBJECT, found, "Clients that trust its root can connect until then.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_judged_by_how_long_it_lasts() {
        let now_ms = 1_790_000_000_000;
        let grade = |begins_ms: i64, ends_ms: i64| {
            judge(Some(CertificateTimes { begins_at: now_ms + begins_ms, ends_at: now_ms + ends_ms }), now_ms).grade
        };
        assert_eq!(grade(-1, SOON_MS), Grade::Fine);
        assert_eq!(grade(-1, SOON_MS - 1), Grade::Warning);
        assert_eq!(grade(-1, 1), Grade::Warning);
        assert_eq!(grade(-1, 0), Grade::Error);
        assert_eq!(grade(1, SOON_MS), Grade::Error);
        assert_eq!(grade(i64::MIN + now_ms, i64::MAX - now_ms), Grade::Fine);
        assert_eq!(judge(None, now_ms).grade, Grade::Note);
    }

    #[test]
    fn who_listens_to_others_without_it_is_told() {
        assert_eq!(look(&Config::default(), 0), Vec::new());
        let open = Config { listen: ([10, 0, 0, 1], 80).into(), ..Config::default() };
        assert_eq!(look(&open, 0)[0].grade, Grade::Note);
    }
}

//! What is refused of the settings of JWTs: each half of a pair, and what would take nothing or anything.

use super::Config;

/// The longest issuer and audience.
const NAME_BYTES_MAX: usize = 256;

/// The largest leeway: five minutes. Beyond it, clocks are to be set and not to be excused.
const LEEWAY_MS_MAX: i64 = 300_000;

impl Config {
    pub(super) fn check_jwt(&self, wrong: &mut Vec<String>) {
        let mut refuse = |is_wrong: bool, text: &str| {
            if is_wrong {
                wrong.push(text.to_owned());
            }
        };
        let has_public = self.jwt_jwks_file.is_some() || self.jwt_key_file.is_some();
        let has_secrets = self.jwt_secret_file.is_some();
        let others =
            self.jwt_audience.is_some() || !self.jwt_algorithms.is_empty() || has_public || has_secrets || !self.jwt_shards.are_all();
        if !self.has_jwt() {
            refuse(others, "`jwt_issuer` is missing: without it no JWT is taken, and the other settings of JWTs mean nothing");
            return;
        }
        let is_name = |name: &String| (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        for (key, name) in [("jwt_issuer", &self.jwt_issuer), ("jwt_audience", &self.jwt_audience)] {
            let is_wrong = name.as_ref().is_some_and(|name| !is_name(name));
            refuse(is_wrong, &format!("`{key}` must have 1 to {NAME_BYTES_MAX} visible ASCII characters"));
        }
        refuse(self.jwt_audience.is_none(), "`jwt_audience` is missing: a JWT for another service of the same issuer would be taken");
        refuse(self.jwt_algorithms.is_empty(), "`jwt_algorithms` is missing: it has to say by which algorithms JWTs are signed");
        let (by_key, by_secret) = (self.jwt_algorithms.has_any(false), self.jwt_algorithms.has_any(true));
        refuse(by_key && !has_public, "`jwt_algorithms` has one that needs a public key: set `jwt_jwks_file` or `jwt_key_file`");
        refuse(by_secret && !has_secrets, "`jwt_algorithms` has HS256: set `jwt_secret_file`");
        if !self.jwt_algorithms.is_empty() {
            refuse(
                has_public && !by_key,
                "`jwt_jwks_file` and `jwt_key_file` hold public keys, and `jwt_algorithms` has none that uses them",
            );
            refuse(has_secrets && !by_secret, "`jwt_secret_file` holds secrets, and `jwt_algorithms` does not have HS256");
        }
        let is_leeway = (0..=LEEWAY_MS_MAX).contains(&self.jwt_leeway_ms);
        refuse(!is_leeway, &format!("`jwt_leeway_ms` must be from 0 to {LEEWAY_MS_MAX}, and is {}", self.jwt_leeway_ms));
    }
}

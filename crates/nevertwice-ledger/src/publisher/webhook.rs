//! How a message is signed for its way, by the Standard Webhooks scheme (<https://www.standardwebhooks.com>).

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Delivery;

const PREFIX: &str = "whsec_";

/// Bytes of a secret, at least and at most, as the scheme has them.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// What an endpoint and its publisher share: `whsec_` and 24 to 64 random bytes in base64. It shows nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

/// A text that is no secret of a webhook. It does not repeat the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadWebhookSecret;

impl fmt::Display for BadWebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret of a webhook is `whsec_` and 24 to 64 random bytes in base64; `openssl rand -base64 32` makes such bytes")
    }
}

impl std::error::Error for BadWebhookSecret {}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

impl FromStr for WebhookSecret {
    type Err = BadWebhookSecret;

    fn from_str(text: &str) -> Result<Self, BadWebhookSecret> {
        let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
        let bytes = BASE64.decode(encoded.as_bytes()).map_err(|_| BadWebhookSecret)?;
        if SECRET_BYTES.contains(&bytes.len()) { Ok(Self(bytes)) } else { Err(BadWebhookSecret) }
    }
}

impl WebhookSecret {
    /// The three header lines of a try: the id, the second since 1970 at which it is made, and the signature of both with the payload.
    #[must_use]
    pub fn headers(&self, delivery: &Delivery, now_s: i64) -> [(&'static str, String); 3] {
        let timestamp = now_s.to_string();
        let signature = self.sign(&delivery.id, &timestamp, &delivery.payload);
        [("webhook-id", delivery.id.clone()), ("webhook-timestamp", timestamp), ("webhook-signature", signature)]
    }

    fn sign(&self, id: &str, timestamp: &str, payload: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", payload] {
            mac.update(part);
        }
        format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_signs_as_the_scheme_shows() {
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().expect("it is a secret");
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn what_is_no_secret_is_refused_and_none_is_shown() {
        for text in ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"] {
            assert_eq!(text.parse::<WebhookSecret>(), Err(BadWebhookSecret), "{text}");
        }
        let secret: WebhookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().expect("the prefix may be missing");
        assert_eq!(format!("{secret:?}"), "WebhookSecret(..)");
    }
}

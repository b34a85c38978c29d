//! How long and how often to ask again.

use std::time::UNIX_EPOCH;

use crate::ClientError;

/// The longest wait that is read from a `Retry-After`: a year. Whoever says more is not waited for either.
const RETRY_AFTER_MS_MAX: u64 = 365 * 24 * 3_600_000;

/// The bounds of one call of [`send`](crate::Client::send).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How long one attempt may take, connecting included.
    pub timeout_ms: u64,
    /// How long all attempts and the waits between them may take.
    pub deadline_ms: u64,
    /// How often it is sent.
    pub attempts_max: u32,
    /// The first wait is between half of this and this; each further one is between half of twice as much and that.
    pub backoff_min_ms: u64,
    /// What no wait of the client's own exceeds; a server's `Retry-After` may.
    pub backoff_max_ms: u64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { timeout_ms: 10_000, deadline_ms: 90_000, attempts_max: 12, backoff_min_ms: 200, backoff_max_ms: 10_000 }
    }
}

impl Retries {
    /// Whether the bounds make sense.
    pub(crate) fn checked(self) -> Result<Self, ClientError> {
        let wrong = if self.timeout_ms.min(self.deadline_ms).min(self.backoff_min_ms) < 1 || self.attempts_max < 1 {
            "A bound of retries is below 1"
        } else if self.backoff_max_ms < self.backoff_min_ms {
            "backoff_max_ms is below backoff_min_ms"
        } else {
            return Ok(self);
        };
        Err(ClientError::RequestInvalid { wrong: wrong.to_owned() })
    }

    /// The wait after an attempt, counted from 1, with a random number.
    ///
    /// A server's `Retry-After` is a lower bound. Something random comes on top: a crowd that comes back in step is refused in step.
    pub(crate) fn wait_ms(&self, attempt: u32, retry_after_ms: Option<u64>, chance: u32) -> u64 {
        let doubled = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
        let step = self.backoff_min_ms.saturating_mul(doubled).min(self.backoff_max_ms);
        let jitter = (u128::from(step) * u128::from(chance)) >> 33;
        let jitter = u64::try_from(jitter).unwrap_or(u64::MAX);
        (step / 2).max(retry_after_ms.unwrap_or(0)).saturating_add(jitter)
    }
}

/// What a `Retry-After` means in milliseconds, as seconds or as an HTTP date; none if it is neither.
///
/// An instant is compared with the same answer's `Date`, where there is one: the two clocks may differ.
#[must_use]
pub fn retry_after_ms(value: Option<&str>, date: Option<&str>, now_ms: u64) -> Option<u64> {
    let text = value?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(seconds.saturating_mul(1_000).min(RETRY_AFTER_MS_MAX));
    }
    let until = instant_ms(text)?;
    let since = date.and_then(|date| instant_ms(date.trim())).unwrap_or(now_ms);
    Some(until.saturating_sub(since).min(RETRY_AFTER_MS_MAX))
}

/// An instant in one of the three forms of RFC 9110, section 5.6.7.
fn instant_ms(text: &str) -> Option<u64> {
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

//! The layer with the choices of each profile that comes with the suite.

use std::sync::Arc;

use axum::http::Method;
use axum::http::request::Parts;
use nevertwice_idempotency::{Caller, Keys, KeysError, MemoryStore, Oversize, Policy, Routes, Scope};

/// Every choice that a profile has, the other way round than by the draft.
fn choices() -> Policy {
    Policy {
        scope: Scope::Route,
        anonymous_shares: true,
        wait_ms: 30_000,
        client_errors_free: true,
        oversize: Oversize::Spill { bytes_max: 1 << 20 },
        refuse_old_keys: true,
        ..Policy::ietf()
    }
}

/// Guards as that profile has them; none if there is no such profile.
///
/// # Errors
/// As [`Keys::new`].
pub(crate) fn keys(profile: &str) -> Option<Result<Keys, KeysError>> {
    let routes = match profile {
        "ietf" => Routes::ietf(),
        "stripe" => Routes::stripe(),
        "ucp" => Routes::ucp(),
        "choices" => Routes::new().guard(&[Method::POST, Method::PATCH], "/{*rest}", choices()),
        _ => return None,
    };
    let keys = Keys::new(Arc::new(MemoryStore::default()), None, routes);
    // Nobody proves here who he is: the suite says so in a header.
    let by_header = |parts: &Parts| {
        let principal = parts.headers.get("x-user")?.to_str().ok()?.to_owned();
        Some(Caller { tenant: String::new(), principal })
    };
    Some(keys.map(|keys| keys.with_identity(by_header)))
}

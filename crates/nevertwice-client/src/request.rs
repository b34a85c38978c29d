//! What is asked: checked before anything is kept, so that a retry is the same bytes again.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::ClientError;
use crate::http::Request;

/// The header of the key.
pub(crate) const KEY_HEADER: &str = "idempotency-key";
/// The header of the intent's own end.
pub(crate) const EXPIRES_HEADER: &str = "idempotency-expires";
/// What the transport writes itself.
const OWN_HEADERS: &[&str] = &["connection", "content-length", "content-type", "host", "transfer-encoding"];
/// The longest key that a server takes, in characters.
const KEY_MAX: usize = 255;

/// The request with the lines that every request has, and the key that its own lines name, if they do.
pub(crate) fn prepared(mut request: Request, shared: &[(&'static str, String)]) -> Result<(Request, Option<String>), ClientError> {
    let path_is_sound = request.path.starts_with('/') && request.path.bytes().all(|byte| byte.is_ascii_graphic());
    if !path_is_sound || request.method.is_empty() || !request.method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(invalid(format!("{:?} {:?} is no method in capitals and path from the slash on", request.method, request.path)));
    }
    let mut key = None;
    let own = std::mem::take(&mut request.headers);
    for line in own {
        check_line(&line)?;
        let is = |name: &str| line.0.eq_ignore_ascii_case(name);
        if is(EXPIRES_HEADER) {
            return Err(invalid("Idempotency-Expires stands among the headers, and belongs in the options"));
        }
        let seen = if is(KEY_HEADER) { key.is_some() } else { request.headers.iter().any(|(name, _)| is(name)) };
        if seen {
            return Err(invalid(format!("The header {:?} is there twice", line.0)));
        }
        if is(KEY_HEADER) {
            key = Some(line.1);
        } else {
            request.headers.push(line);
        }
    }
    for (name, value) in shared {
        if !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
            request.headers.push((name, value.clone()));
        }
    }
    Ok((request, key))
}

/// Whether a header line can be sent, and is not the transport's own.
pub(crate) fn check_line((name, value): &(&'static str, String)) -> Result<(), ClientError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~-".contains(&byte);
    let name_is_sound = !name.is_empty() && name.bytes().all(is_letter);
    let value_is_sound = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if name_is_sound && value_is_sound && !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        Ok(())
    } else {
        Err(invalid(format!("The header {name:?} can't be sent, or is the transport's own")))
    }
}

/// The key, if a server would take it for one.
pub(crate) fn checked_key(key: &str) -> Result<String, ClientError> {
    let is_key = !key.is_empty() && key.len() <= KEY_MAX && key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_key { Ok(key.to_owned()) } else { Err(ClientError::KeyInvalid) }
}

/// What must be the same in every retry: method, path, principal and body. SHA-256, in hex.
pub(crate) fn digest(request: &Request) -> String {
    let principal = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("principal"));
    let principal = principal.map_or("", |(_, value)| value.as_str());
    let mut sha = Sha256::new();
    let body = request.body.as_deref().unwrap_or_default();
    for part in [request.method.as_bytes(), request.path.as_bytes(), principal.as_bytes(), body] {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part);
    }
    HEXLOWER.encode(&sha.finalize())
}

fn invalid(wrong: impl Into<String>) -> ClientError {
    ClientError::RequestInvalid { wrong: wrong.into() }
}

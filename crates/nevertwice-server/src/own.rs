//! The intents of the server itself: their keys are made from what they name, so a repeated step is a replay.

use data_encoding::BASE32_NOPAD;
use nevertwice_api::fingerprint;
use nevertwice_core::{IdempotencyKey, Intent, Principal};

use crate::access::OWN_PRINCIPAL;
use crate::refusal::Refusal;

/// The intent `{word}:{name}`.
pub(crate) fn intent(word: &'static str, name: &str) -> Result<Intent, Refusal> {
    let fault = || Refusal::internal("an intent of the server that is none");
    Ok(Intent {
        principal: Principal::new(OWN_PRINCIPAL).map_err(|_| fault())?,
        key: IdempotencyKey::new(&format!("{word}:{name}")).map_err(|_| fault())?,
        fingerprint: fingerprint::of_json(&[word, name], b"").map_err(|_| fault())?,
        expires_at: None,
    })
}

/// The intent for several things: a digest of their names stands for them.
pub(crate) fn intent_for_all<'a>(word: &'static str, names: impl IntoIterator<Item = &'a str>) -> Result<Intent, Refusal> {
    let names: Vec<&str> = names.into_iter().collect();
    let fault = || Refusal::internal("an intent of the server that is none");
    let digest = fingerprint::of_json(&names, b"").map_err(|_| fault())?;
    let mut letters = BASE32_NOPAD.encode(&digest);
    letters.truncate(32);
    intent(word, &letters)
}

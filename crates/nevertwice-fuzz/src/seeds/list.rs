//! Which target begins with which inputs.

use super::{copies, credentials, journal, key_layer, keys, texts};

/// An input and what it is.
pub(super) type Input = (String, Vec<u8>);

/// The inputs of a target, with the ends of their file names.
#[must_use]
pub fn of(target: &str) -> Vec<Input> {
    let inputs = match target {
        "entry" => journal::entries(),
        "record" => journal::records(),
        "history" => journal::histories(),
        "state" => journal::states(),
        "segment" => journal::segments(),
        "snapshot" => journal::snapshots(),
        "folder" => journal::damages(),
        "key_change" => keys::changes(),
        "marker" => texts::markers(),
        "manifest" => copies::manifests(),
        "following" => copies::followings(),
        "note" => texts::notes(),
        "audit" => copies::audits(),
        "answers" => keys::answers(),
        "headers" => texts::headers(),
        "body" => texts::bodies(),
        "fingerprint" => texts::json(),
        "batch" => texts::batches(),
        "configuration" => texts::configurations(),
        "credential" => credentials::presented(),
        "keys_file" => credentials::keys_files(),
        "jwks" => credentials::jwk_sets(),
        "query" => texts::queries(),
        "key_header" => key_layer::lines(),
        "header_lines" => key_layer::heads(),
        "traceparent" => texts::traces(),
        "proxy" => texts::proxies(),
        "multipart" => key_layer::bodies(),
        _ => Vec::new(),
    };
    inputs.into_iter().enumerate().map(|(number, (name, bytes))| (format!("{number:02}-{name}"), bytes)).collect()
}

//! The bodies of all commands, read by the names of their members.

use std::fmt::Debug;

use nevertwice_api::ErrorCode;
use nevertwice_api::fingerprint::canonical_json;
use nevertwice_api::wire;
use nevertwice_server::fuzzing::body;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Verdict, problem};

/// What bodies are made of.
pub const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.0",
    "1e3",
    "9007199254740993",
    "9223372036854775808",
    "\\u0061",
    "\\ud800",
    "\"account\"",
    "\"instrument\"",
    "\"side\"",
    "\"buy\"",
    "\"sell\"",
    "\"quantity\"",
    "\"limit_price\"",
    "\"expected_price\"",
    "\"max_slippage_bps\"",
    "\"market\"",
    "\"decimals\"",
    "\"fee_bps\"",
    "\"limits\"",
    "\"quantity_max\"",
    "\"holding_max\"",
    "\"house_loss_max\"",
    "\"mode\"",
    "\"open\"",
    "\"retention_ms\"",
    "\"base\"",
    "\"slope\"",
    "\"price\"",
    "\"class\"",
    "\"opening_balance\"",
    "\"sale\"",
    "\"levels\"",
    "\"level\"",
    "\"cap\"",
    "\"total_cap\"",
    "\"hold_ms\"",
    "\"opens_at\"",
    "\"closes_at\"",
    "\"candidates\"",
    "\"code\"",
    "\"email\"",
    "\"website\"",
    "\"payment\"",
    "\"booked_with\"",
    "\"key\"",
    "\"principal\"",
    "\"expires_at\"",
    "\"order\"",
    "\"scope\"",
    "\"owner\"",
    "\"fingerprint\"",
    "\"request\"",
    "\"lease_ms\"",
    "\"lapse\"",
    "\"generation\"",
    "\"answer\"",
    "\"status\"",
    "\"headers\"",
    "\"body_text\"",
    "\"body_base64\"",
    "\"tombstone_bytes\"",
    "\n",
    " ",
];

type Reader = fn(&[u8]) -> Verdict;

/// One reader for each type of a command's body, in the order of their numbers in the inputs.
pub(crate) const READERS: &[(&str, Reader)] = &[
    ("place_order", check::<wire::PlaceOrder>),
    ("open_market", check::<wire::OpenMarket>),
    ("set_mode", check::<wire::SetMode>),
    ("list_instrument", check::<wire::ListInstrument>),
    ("open_account", check::<wire::OpenAccount>),
    ("reprice", check::<wire::Reprice>),
    ("freeze_instrument", check::<wire::FreezeInstrument>),
    ("settle", check::<wire::Settle>),
    ("open_sale", check::<wire::OpenSale>),
    ("load_candidates", check::<wire::LoadCandidates>),
    ("set_sale_open", check::<wire::SetSaleOpen>),
    ("caps", check::<wire::Caps>),
    ("book", check::<wire::Book>),
    ("confirm", check::<wire::Confirm>),
    ("release", check::<wire::Release>),
    ("register_key", check::<wire::RegisterKey>),
    ("complete_key", check::<wire::CompleteKey>),
    ("renew_lease", check::<wire::RenewLease>),
    ("release_key", check::<wire::ReleaseKey>),
];

/// The input is one byte that chooses the type, then the body.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let (_, read) = READERS[usize::from(*choice) % READERS.len()];
    read(bytes)
}

fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) -> Verdict {
    let value: T = match body(bytes) {
        Ok(value) => value,
        Err(refused) => {
            let code = problem::check(&refused);
            assert!(matches!(code, ErrorCode::BodyMalformed | ErrorCode::BodyInvalid), "{code}");
            // Whether it is JSON at all is told apart from what is in it: who sends the same again must know what to correct.
            if code == ErrorCode::BodyInvalid {
                assert!(refused.detail.contains("does not fit"), "{}", refused.detail);
            }
            return Verdict::Refused;
        }
    };
    // Members by their names, in an object and nothing else; and nothing is taken that a fingerprint can't be made of.
    let canonical = canonical_json(bytes).unwrap_or_else(|error| panic!("it is read, and has no fingerprint: {error}"));
    assert_eq!(canonical.first(), Some(&b'{'), "a command is an object");
    assert_eq!(body::<T>(&canonical).as_ref(), Ok(&value), "bodies of one fingerprint mean the same");
    let written = serde_json::to_vec(&value).expect("a body can be written");
    assert_eq!(body::<T>(&written).as_ref(), Ok(&value), "what was written is read again");
    assert_eq!(serde_json::from_slice::<T>(bytes).ok().as_ref(), Some(&value), "stricter than derived, and never another value");
    Verdict::Accepted
}

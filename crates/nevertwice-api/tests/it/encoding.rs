//! The byte layout: old bytes mean the same for ever, and bad bytes are refused.

use std::fs;
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use nevertwice_api::encoding::{self, DecodeError};
use nevertwice_core::fields::Malformed;
use nevertwice_core::limits::LOAD_CANDIDATES_MAX;
use nevertwice_core::{
    Before, CallerName, CallerRole, CandidateFact, CandidateId, CandidatesBefore, CandidatesLoaded, Entry, Event, IdempotencyKey, Intent,
    KnownCandidate, MarketMode, ModeSet, Name, Origin, PeerAddress, Position, Principal, ShardId, TraceContext,
};
use proptest::prelude::*;

use crate::samples;

/// A fixture is what that version wrote. It is made once, by running the test with `NVT_WRITE_FIXTURES` set where it is
/// missing, and never changed.
fn fixture(version: &str, name: &str, written: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(version).join(format!("{name}.hex"));
    if !path.exists() && std::env::var_os("NVT_WRITE_FIXTURES").is_some() {
        fs::write(&path, HEXLOWER.encode(written) + "\n").expect("a new fixture can be written");
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("fixture {}: {error}", path.display()));
    HEXLOWER.decode(text.trim().as_bytes()).expect("a fixture is hexadecimal")
}

#[test]
fn entries_of_version_1_are_read_and_written_for_ever() {
    for entry in samples::entries() {
        let mut written = Vec::new();
        encoding::encode_entry(&entry, &mut written);
        let old = fixture("v1", &format!("entry-{:02}", entry.position.seq), &written);
        assert_eq!(written, old, "{entry:?}");
        assert_eq!(encoding::decode_entry(&old), Ok(entry));
    }
}

#[test]
fn entries_of_version_2_are_read_and_written_for_ever() {
    for entry in samples::entries_with_origin() {
        let mut written = Vec::new();
        encoding::encode_entry(&entry, &mut written);
        let old = fixture("v2", &format!("entry-{:02}", entry.position.seq), &written);
        assert_eq!(written, old, "{entry:?}");
        assert_eq!(encoding::decode_entry(&old), Ok(entry));
    }
}

/// Who keeps no origin pays nothing for it, and whoever reads only the first version reads on.
#[test]
fn version_2_is_version_1_and_an_origin() {
    for entry in samples::entries_with_origin() {
        let plain = Entry { origin: None, before: None, ..entry.clone() };
        let (mut with, mut without) = (Vec::new(), Vec::new());
        encoding::encode_entry(&entry, &mut with);
        encoding::encode_entry(&plain, &mut without);
        assert_eq!((with[0], without[0]), (2, 1));
        assert!(with[1..].starts_with(&without[1..]), "{entry:?}");
        assert!(with.len() > without.len());
    }
}

#[test]
fn the_head_of_an_entry_is_its_first_fields() {
    for entry in all_entries() {
        let mut bytes = Vec::new();
        encoding::encode_entry(&entry, &mut bytes);
        let head = encoding::decode_entry_head(&bytes).expect("it was just written");
        assert_eq!((head.shard, head.position, head.at_ms, head.intent), (entry.shard, entry.position, entry.at_ms, entry.intent));
    }
}

#[test]
fn the_largest_entry_is_within_its_bound() {
    let longest = |byte: u8, count: usize| String::from_utf8(vec![byte; count]).expect("it is ASCII");
    let fact = CandidateFact { candidate: CandidateId([1; 32]), email: Some([2; 32]), levels: u64::MAX };
    let entry = Entry {
        shard: ShardId::sale(Name::new(&longest(b's', Name::BYTES_MAX)).expect("it is a name")),
        position: Position { epoch: u32::MAX, seq: u64::MAX },
        at_ms: i64::MAX,
        intent: Intent {
            principal: Principal::new(&longest(b'p', Principal::BYTES_MAX)).expect("it is a principal"),
            key: IdempotencyKey::new(&longest(b'k', IdempotencyKey::BYTES_MAX)).expect("it is a key"),
            fingerprint: [3; 32],
            expires_at: Some(i64::MAX),
        },
        events: vec![Event::CandidatesLoaded(CandidatesLoaded { candidates: vec![fact; LOAD_CANDIDATES_MAX] })],
        origin: Some(Box::new(Origin {
            caller: CallerName::new(&longest(b'c', CallerName::BYTES_MAX)).expect("it is a name"),
            role: CallerRole::Operator,
            address: Some(PeerAddress::new(&longest(b'a', PeerAddress::BYTES_MAX)).expect("it is an address")),
            trace: TraceContext::new(u128::MAX, u64::MAX, 3),
        })),
        before: Some(Box::new(Before::Candidates(CandidatesBefore {
            known: vec![Some(KnownCandidate { email: Some([4; 32]), levels: u64::MAX }); LOAD_CANDIDATES_MAX],
        }))),
    };
    let mut bytes = Vec::new();
    encoding::encode_entry(&entry, &mut bytes);
    assert!(bytes.len() <= encoding::ENTRY_BYTES_MAX, "{} bytes", bytes.len());
    assert_eq!(encoding::decode_entry(&bytes), Ok(entry));
}

/// The bytes of a block of the page: what stands before the explanation in each line.
fn example(page: &str, number: usize) -> Vec<u8> {
    let block = page.split("```text\n").nth(number).and_then(|rest| rest.split("```").next()).expect("the page has its examples");
    let is_hex =
        |word: &&str| word.len().is_multiple_of(2) && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let bytes: String = block.lines().flat_map(|line| line.split("  ").next().unwrap_or_default().split(' ').take_while(is_hex)).collect();
    HEXLOWER.decode(bytes.as_bytes()).expect("an example is hexadecimal")
}

#[test]
fn the_examples_of_the_page_are_what_is_written() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/encoding.md")).expect("the page is there");
    let mut entry = Entry {
        shard: ShardId::market(samples::name("cup")),
        position: Position { epoch: 1, seq: 7 },
        at_ms: 1_790_000_000_000,
        intent: Intent {
            principal: Principal::new("desk").expect("it is a principal"),
            key: IdempotencyKey::new("k-7").expect("it is a key"),
            fingerprint: core::array::from_fn(|at| at as u8),
            expires_at: Some(1_790_000_060_000),
        },
        events: vec![Event::ModeSet(ModeSet { mode_before: MarketMode::Open, mode: MarketMode::Halted })],
        origin: None,
        before: None,
    };
    let mut plain = Vec::new();
    encoding::encode_entry(&entry, &mut plain);
    assert_eq!(HEXLOWER.encode(&plain), HEXLOWER.encode(&example(&page, 1)));
    assert!(page.contains(&format!("An entry of {} bytes", plain.len())));
    entry.origin = Some(Box::new(Origin {
        caller: CallerName::new("operator").expect("it is a name"),
        role: CallerRole::Operator,
        address: Some(PeerAddress::new("[::1]:50123").expect("it is an address")),
        trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().ok(),
    }));
    let mut told = Vec::new();
    encoding::encode_entry(&entry, &mut told);
    let behind = example(&page, 2);
    assert_eq!(HEXLOWER.encode(&told), HEXLOWER.encode(&[&[2], &plain[1..], &behind].concat()));
    assert!(page.contains(&format!("is {} bytes: `02`", told.len())));
}

#[test]
fn records_of_version_1_are_read_and_written_for_ever() {
    for (number, record) in samples::records().into_iter().enumerate() {
        let mut written = Vec::new();
        encoding::encode_record(&record, &mut written);
        let old = fixture("v1", &format!("record-{number:02}"), &written);
        assert_eq!(written, old, "{record:?}");
        assert_eq!(encoding::decode_record(&old), Ok(record));
    }
}

#[test]
fn bytes_cut_anywhere_are_refused() {
    for entry in all_entries() {
        let mut bytes = Vec::new();
        encoding::encode_entry(&entry, &mut bytes);
        for length in 0..bytes.len() {
            assert!(encoding::decode_entry(&bytes[..length]).is_err(), "{length} bytes of {entry:?}");
        }
        bytes.push(0);
        assert_eq!(encoding::decode_entry(&bytes), Err(DecodeError::Malformed(Malformed::Trailing)));
    }
}

#[test]
fn a_newer_version_is_told_from_damage() {
    for entry in all_entries() {
        let mut bytes = Vec::new();
        encoding::encode_entry(&entry, &mut bytes);
        bytes[0] = encoding::ENTRY_VERSION + 1;
        let (version, known) = (encoding::ENTRY_VERSION + 1, encoding::ENTRY_VERSION);
        assert_eq!(encoding::decode_entry(&bytes), Err(DecodeError::TooNew { version, known }));
        bytes[0] = 0;
        assert!(matches!(encoding::decode_entry(&bytes), Err(DecodeError::Malformed(_))));
    }
    // There is no version 2 of a record, whatever there is of entries.
    let mut bytes = Vec::new();
    encoding::encode_record(&samples::records()[0], &mut bytes);
    bytes[0] = encoding::RECORD_VERSION + 1;
    let (version, known) = (encoding::RECORD_VERSION + 1, encoding::RECORD_VERSION);
    assert_eq!(encoding::decode_record(&bytes), Err(DecodeError::TooNew { version, known }));
}

fn all_entries() -> Vec<Entry> {
    let mut entries = samples::entries();
    entries.extend(samples::entries_with_origin());
    entries
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = encoding::decode_entry(&bytes);
        let _ = encoding::decode_entry_head(&bytes);
        let _ = encoding::decode_record(&bytes);
    }

    #[test]
    fn what_a_flipped_bit_leaves_readable_is_written_back_as_it_was(sample in 0_usize..28, at in 0_usize..10_000, bit in 0_u8..8) {
        let entry = all_entries().swap_remove(sample);
        let mut bytes = Vec::new();
        encoding::encode_entry(&entry, &mut bytes);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Ok(other) = encoding::decode_entry(&bytes) {
            let mut written = Vec::new();
            encoding::encode_entry(&other, &mut written);
            prop_assert_eq!(written, bytes);
        }
    }
}

//! The byte layout: old bytes mean the same for ever, and bad bytes are refused.

use std::fs;
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use nevertwice_api::encoding::{self, DecodeError};
use nevertwice_core::fields::Malformed;
use proptest::prelude::*;

use crate::samples;

/// A fixture is what version 1 wrote. It is made once, by running the test with `NVT_WRITE_FIXTURES` set where it is
/// missing, and never changed.
fn fixture(name: &str, written: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1").join(format!("{name}.hex"));
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
        let old = fixture(&format!("entry-{:02}", entry.position.seq), &written);
        assert_eq!(written, old, "{entry:?}");
        assert_eq!(encoding::decode_entry(&old), Ok(entry));
    }
}

#[test]
fn records_of_version_1_are_read_and_written_for_ever() {
    for (number, record) in samples::records().into_iter().enumerate() {
        let mut written = Vec::new();
        encoding::encode_record(&record, &mut written);
        let old = fixture(&format!("record-{number:02}"), &written);
        assert_eq!(written, old, "{record:?}");
        assert_eq!(encoding::decode_record(&old), Ok(record));
    }
}

#[test]
fn bytes_cut_anywhere_are_refused() {
    for entry in samples::entries() {
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
    let mut bytes = Vec::new();
    encoding::encode_entry(&samples::entries()[0], &mut bytes);
    bytes[0] = encoding::VERSION + 1;
    assert_eq!(encoding::decode_entry(&bytes), Err(DecodeError::TooNew { version: encoding::VERSION + 1 }));
    bytes[0] = 0;
    assert!(matches!(encoding::decode_entry(&bytes), Err(DecodeError::Malformed(_))));
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = encoding::decode_entry(&bytes);
        let _ = encoding::decode_record(&bytes);
    }

    #[test]
    fn what_a_flipped_bit_leaves_readable_is_written_back_as_it_was(sample in 0_usize..20, at in 0_usize..10_000, bit in 0_u8..8) {
        let entry = samples::entries().swap_remove(sample);
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

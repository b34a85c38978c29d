//! Keys: their header, their records in bytes, their answers.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use nevertwice_api::encoding::{self, DecodeError};
use nevertwice_api::key_header::{self, KeyHeaderError};
use nevertwice_api::{AnswerBytes, ErrorCode, KeyStoreFailure};
use nevertwice_core::TextError;
use nevertwice_core::keys::{BodyKept, KeyAnswer, KeyClaim, KeyCompletion, KeyFreedom, KeyRecord, KeyState, OwnerId};
use proptest::prelude::*;

fn digest(from: u8) -> [u8; 32] {
    core::array::from_fn(|at| from.wrapping_add(at as u8))
}

fn records() -> Vec<KeyRecord> {
    let record = |state| KeyRecord { generation: 1_790_000_000_003, changed_at: 1_790_000_000_500, retention_ms: 86_400_000, state };
    let answer =
        |body| KeyAnswer { status: 201, head_bytes: 42, head_digest: digest(64), body_bytes: 5_000_000_000, body_digest: digest(96), body };
    let (fingerprint, owner) = (digest(0), OwnerId(digest(32)));
    let completed = |body| KeyState::Completed(KeyCompletion { fingerprint, owner, answer: answer(body) });
    vec![
        record(KeyState::Free(KeyFreedom { owner })),
        record(KeyState::InProgress(KeyClaim { fingerprint, owner, lease_expires_at: 1_790_000_060_500 })),
        record(completed(BodyKept::Whole)),
        record(completed(BodyKept::Tombstone)),
    ]
}

#[test]
fn key_records_of_version_1_are_read_and_written_for_ever() {
    for (number, record) in records().into_iter().enumerate() {
        let mut written = Vec::new();
        encoding::encode_key_record(&record, &mut written);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/v1/key-record-{number:02}.hex"));
        if !path.exists() && std::env::var_os("NVT_WRITE_FIXTURES").is_some() {
            fs::write(&path, HEXLOWER.encode(&written) + "\n").expect("a new fixture can be written");
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("fixture {}: {error}", path.display()));
        let old = HEXLOWER.decode(text.trim().as_bytes()).expect("a fixture is hexadecimal");
        assert_eq!(written, old, "{record:?}");
        assert_eq!(encoding::decode_key_record(&old), Ok(record));
        for length in 0..old.len() {
            assert!(encoding::decode_key_record(&old[..length]).is_err());
        }
        let mut newer = old;
        newer[0] = 2;
        assert_eq!(encoding::decode_key_record(&newer), Err(DecodeError::TooNew { version: 2, known: 1 }));
    }
}

#[test]
fn a_quoted_key_and_a_bare_one_are_the_same() {
    for (line, key) in
        [("\"abc-1\"", "abc-1"), ("abc-1", "abc-1"), (" \"abc-1\"\t", "abc-1"), (r#""a\"b\\c""#, r#"a"b\c"#), ("\"a,b\"", "a,b")]
    {
        assert_eq!(key_header::parse(line.as_bytes()).map(|key| key.as_str().to_owned()), Ok(key.to_owned()), "{line}");
    }
}

#[test]
fn what_is_not_one_key_is_refused() {
    let text = KeyHeaderError::Text;
    let long = "k".repeat(256);
    let cases: &[(&[u8], KeyHeaderError)] = &[
        (b"", text(TextError::Empty)),
        (b"  ", text(TextError::Empty)),
        (b"\"\"", text(TextError::Empty)),
        (long.as_bytes(), text(TextError::TooLong { bytes_max: 255 })),
        (b"a b", text(TextError::Character { at: 1 })),
        ("k\u{e4}".as_bytes(), text(TextError::Character { at: 1 })),
        (b"k\xff", text(TextError::Character { at: 1 })),
        (b"a, b", KeyHeaderError::List),
        (b"\"a\", \"b\"", KeyHeaderError::List),
        (b"a,b", KeyHeaderError::List),
        (b"\"a\"b", KeyHeaderError::Trailing),
        (b"\"a\";p=1", KeyHeaderError::Trailing),
        (b"\"a", KeyHeaderError::Unclosed),
        (b"a\"", KeyHeaderError::Quote),
        (br#""a\n""#, KeyHeaderError::Escape),
        (br#""a\"#, KeyHeaderError::Escape),
    ];
    for (line, error) in cases {
        assert_eq!(key_header::parse(line), Err(*error), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn an_answer_knows_its_bytes() {
    let bytes = AnswerBytes { head: Bytes::from_static(b"\0\0"), body: Bytes::from_static(b"hello") };
    assert!(bytes.fit(&bytes.describe(200)));
    let cut = AnswerBytes { body: Bytes::from_static(b"hell"), ..bytes.clone() };
    assert!(!cut.fit(&bytes.describe(200)));
    let tombstone = AnswerBytes::tombstone(200, 5);
    assert!(!bytes.fit(&tombstone) && AnswerBytes::default().fit(&tombstone));
}

#[test]
fn a_store_that_fails_has_a_code() {
    assert_eq!(KeyStoreFailure::Full.code(), ErrorCode::KeysFull);
    assert_eq!(KeyStoreFailure::TooNew.code(), ErrorCode::KeyStoreUnavailable);
    assert!(KeyStoreFailure::TooNew.to_string().contains("newer version"));
}

proptest! {
    #[test]
    fn lines_come_back_in_their_order(lines in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..20), proptest::collection::vec(any::<u8>(), 0..40)), 0..30)) {
        let borrowed = || lines.iter().map(|(name, value)| (name.as_slice(), value.as_slice()));
        let bytes = encoding::encode_lines(borrowed()).expect("they are few and short");
        prop_assert_eq!(encoding::decode_lines(&bytes), Ok(borrowed().collect()));
        for length in 0..bytes.len() {
            prop_assert!(encoding::decode_lines(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_of_keys_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = encoding::decode_key_record(&bytes);
        let _ = encoding::decode_lines(&bytes);
        let _ = key_header::parse(&bytes);
    }

    #[test]
    fn every_visible_text_is_read_back_from_quotes(key in "[!-~]{1,255}") {
        prop_assume!(key != "." && key != "..");
        let quoted = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
        prop_assert_eq!(key_header::parse(quoted.as_bytes()).map(|read| read.as_str().to_owned()), Ok(key));
    }
}

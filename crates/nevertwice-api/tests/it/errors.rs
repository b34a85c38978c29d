//! The catalogue.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use nevertwice_api::ErrorCode;
use nevertwice_core::Rejection;
use nevertwice_core::keys::KeyRejection;

#[test]
fn every_code_stands_once_and_names_itself() {
    let codes: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.code()).collect();
    assert_eq!(codes.len(), ErrorCode::ALL.len());
    for code in ErrorCode::ALL {
        assert_eq!(code.code().parse(), Ok(*code));
        assert!(!code.title().ends_with('.'), "{code}");
    }
    assert!("no_such_code".parse::<ErrorCode>().is_err());
}

#[test]
fn every_rejection_of_the_core_is_in_the_catalogue_under_its_own_name() {
    for code in Rejection::CODES {
        assert!(code.parse::<ErrorCode>().is_ok(), "{code}");
    }
    for code in KeyRejection::CODES {
        assert!(code.parse::<ErrorCode>().is_ok(), "{code}");
    }
    let lapsed = KeyRejection::KeyLapsed { generation: 1, lease_expired_at: 2 };
    assert_eq!(ErrorCode::from(&lapsed).code(), lapsed.code());
    assert_eq!(ErrorCode::from(&Rejection::NothingDue).code(), Rejection::NothingDue.code());
    assert_eq!(ErrorCode::from(&Rejection::AlreadyPaid).code(), Rejection::AlreadyPaid.code());
}

#[test]
fn every_code_has_a_page_that_says_what_was_done_and_what_to_do() {
    for code in ErrorCode::ALL {
        let page = code.page();
        assert!(page.starts_with(&format!("# {code}\n")), "{code}: the page has another title");
        for part in ["What was wrong", "What was done", "What to do"] {
            assert!(page.contains(part), "{code}: its page lacks '{part}'");
        }
        if code.status() != 0 {
            assert!(page.contains(&code.status().to_string()), "{code}: its page lacks the status {}", code.status());
        }
    }
}

#[test]
fn every_page_has_a_code() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    for file in fs::read_dir(folder).expect("the pages are there") {
        let path = file.expect("a page's name can be read").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(stem == "README" || stem.parse::<ErrorCode>().is_ok(), "{} explains no code", path.display());
    }
}

#[test]
fn what_can_be_tried_again_is_said_with_a_status_that_proxies_understand() {
    for code in ErrorCode::ALL.iter().filter(|code| code.retryable()) {
        // By the draft on idempotency keys a key that is worked on is a conflict; it comes with `Retry-After`.
        let is_told = matches!(code.status(), 408 | 429 | 502 | 503 | 504) || *code == ErrorCode::KeyInProgress;
        assert!(is_told, "{code} is retryable with status {}", code.status());
    }
}

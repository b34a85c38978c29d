//! Names, codes and positions, as they come from outside.

use nevertwice_core::*;
use proptest::prelude::*;

#[test]
fn a_name_has_its_alphabet_and_bounds() {
    for good in ["a", "Z9-_.:@", "player:10", &"n".repeat(64)] {
        assert_eq!(Name::new(good).map(|name| name.to_string()), Ok(good.to_owned()));
    }
    assert_eq!(Name::new(""), Err(TextError::Empty));
    assert_eq!(Name::new(&"n".repeat(65)), Err(TextError::TooLong { bytes_max: 64 }));
    for (bad, at) in [("a b", 1), ("a/b", 1), ("é", 0), ("ab\0", 2), ("\n", 0), ("{a}", 0)] {
        assert_eq!(Name::new(bad), Err(TextError::Character { at }), "{bad:?}");
    }
}

#[test]
fn keys_and_principals_are_visible_ascii() {
    assert!(IdempotencyKey::new(&"k".repeat(255)).is_ok());
    assert_eq!(IdempotencyKey::new(&"k".repeat(256)), Err(TextError::TooLong { bytes_max: 255 }));
    assert_eq!(IdempotencyKey::new("a b"), Err(TextError::Character { at: 1 }));
    assert!(IdempotencyKey::new("!\"#{}~").is_ok());
    assert_eq!(CallerName::new("night shift"), Err(TextError::Character { at: 5 }));
    assert_eq!(CallerName::new(&"c".repeat(65)), Err(TextError::TooLong { bytes_max: 64 }));
    assert!(PeerAddress::new("[fe80::1%3]:50123").is_ok());
    assert_eq!(PeerAddress::new(&"a".repeat(65)), Err(TextError::TooLong { bytes_max: 64 }));
    assert_eq!(Principal::new("\u{7f}"), Err(TextError::Character { at: 0 }));
    assert_eq!(Principal::new(&"p".repeat(129)), Err(TextError::TooLong { bytes_max: 128 }));
}

#[test]
fn a_code_is_trimmed_and_upper_cased_before_anything_looks_at_it() {
    let normal = |text: &str| Code::new(text).map(|code| code.as_str().to_owned());
    assert_eq!(normal("  ab-12 \t\r\n"), Ok("AB-12".to_owned()));
    assert_eq!(normal("AB-12"), normal("ab-12"));
    assert_eq!(normal(" \t "), Err(CodeError::Empty));
    assert_eq!(normal(""), Err(CodeError::Empty));
    assert_eq!(normal(&format!(" {} ", "c".repeat(64))), Ok("C".repeat(64)));
    assert_eq!(normal(&"c".repeat(65)), Err(CodeError::TooLong));
    for bad in ["a b", "ä", "ａ", "a\u{a0}", "\u{feff}a", "a\0"] {
        assert_eq!(normal(bad), Err(CodeError::Character), "{bad:?}");
    }
    assert_eq!(format!("{:?}", Code::new("secret").expect("a code")), "Code(..)");
}

#[test]
fn a_position_is_two_plain_numbers() {
    let parse = |text: &str| text.parse::<Position>();
    assert_eq!(parse("0-0"), Ok(Position::default()));
    assert_eq!(parse("4294967295-18446744073709551615"), Ok(Position { epoch: u32::MAX, seq: u64::MAX }));
    for bad in [
        "",
        "-",
        "1",
        "1-",
        "-1",
        "1-2-3",
        "01-2",
        "1-02",
        "+1-2",
        "1-+2",
        " 1-2",
        "1-2 ",
        "1 -2",
        "4294967296-1",
        "1-18446744073709551616",
        "a-b",
        "１-2",
        "1--2",
    ] {
        assert_eq!(parse(bad), Err(NotAPosition), "{bad:?}");
    }
}

#[test]
fn positions_are_compared_whole() {
    assert!(Position { epoch: 1, seq: 9 } < Position { epoch: 2, seq: 1 });
    assert!(Position { epoch: 1, seq: 9 } < Position { epoch: 1, seq: 10 });
}

proptest! {
    #[test]
    fn a_written_position_is_read_again(epoch: u32, seq: u64) {
        let position = Position { epoch, seq };
        prop_assert_eq!(position.to_string().parse::<Position>(), Ok(position));
    }

    #[test]
    fn what_is_no_position_is_refused(text in "\\PC{0,12}") {
        if let Ok(position) = text.parse::<Position>() {
            prop_assert_eq!(position.to_string(), text);
        }
    }

    #[test]
    fn normalising_a_code_twice_changes_nothing(text in "[ -~\\t]{0,70}") {
        if let Ok(code) = Code::new(&text) {
            prop_assert_eq!(Code::new(code.as_str()), Ok(code.clone()));
            prop_assert!(code.as_str().bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_lowercase()));
        }
    }
}

#[test]
fn a_payment_id_is_made_of_the_booking_s_entry() {
    let booking = Position { epoch: u32::MAX, seq: u64::MAX };
    let shard = ShardId::sale(Name::new(&"s".repeat(64)).expect("a name"));
    let payment = PaymentId::of(&shard, booking).expect("the longest one fits");
    assert_eq!(payment.as_str(), format!("{}.4294967295-18446744073709551615", "s".repeat(64)));
}

//! What contains what.

use nevertwice_api::{Level, Levels};

#[test]
fn replicated_and_journaled_do_not_contain_each_other_and_ledgered_contains_both() {
    let words = |level| Levels::reached(level).iter().map(Level::word).collect::<Vec<_>>();
    assert_eq!(words(Level::Decided), ["decided"]);
    assert_eq!(words(Level::Replicated), ["decided", "replicated"]);
    assert_eq!(words(Level::Journaled), ["decided", "journaled"]);
    assert_eq!(words(Level::Ledgered), ["decided", "replicated", "journaled", "ledgered"]);
    assert!(!Levels::reached(Level::Replicated).contains_all(Levels::reached(Level::Journaled)));
    assert!(!Levels::reached(Level::Journaled).contains_all(Levels::reached(Level::Replicated)));
}

#[test]
fn words_are_read_back() {
    for level in Level::ALL {
        assert_eq!(level.word().parse(), Ok(level));
    }
    assert!("fsynced".parse::<Level>().is_err());
}

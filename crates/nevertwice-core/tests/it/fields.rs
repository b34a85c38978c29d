//! Every record and event through the public order of fields, there and back; and bytes that are wrong.

use nevertwice_core::fields::{Fields, Malformed, Sink, Source};
use nevertwice_core::limits::LIST_MAX;
use nevertwice_core::model::WorkloadOptions;
use nevertwice_core::*;
use proptest::prelude::*;

use crate::support::{Bench, records_of};

/// A plain form: numbers in little-endian bytes of their width, texts with a length of two bytes.
#[derive(Default)]
struct Plain(Vec<u8>);

impl Sink for Plain {
    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }
    fn word(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }
    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }
    fn signed(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }
    fn digest(&mut self, value: &[u8; 32]) {
        self.0.extend(value);
    }
    fn text(&mut self, value: &str) {
        self.0.extend((value.len() as u16).to_le_bytes());
        self.0.extend(value.as_bytes());
    }
}

pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::CutShort)?;
        self.0 = rest;
        Ok(*taken)
    }
}

impl Source for Reader<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.bytes::<1>()?[0])
    }
    fn word(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }
    fn long(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }
    fn signed(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_le_bytes(self.bytes()?))
    }
    fn digest(&mut self) -> Result<[u8; 32], Malformed> {
        self.bytes()
    }
    fn text(&mut self, bytes_max: usize) -> Result<&str, Malformed> {
        let length = usize::from(u16::from_le_bytes(self.bytes()?));
        if length > bytes_max {
            return Err(Malformed::Text);
        }
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::CutShort)?;
        self.0 = rest;
        std::str::from_utf8(taken).map_err(|_| Malformed::Text)
    }
}

pub fn put(value: &impl Fields) -> Vec<u8> {
    let mut plain = Plain::default();
    value.put(&mut plain);
    plain.0
}

/// There and back, and every shorter form is refused.
fn check<T: Fields + PartialEq + std::fmt::Debug>(value: &T) {
    let bytes = put(value);
    let mut reader = Reader(&bytes);
    assert_eq!(T::take(&mut reader).as_ref(), Ok(value));
    assert!(reader.0.is_empty(), "nothing is left over");
    for length in 0..bytes.len() {
        assert_eq!(T::take(&mut Reader(&bytes[..length])), Err(Malformed::CutShort), "{length} of {value:?}");
    }
}

#[test]
fn every_record_and_event_goes_there_and_back() {
    let mut bench = Bench::new(41, WorkloadOptions::default());
    let (mut events, mut kinds) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for number in 0..8_000 {
        let (step, decision) = bench.step();
        if let Decision::Accepted(entry) = &decision {
            let new = entry.events.iter().filter(|event| events.insert(put(*event)[0])).count() > 0;
            if new || number % 20 == 0 {
                check(entry);
            }
        }
        if number % 500 == 499 {
            for record in records_of(&bench.states[&step.shard]) {
                if kinds.insert(put(&record)[0]) || number % 2_000 == 1_999 {
                    check(&record);
                }
            }
        }
    }
    assert_eq!(events.len(), 20, "all kinds of events: {events:?}");
    assert_eq!(kinds.len(), 10, "all kinds of records: {kinds:?}");
}

#[test]
fn unknown_tags_are_refused() {
    for tag in [0, 11, 31, 42, 255] {
        assert_eq!(Event::take(&mut Reader(&[tag])), Err(Malformed::UnknownTag(tag)));
    }
    for tag in [0, 11, 255] {
        assert_eq!(Record::take(&mut Reader(&[tag])), Err(Malformed::UnknownTag(tag)));
    }
    assert_eq!(MarketMode::take(&mut Reader(&[4])), Err(Malformed::UnknownTag(4)));
    assert_eq!(bool::take(&mut Reader(&[2])), Err(Malformed::UnknownTag(2)));
}

#[test]
fn a_forged_count_reserves_nothing() {
    let count = |count: u32| count.to_le_bytes();
    assert_eq!(Vec::<i64>::take(&mut Reader(&count(LIST_MAX as u32 + 1))), Err(Malformed::ListTooLong));
    assert_eq!(Vec::<i64>::take(&mut Reader(&count(u32::MAX))), Err(Malformed::ListTooLong));
    assert_eq!(Vec::<i64>::take(&mut Reader(&count(LIST_MAX as u32))), Err(Malformed::CutShort));
}

proptest! {
    #[test]
    fn bytes_from_outside_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Entry::take(&mut Reader(&bytes));
        if let Ok(record) = Record::take(&mut Reader(&bytes)) {
            prop_assert!(bytes.starts_with(&put(&record)));
        }
    }

    #[test]
    fn a_changed_byte_gives_another_value_or_none(place in any::<prop::sample::Index>(), change in 1..=255_u8) {
        let record = Record::Level(LevelRecord {
            level: Name::new("level").expect("a name"), number: 3, cap: Some(70_000), live: 12,
        });
        let mut bytes = put(&record);
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        prop_assert_ne!(Record::take(&mut Reader(&bytes)), Ok(record));
    }
}

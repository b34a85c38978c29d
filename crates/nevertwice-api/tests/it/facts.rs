//! What was done to a folder: its bytes mean the same for ever, and are told from those of entries.

use data_encoding::HEXLOWER;
use nevertwice_api::encoding::{DecodeError, decode_entry, decode_fact, encode_entry, encode_folder_fact};
use nevertwice_api::wire::AuditFact;
use nevertwice_api::{FOLDER_SHARDS_MAX, Fact, FolderAsker, FolderDeed, FolderFact, FolderPlace};
use nevertwice_core::fields::Malformed;
use nevertwice_core::{CallerName, CallerRole, IdempotencyKey, Name, Origin, PeerAddress, Position, Principal, ShardId};
use serde_json::json;

use crate::samples;

fn promoted() -> FolderFact {
    let origin = Origin {
        caller: CallerName::new("ops").expect("a name"),
        role: CallerRole::Operator,
        address: PeerAddress::new("10.0.0.9").ok(),
        trace: None,
    };
    let asker = FolderAsker {
        origin,
        principal: Principal::new("operator").expect("a principal"),
        key: IdempotencyKey::new("promote").expect("a key"),
    };
    let fact = FolderFact {
        deed: FolderDeed::Promoted,
        at_ms: 1_790_000_000_000,
        asker: Some(asker),
        before: FolderPlace { journal: 0x0123_4567_89ab_cdef, epoch: 3, batch: 4_182 },
        after: FolderPlace { journal: 0xfedc, epoch: 14_000, batch: 4_183 },
        shards: Vec::new(),
        shards_left_out: 0,
    };
    fact.with_shards([(ShardId::market(Name::new("cup").expect("a name")), Position { epoch: 3, seq: 90_125 })])
}

fn restored() -> FolderFact {
    FolderFact { deed: FolderDeed::Restored, asker: None, shards_left_out: 7, ..promoted() }
}

fn bytes(fact: &FolderFact) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_folder_fact(fact, &mut bytes);
    bytes
}

#[test]
fn facts_of_version_1_are_read_and_written_for_ever() {
    for (fact, written) in [(promoted(), PROMOTED), (restored(), RESTORED)] {
        assert_eq!(HEXLOWER.encode(&bytes(&fact)), written);
        assert_eq!(decode_fact(&bytes(&fact)), Ok(Fact::Folder(Box::new(fact))));
    }
}

const PROMOTED: &str = concat!(
    "8101006c50c4a00100000103006f70730101080031302e302e302e390008006f70657261746f72070070726f6d6f7465efcdab896745230103000000",
    "5610000000000000dcfe000000000000b0360000571000000000000001000000010300637570030000000d600100000000000000000000000000",
);
const RESTORED: &str = concat!(
    "8102006c50c4a001000000efcdab8967452301030000005610000000000000dcfe000000000000b03600005710000000000000010000000103006375",
    "70030000000d600100000000000700000000000000",
);

#[test]
fn an_entry_is_read_as_what_it_is_and_who_knows_entries_alone_refuses_the_rest_as_too_new() {
    for entry in samples::entries() {
        let mut written = Vec::new();
        encode_entry(&entry, &mut written);
        assert_eq!(decode_fact(&written), Ok(Fact::Entry(Box::new(entry))));
    }
    assert!(matches!(decode_entry(&bytes(&promoted())), Err(DecodeError::TooNew { .. })));
    let mut later = bytes(&promoted());
    later[0] += 1;
    assert_eq!(decode_fact(&later), Err(DecodeError::TooNew { version: 0x82, known: 0x81 }));
}

#[test]
fn whatever_is_cut_or_changed_is_refused_or_another_fact() {
    let whole = bytes(&promoted());
    for end in 0..whole.len() {
        assert!(decode_fact(&whole[..end]).is_err(), "cut at {end}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert_eq!(decode_fact(&longer), Err(DecodeError::Malformed(Malformed::Trailing)));
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            if let Ok(Fact::Folder(fact)) = decode_fact(&changed) {
                assert_eq!(bytes(&fact), changed, "what is read is written as it was");
            }
        }
    }
}

#[test]
fn a_fact_names_a_bounded_number_of_shards_and_says_how_many_more_there_were() {
    let shard = |number: usize| ShardId::market(Name::new(&format!("m{number:05}")).expect("a name"));
    let many = promoted().with_shards((0..FOLDER_SHARDS_MAX + 3).map(|number| (shard(number), Position::default())));
    assert_eq!((many.shards.len(), many.shards_left_out), (FOLDER_SHARDS_MAX, 3));
    assert_eq!(decode_fact(&bytes(&many)), Ok(Fact::Folder(Box::new(many))));
}

#[test]
fn it_is_shown_with_who_and_what_was_before_and_after() {
    let shown = |fact| serde_json::to_value(AuditFact::of(&Fact::Folder(Box::new(fact)))).expect("it is JSON");
    let before =
        json!({"journal": "0123456789abcdef", "epoch": 3, "batch": 4182, "shards": [{"shard": "market/cup", "position": "3-90125"}]});
    assert_eq!(
        shown(promoted()),
        json!({"at_ms": 1_790_000_000_000_i64, "origin": {"name": "ops", "role": "operator", "address": "10.0.0.9"}, "principal": "operator",
            "key": "promote", "command": "promote_standby", "before": before,
            "after": {"journal": "000000000000fedc", "epoch": 14000, "batch": 4183}})
    );
    let restored = shown(restored());
    assert_eq!((&restored["command"], &restored["before"]["shards_left_out"]), (&json!("restore_backup"), &json!(7)));
    assert_eq!(restored.get("origin").or(restored.get("key")), None, "nobody sent a request");
}

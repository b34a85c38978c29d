//! What was done to a folder: its bytes mean the same for ever, and are told from those of entries.

use data_encoding::HEXLOWER;
use nevertwice_api::encoding::{DecodeError, decode_entry, decode_fact, encode_entry, encode_folder_fact, encode_key_fact};
use nevertwice_api::wire::AuditFact;
use nevertwice_api::{FOLDER_SHARDS_MAX, Fact, FolderAsker, FolderDeed, FolderFact, FolderPlace, KeyDeed, KeyFact, KeyStanding};
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
    later[0] = 0x83;
    assert_eq!(decode_fact(&later), Err(DecodeError::TooNew { version: 0x83, known: 0x82 }));
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
            match decode_fact(&changed) {
                Ok(Fact::Folder(fact)) => assert_eq!(bytes(&fact), changed, "what is read is written as it was"),
                Ok(Fact::Key(fact)) => assert_eq!(key_bytes(&fact), changed, "what is read is written as it was"),
                Ok(Fact::Entry(_)) | Err(_) => {}
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

fn released() -> KeyFact {
    KeyFact {
        deed: KeyDeed::Released,
        at_ms: 1_790_000_000_000,
        origin: promoted().asker.expect("somebody asked").origin,
        principal: Principal::new("ann").expect("a principal"),
        scope: "POST:/charges".to_owned(),
        key: IdempotencyKey::new("tap-1").expect("a key"),
        generation: Some(1_789_999_000_000),
        before: KeyStanding::InProgress { lease_ms: -1_000 },
        after: KeyStanding::Free,
        batch: 7,
    }
}

fn key_bytes(fact: &KeyFact) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key_fact(fact, &mut bytes);
    bytes
}

/// Every deed and every standing, with and without what may be absent.
fn key_facts() -> Vec<KeyFact> {
    let completed = |is_tombstone| KeyStanding::Completed { status: 201, body_bytes: 900, is_tombstone };
    let registered = KeyFact { deed: KeyDeed::Registered, generation: None, before: KeyStanding::Absent, ..released() };
    vec![
        released(),
        KeyFact { after: KeyStanding::InProgress { lease_ms: 60_000 }, scope: String::new(), ..registered },
        KeyFact { deed: KeyDeed::Completed, after: completed(false), batch: 0, ..released() },
        KeyFact { deed: KeyDeed::Renewed, before: completed(true), after: KeyStanding::Refused, ..released() },
    ]
}

#[test]
fn what_was_done_to_a_key_is_read_as_it_was_written_and_for_ever() {
    for fact in key_facts() {
        let written = key_bytes(&fact);
        assert_eq!(decode_fact(&written), Ok(Fact::Key(Box::new(fact))));
        assert!(matches!(decode_entry(&written), Err(DecodeError::TooNew { .. })));
        for end in 0..written.len() {
            assert!(decode_fact(&written[..end]).is_err(), "cut at {end}");
        }
        for at in 0..written.len() {
            for bit in 0..8 {
                let mut changed = written.clone();
                changed[at] ^= 1 << bit;
                if let Ok(Fact::Key(fact)) = decode_fact(&changed) {
                    assert_eq!(key_bytes(&fact), changed, "what is read is written as it was");
                }
            }
        }
    }
    assert_eq!(HEXLOWER.encode(&key_bytes(&released())), RELEASED);
}

const RELEASED: &str = concat!(
    "8204006c50c4a001000003006f70730101080031302e302e302e39000300616e6e0d00504f53543a2f6368617267657305007461702d3101c02941c4a0010000",
    "0318fcffffffffffff020700000000000000",
);

#[test]
fn what_was_done_to_a_key_is_shown_with_who_and_what_was_before_and_after() {
    let shown: Vec<_> = key_facts().into_iter().map(|fact| AuditFact::of(&Fact::Key(Box::new(fact))).expect("it is shown")).collect();
    let origin = json!({"name": "ops", "role": "operator", "address": "10.0.0.9"});
    assert_eq!(
        serde_json::to_value(&shown[0]).expect("it is JSON"),
        json!({"at_ms": 1_790_000_000_000_i64, "origin": origin, "principal": "ann", "key": "tap-1", "command": "release_key",
            "about": "POST:/charges", "before": {"state": "in_progress", "lease_ms": -1000},
            "after": {"state": "free", "generation": 1_789_999_000_000_i64}})
    );
    let commands: Vec<&str> = shown.iter().map(|fact| fact.command.as_str()).collect();
    assert_eq!(commands, ["release_key", "register_key", "complete_key", "renew_lease"]);
    assert_eq!((&shown[1].about, &shown[1].before), (&None, &None));
    assert_eq!(shown[2].after["is_tombstone"], json!(false));
    assert_eq!(shown[3].after["refused"], json!(true));
}

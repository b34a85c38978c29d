//! What lies in a shard's stream is what every other shelf has: the entry, byte for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::encoding::encode_entry;
use nevertwice_api::{Answer, Backend as _, Levels, Request};
use nevertwice_core::model::{Workload, WorkloadOptions};
use nevertwice_core::{CallerName, CallerRole, Decision, Event, Origin, Position, ShardId, State, TraceContext};
use nevertwice_testkit::redis::{RedisReply, RedisServer};

use crate::given_time::{self, GivenTime};

const STEPS: u64 = 3_000;

fn origin(step: u64) -> Origin {
    Origin {
        caller: CallerName::new("desk").expect("a name"),
        role: CallerRole::Operator,
        address: None,
        trace: TraceContext::new(u128::MAX - u128::from(step), u64::MAX - step, 1),
    }
}

fn stream(server: &RedisServer, shard: &ShardId) -> Vec<(String, Vec<u8>)> {
    let key = nevertwice_redis::keys::shard_entries(shard);
    let RedisReply::List(items) = server.ask(&[b"XRANGE", key.as_slice(), b"-", b"+"]) else { panic!("a stream is a list") };
    let item = |item: RedisReply| {
        let RedisReply::List(parts) = item else { panic!("an item is a list") };
        let [id, RedisReply::List(fields)] = &parts[..] else { panic!("an item is its id and its fields") };
        let [name, RedisReply::Bytes(entry)] = &fields[..] else { panic!("an item has one field") };
        assert_eq!(name.text(), "e");
        (id.text(), entry.clone())
    };
    items.into_iter().map(item).collect()
}

/// Every second command tells where it came from, so that its entry tells what it found as well.
#[tokio::test]
async fn the_stream_has_the_entries_that_the_core_makes_byte_for_byte() {
    let server = RedisServer::start(&[]);
    let clock = Arc::<GivenTime>::default();
    let backend = given_time::backend(&server.url(), &clock).await;
    let mut workload = Workload::new(11, WorkloadOptions { wild_clock: false, ..WorkloadOptions::default() });
    let mut states: BTreeMap<ShardId, State> =
        workload.shards().iter().map(|shard| (shard.clone(), State::new(shard.clone(), backend.epoch(), (1, 2)))).collect();
    let mut made: BTreeMap<ShardId, Vec<(Position, Vec<u8>)>> = BTreeMap::new();
    let (mut with_before, mut kinds) = (0, std::collections::BTreeSet::new());
    let mut last_word_at_ms: BTreeMap<ShardId, i64> = BTreeMap::new();
    for number in 0..STEPS {
        let step = workload.next_step();
        let command = step.command.clone().with_origin((number % 2 == 0).then(|| Box::new(origin(number))));
        let state = states.get_mut(&step.shard).expect("one of the shards");
        let at_ms = step.at_ms.max(last_word_at_ms.get(&step.shard).copied().unwrap_or(0));
        let expected = state.decide(&command, at_ms);
        if let Decision::Rejected(nevertwice_core::Rejection::IntentExpired { .. }) = expected
            && state.is_open()
        {
            last_word_at_ms.insert(step.shard.clone(), at_ms);
        }
        clock.set(step.at_ms);
        let request = Request { shard: step.shard.clone(), command, levels: Levels::NONE };
        let Answer { decision, .. } = backend.submit(request).await.expect("an answer");
        assert_eq!(decision, expected, "step {number}");
        if let Decision::Accepted(entry) = &decision {
            state.apply(entry).expect("it fits");
            let mut bytes = Vec::new();
            encode_entry(entry, &mut bytes);
            made.entry(step.shard.clone()).or_default().push((entry.position, bytes));
            with_before += usize::from(entry.before.is_some());
            kinds.extend(entry.events.iter().map(Event::command));
        }
        workload.observe(&step, &expected);
    }
    assert_eq!(kinds.len(), 20, "of some kind there was no entry: {kinds:?}");
    assert!(with_before > 50, "only {with_before} entries told what was before");
    for (shard, entries) in made {
        let expected: Vec<(String, Vec<u8>)> = entries.into_iter().map(|(position, bytes)| (position.to_string(), bytes)).collect();
        assert!(stream(&server, &shard) == expected, "the stream of {shard} is another than the entries that were told");
    }
}

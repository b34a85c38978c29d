//! What arrives together is decided together, and as if it had come one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::{Answer, Backend as _, Levels, Request};
use nevertwice_core::model::{Workload, WorkloadOptions};
use nevertwice_core::{Decision, Rejection, ShardId, State};
use nevertwice_testkit::redis::RedisServer;

use crate::given_time::{self, GivenTime};

const BATCHES: u64 = 120;
const STEPS: u64 = 50;

/// How many scripts the server has run.
fn calls(server: &RedisServer) -> u64 {
    let info = server.info("cmdstat_evalsha").expect("scripts were called");
    info.split(',').find_map(|part| part.strip_prefix("calls=")).and_then(|calls| calls.parse().ok()).expect("a number of calls")
}

#[tokio::test]
async fn orders_that_arrive_together_are_decided_as_if_they_came_one_by_one() {
    let server = RedisServer::start(&[]);
    let clock = Arc::<GivenTime>::default();
    let backend = given_time::backend(&server.url(), &clock).await;
    let options = WorkloadOptions { sales: 0, step_ms_max: 0, wild_clock: false, ..WorkloadOptions::default() };
    let mut now_ms = options.start_ms;
    let mut workload = Workload::new(5, options);
    let mut states: BTreeMap<ShardId, State> =
        workload.shards().iter().map(|shard| (shard.clone(), State::new(shard.clone(), backend.epoch(), (3, 4)))).collect();
    let mut last_word_at_ms: BTreeMap<ShardId, i64> = BTreeMap::new();
    for batch in 0..BATCHES {
        now_ms += 40;
        workload.set_now(now_ms);
        clock.set(now_ms);
        let mut expected = Vec::new();
        let mut waiting = Vec::new();
        for _ in 0..STEPS {
            let step = workload.next_step();
            let state = states.get_mut(&step.shard).expect("one of the shards");
            let at_ms = now_ms.max(last_word_at_ms.get(&step.shard).copied().unwrap_or(0));
            let decision = state.decide(&step.command, at_ms);
            if let Decision::Accepted(entry) = &decision {
                state.apply(entry).expect("it fits");
            }
            if matches!(decision, Decision::Rejected(Rejection::IntentExpired { .. })) && state.is_open() {
                last_word_at_ms.insert(step.shard.clone(), at_ms);
            }
            workload.observe(&step, &decision);
            expected.push((decision, state.position()));
            let request = Request { shard: step.shard.clone(), command: step.command.clone(), levels: Levels::NONE };
            // It stands in the queue from here on, whether anybody waits or not.
            waiting.push(backend.submit(request));
        }
        for (number, (answer, (decision, position))) in waiting.into_iter().zip(expected).enumerate() {
            let Answer { decision: told, position: told_at, .. } = answer.await.expect("an answer");
            // The last word to an intent is said after all that came with it.
            let is_last_word = matches!(decision, Decision::Rejected(Rejection::IntentExpired { .. }));
            assert_eq!(told, decision, "batch {batch}, step {number}");
            assert!(
                told_at == position || (is_last_word && told_at > position),
                "batch {batch}, step {number}: at {told_at}, not {position}"
            );
        }
        for (shard, state) in &states {
            let hash = backend.state_hash(shard.clone()).await.expect("a hash");
            assert_eq!(hash, (state.position(), state.state_hash()), "batch {batch}: {shard} has another state");
        }
    }
    let calls = calls(&server);
    assert!(calls * 3 < BATCHES * STEPS * 2, "{calls} scripts for {} commands: few were decided together", BATCHES * STEPS);
}

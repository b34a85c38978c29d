//! Keys: replays, other uses, and the edges of expiry and retention.

use nevertwice_core::model::WorkloadOptions;
use nevertwice_core::*;
use proptest::prelude::*;

use crate::support::{Bench, RETENTION_MS, START_MS, Shard, intent, limits, name, order, records_of};

fn market() -> Shard {
    let mut market = Shard::market(25, limits(100, 1_000, 0));
    market.list("i", 100, 10);
    market.open("a", 1_000_000);
    market
}

fn buy(key: &str, fingerprint: u64) -> Command {
    Command::new(intent(key, fingerprint), order("a", Side::Buy, "i", 1))
}

#[test]
fn a_replay_is_the_first_answer_whatever_happened_since() {
    let mut market = market();
    let command = buy("once", 1);
    let Decision::Accepted(first) = market.send(&command) else { panic!("it is affordable") };
    market.accept(order("a", Side::Buy, "i", 50));
    market.accept(SettleInstrument { instrument: name("i"), price: 0 });
    market.accept(SetMode { mode: MarketMode::Halted });
    assert_eq!(market.send(&command), Decision::Replayed(first.clone()));
    market.at_ms = START_MS - 5;
    assert_eq!(market.send(&command), Decision::Replayed(first.clone()));
    // It is the key that is replayed: what came with it is told by the fingerprint.
    assert_eq!(market.send(&Command { action: order("a", Side::Sell, "i", 9).into(), ..command }), Decision::Replayed(first));
}

#[test]
fn the_same_seat_is_replayed_even_if_its_level_has_filled_and_the_sale_has_closed() {
    let mut sale = Shard::sale();
    let admit = Admit { candidate: crate::support::candidate(1), email: None, level: name("a") };
    let command = Command::new(intent("seat", 1), admit);
    let Decision::Accepted(first) = sale.send(&command) else { panic!("seats are free") };
    sale.admit(2, "a");
    sale.accept(SetSaleOpen { open: false });
    assert_eq!(sale.send(&command), Decision::Replayed(first));
}

#[test]
fn a_rejection_remembers_nothing() {
    let mut market = market();
    market.open("late", 0);
    let command = Command::new(intent("k", 1), order("late", Side::Buy, "i", 1));
    assert!(matches!(market.send(&command), Decision::Rejected(Rejection::InsufficientBalance { .. })));
    // The same key may even be used for something else, for nothing came of it.
    assert!(matches!(market.send(&buy("k", 2)), Decision::Accepted(_)));
    assert!(matches!(market.send(&command), Decision::Rejected(Rejection::FingerprintMismatch { .. })));
}

#[test]
fn a_key_belongs_to_its_principal() {
    let mut market = market();
    let mut command = buy("k", 1);
    assert!(matches!(market.send(&command), Decision::Accepted(_)));
    command.intent.principal = Principal::new("somebody-else").expect("a principal");
    command.intent.fingerprint = [3; 32];
    assert!(matches!(market.send(&command), Decision::Accepted(_)));
    // Principal and key are two parts: no shifting of characters between them makes the same.
    for (principal, key) in [("somebod", "yk"), ("somebodyk", "x")] {
        let mut shifted = buy(key, 1);
        shifted.intent.principal = Principal::new(principal).expect("a principal");
        assert!(matches!(market.send(&shifted), Decision::Accepted(_)));
    }
}

#[test]
fn an_intent_ends_at_its_instant() {
    let mut market = market();
    let ending = |expires_at| {
        let mut command = buy("k", 1);
        command.intent.expires_at = Some(expires_at);
        command
    };
    let expired = |expires_at| Decision::Rejected(Rejection::IntentExpired { expires_at });
    assert_eq!(market.send(&ending(START_MS)), expired(START_MS));
    assert_eq!(market.send(&ending(START_MS - 1)), expired(START_MS - 1));
    assert_eq!(market.send(&ending(i64::MIN)), expired(i64::MIN));
    let last = START_MS + RETENTION_MS;
    for beyond in [last + 1, i64::MAX] {
        let too_far = Decision::Rejected(Rejection::IntentExpiryTooFar { expires_at_max: last });
        assert_eq!(market.send(&ending(beyond)), too_far);
    }
    let command = ending(last);
    let Decision::Accepted(first) = market.send(&command) else { panic!("the last instant that will do") };
    // The key is remembered to the intent's end: there is no instant at which a late copy could fill.
    market.at_ms = last - 1;
    assert_eq!(market.send(&command), Decision::Replayed(first));
    market.at_ms = last;
    assert_eq!(market.send(&command), expired(last));
    market.at_ms = START_MS;
    assert!(matches!(market.send(&command), Decision::Replayed(_)), "no entry has moved the shard's time");
}

#[test]
fn a_key_without_an_end_is_free_again_after_the_retention() {
    let mut market = market();
    let command = buy("k", 1);
    let Decision::Accepted(first) = market.send(&command) else { panic!("it is affordable") };
    market.at_ms = START_MS + RETENTION_MS - 1;
    assert_eq!(market.send(&command), Decision::Replayed(first.clone()));
    market.at_ms = START_MS + RETENTION_MS;
    let Decision::Accepted(second) = market.send(&command) else { panic!("its retention is over") };
    assert_ne!(first.position, second.position);
    // The first one's place in the order of purging is passed over; the second is remembered for its own retention.
    for _ in 0..20 {
        market.accept(order("a", Side::Buy, "i", 1));
    }
    market.at_ms = START_MS + 2 * RETENTION_MS - 1;
    assert_eq!(market.send(&command), Decision::Replayed(second));
}

#[test]
fn the_opening_of_a_shard_is_an_intent_too() {
    let mut market = Shard::new(ShardId::market(name("m")));
    let open = |retention_ms| OpenMarket { decimals: 0, fee_bps: 0, limits: limits(1, 1, 0), mode: MarketMode::Open, retention_ms };
    let mut command = Command::new(intent("open", 1), open(RETENTION_MS));
    command.intent.expires_at = Some(START_MS + RETENTION_MS + 1);
    assert!(matches!(market.send(&command), Decision::Rejected(Rejection::IntentExpiryTooFar { .. })));
    command.intent.expires_at = Some(START_MS + RETENTION_MS);
    let Decision::Accepted(first) = market.send(&command) else { panic!("the last instant that will do") };
    assert_eq!(market.send(&command), Decision::Replayed(first));
    assert_eq!(market.refuse(open(RETENTION_MS)), Rejection::MarketExists);
}

/// Runs two cores over the same steps, lets `change` make something of the second after each, and compares them.
fn compare(seed: u64, steps: usize, mut change: impl FnMut(usize, State) -> State) {
    let options = WorkloadOptions { retention_ms: 2_000, ..WorkloadOptions::default() };
    let mut bench = Bench::new(seed, options);
    let mut others: std::collections::BTreeMap<_, _> =
        bench.workload.shards().iter().map(|shard| (shard.clone(), State::new(shard.clone(), 1, (77, seed)))).collect();
    for number in 0..steps {
        let (step, decision) = bench.step();
        let mut other = others.remove(&step.shard).expect("the workload's shards are known");
        assert_eq!(other.decide(&step.command, step.at_ms), decision, "step {number}");
        if let Decision::Accepted(entry) = &decision {
            other.apply(entry).expect("an accepted entry fits");
        }
        let other = change(number, other);
        if number % 7 == 0 {
            assert_eq!(other.state_hash(), bench.states[&step.shard].state_hash(), "step {number}");
        }
        others.insert(step.shard, other);
    }
}

#[test]
fn the_seed_of_the_tables_changes_nothing() {
    compare(21, 3_000, |_, state| state);
}

#[test]
fn a_state_that_went_out_and_in_again_decides_the_same() {
    // What was imported remembers only live intents, in another order in memory: also when memory is freed changes nothing.
    compare(22, 3_000, |number, state| match number % 50 {
        0 => {
            let mut state = State::import((number as u64, 5), records_of(&state)).expect("what was exported fits");
            state.adopt(1);
            state
        }
        _ => state,
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Purging frees a few at a time, later: whatever the gaps between entries, exactly the live ones are shown.
    #[test]
    fn the_time_of_purging_is_not_seen(gaps in prop::collection::vec(0..=RETENTION_MS / 8, 1..120)) {
        let mut market = market();
        let mut accepted: Vec<(i64, Command)> = Vec::new();
        for gap in gaps {
            market.at_ms += gap;
            let command = Command::new(market.intent(), order("a", Side::Buy, "i", 1));
            if matches!(market.send(&command), Decision::Accepted(_)) {
                accepted.push((market.at_ms, command));
            }
            let shown = market.records().iter().filter(|record| matches!(record, Record::Intent(_))).count();
            prop_assert!(shown <= market.state.intents_held());
        }
        for (at_ms, command) in accepted {
            let remembered = matches!(market.state.decide(&command, market.at_ms), Decision::Replayed(_));
            prop_assert_eq!(remembered, at_ms + RETENTION_MS > market.at_ms);
        }
    }
}

#[test]
fn memory_is_freed_a_few_at_a_time() {
    let mut market = market();
    for _ in 0..200 {
        market.accept(order("a", Side::Buy, "i", 1));
        market.accept(order("a", Side::Sell, "i", 1));
    }
    let full = market.state.intents_held();
    market.at_ms += RETENTION_MS;
    market.accept(order("a", Side::Buy, "i", 1));
    let after_one = market.state.intents_held();
    assert!(after_one < full && after_one + nevertwice_core::limits::PURGE_MAX >= full, "{full} {after_one}");
    for _ in 0..200 {
        market.accept(order("a", Side::Buy, "i", 1));
        market.accept(order("a", Side::Sell, "i", 1));
        market.at_ms += 1;
    }
    assert!(market.state.intents_held() < full + 10, "{}", market.state.intents_held());
}

#[test]
fn every_accepted_step_replays_at_once() {
    let mut bench = Bench::new(23, WorkloadOptions::default());
    let mut words = std::collections::BTreeSet::new();
    for _ in 0..6_000 {
        let (step, decision) = bench.step();
        if let Decision::Accepted(entry) = decision {
            assert_eq!(bench.states[&step.shard].decide(&step.command, step.at_ms), Decision::Replayed(entry));
            words.insert(step.command.action.word());
        }
    }
    assert_eq!(words.len(), 20, "all kinds of actions: {words:?}");
}

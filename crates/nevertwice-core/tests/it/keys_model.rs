//! The state machine of a key, walked to the end of its state space: three attempts at one key, whose steps interleave in every
//! order, whose replies may be lost, and between which time passes.

use std::collections::{HashSet, VecDeque};

use nevertwice_core::keys::*;

/// Time passes in steps of half a lease; the retention is two leases and a bit.
const TICK_MS: i64 = 600;
const LEASE_MS: i64 = 1_200;
const RETENTION_MS: i64 = 3_000;
const TICKS_MAX: i64 = 8;
const T0: i64 = 1_000;

/// Where one attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// It has not asked, or its reply was lost.
    Asks,
    /// It was told to run, in that generation; it has not yet acted.
    MayAct(u64),
    /// It has acted, and reports that.
    Acted(u64),
    /// It was told to run and gives the key back, because nothing can have happened.
    GivesBack(u64),
    /// It has nothing more to do.
    Ends,
}

/// Everything, at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    at_ms: i64,
    record: Vec<u8>,
    attempts: Vec<Attempt>,
    /// Whether the key was known once and forgotten.
    forgotten: bool,
    /// Who has acted, and in which generation.
    acts: Vec<(u64, usize)>,
    /// The answer that somebody was told, and its generation.
    told: Option<(u64, u32)>,
}

/// A record in an order that can be hashed and compared.
mod bytes {
    use nevertwice_core::fields::{Fields as _, Sink};
    use nevertwice_core::keys::KeyRecord;

    struct Bytes(Vec<u8>);

    impl Sink for Bytes {
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
            self.0.extend(value.as_bytes());
        }
    }

    pub(super) fn of(record: Option<&KeyRecord>) -> Vec<u8> {
        let mut bytes = Bytes(Vec::new());
        if let Some(record) = record {
            record.put(&mut bytes);
        }
        bytes.0
    }
}

fn owner(number: usize) -> OwnerId {
    OwnerId([u8::try_from(number + 1).expect("attempts are few"); 32])
}

fn status(number: usize) -> u32 {
    200 + u32::try_from(number).expect("attempts are few")
}

fn answer(number: usize) -> KeyAnswer {
    KeyAnswer { status: status(number), head_bytes: 0, head_digest: [0; 32], body_bytes: 0, body_digest: [0; 32], body: BodyKept::Whole }
}

struct Checker {
    lapse: LapsePolicy,
    gives_back: bool,
    seen: HashSet<World>,
    queue: VecDeque<(World, Option<KeyRecord>)>,
}

impl Checker {
    fn run(lapse: LapsePolicy, attempts: usize, gives_back: bool) -> usize {
        let world = World {
            at_ms: T0,
            record: Vec::new(),
            attempts: vec![Attempt::Asks; attempts],
            forgotten: false,
            acts: Vec::new(),
            told: None,
        };
        let mut checker = Self { lapse, gives_back, seen: HashSet::new(), queue: VecDeque::new() };
        checker.reach(world, None);
        while let Some((world, record)) = checker.queue.pop_front() {
            checker.step_all(&world, record.as_ref());
        }
        checker.seen.len()
    }

    fn reach(&mut self, mut world: World, record: Option<KeyRecord>) {
        world.record = bytes::of(record.as_ref());
        if self.seen.insert(world.clone()) {
            self.queue.push_back((world, record));
        }
    }

    fn step_all(&mut self, world: &World, record: Option<&KeyRecord>) {
        if world.at_ms < T0 + TICKS_MAX * TICK_MS {
            let mut later = world.clone();
            later.at_ms += TICK_MS;
            if record.is_some() && KeyRecord::remembered(record, later.at_ms).is_none() {
                // Nobody knows any more what was answered; but a generation is never used again.
                (later.forgotten, later.told) = (true, None);
            }
            self.reach(later, record.cloned());
        }
        for number in 0..world.attempts.len() {
            match world.attempts[number] {
                Attempt::Asks => self.ask(world, record, number),
                Attempt::MayAct(generation) => self.work(world, record, number, generation),
                Attempt::Acted(generation) => self.report(world, record, number, generation),
                Attempt::GivesBack(generation) => self.give_back(world, record, number, generation),
                Attempt::Ends => {}
            }
        }
    }

    /// What the store keeps, and then both what the attempt hears and that it hears nothing.
    fn deliver<R>(&mut self, world: &World, record: Option<&KeyRecord>, decision: &KeyDecision<R>, heard: Option<(usize, Attempt)>) {
        self.judge_change(world, record, decision.change.as_ref());
        let after = decision.change.as_ref().or(record);
        self.reach(world.clone(), after.cloned());
        if let Some((number, attempt)) = heard {
            let mut world = world.clone();
            world.attempts[number] = attempt;
            self.reach(world, after.cloned());
        }
    }

    fn judge_change(&self, world: &World, record: Option<&KeyRecord>, change: Option<&KeyRecord>) {
        let (Some(before), Some(after)) = (KeyRecord::remembered(record, world.at_ms), change) else { return };
        assert!(after.generation >= before.generation, "a generation fell: {world:?}");
        assert!(after.changed_at >= before.changed_at, "time ran backwards: {world:?}");
        assert!(!matches!(before.state, KeyState::Completed(_)), "an answer was replaced: {world:?}");
        if matches!(after.state, KeyState::InProgress(_)) && after.generation > before.generation {
            let may_change_hands = matches!(before.state, KeyState::Free(_)) || before.is_lapsed(world.at_ms);
            assert!(may_change_hands, "a running claim changed hands: {world:?}");
        }
    }

    fn ask(&mut self, world: &World, record: Option<&KeyRecord>, number: usize) {
        let command = RegisterKey {
            fingerprint: [9; 32],
            owner: owner(number),
            lease_ms: LEASE_MS,
            retention_ms: RETENTION_MS,
            expires_at: None,
            lapse: self.lapse,
        };
        let decision = command.decide(record, world.at_ms);
        let mut world = world.clone();
        let attempt = match &decision.reply {
            Ok(Registration::Fresh(lease) | Registration::TakenOver(lease) | Registration::Resumed(lease)) => {
                Some(Attempt::MayAct(lease.generation))
            }
            Ok(Registration::Replay { generation, answer }) => {
                let told = (*generation, answer.status);
                assert!(world.told.is_none_or(|before| before == told), "two answers were told: {world:?}, {told:?}");
                assert!(world.acts.iter().any(|(acted, _)| *acted == *generation), "an answer without an act: {world:?}");
                world.told = Some(told);
                Some(Attempt::Ends)
            }
            Err(_) => None,
        };
        self.deliver(&world, record, &decision, attempt.map(|attempt| (number, attempt)));
    }

    fn work(&mut self, world: &World, record: Option<&KeyRecord>, number: usize, generation: u64) {
        // The owner may renew, any number of times.
        let renewal = RenewLease { owner: owner(number), generation, lease_ms: LEASE_MS }.decide(record, world.at_ms);
        self.judge_stale(world, record, number, generation, renewal.change.is_some());
        self.deliver(world, record, &renewal, None);
        // It may act, once.
        let mut acted = world.clone();
        acted.acts.push((generation, number));
        acted.acts.sort_unstable();
        self.judge_acts(&acted);
        acted.attempts[number] = Attempt::Acted(generation);
        self.reach(acted, record.cloned());
        // Or find that nothing can have happened.
        if self.gives_back {
            let mut back = world.clone();
            back.attempts[number] = Attempt::GivesBack(generation);
            self.reach(back, record.cloned());
        }
    }

    /// At most one attempt acts in a generation; and where nothing is ever run again, none acts after another.
    fn judge_acts(&self, world: &World) {
        for pair in world.acts.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "two attempts acted in one generation: {world:?}");
        }
        if self.lapse == LapsePolicy::Refuse {
            // An attempt that slept past the retention is the one exception, and its generation is behind.
            assert!(world.acts.len() <= 1 || world.forgotten, "acted twice: {world:?}");
        }
    }

    fn judge_stale(&self, world: &World, record: Option<&KeyRecord>, number: usize, generation: u64, changes: bool) {
        let current = KeyRecord::remembered(record, world.at_ms);
        let is_owner = current.is_some_and(|record| {
            let KeyState::InProgress(claim) = &record.state else { return false };
            claim.owner == owner(number) && record.generation == generation
        });
        assert!(is_owner || !changes, "somebody stale changed something: {world:?}");
    }

    fn report(&mut self, world: &World, record: Option<&KeyRecord>, number: usize, generation: u64) {
        let decision = CompleteKey { owner: owner(number), generation, answer: answer(number) }.decide(record, world.at_ms);
        self.judge_stale(world, record, number, generation, decision.change.is_some());
        // A lost reply is reported again; any reply ends the attempt.
        self.deliver(world, record, &decision, Some((number, Attempt::Ends)));
    }

    fn give_back(&mut self, world: &World, record: Option<&KeyRecord>, number: usize, generation: u64) {
        let decision = ReleaseKey { owner: owner(number), generation }.decide(record, world.at_ms);
        self.judge_stale(world, record, number, generation, decision.change.is_some());
        self.deliver(world, record, &decision, Some((number, Attempt::Ends)));
    }
}

#[test]
fn two_attempts_with_releases_under_every_policy() {
    for lapse in LapsePolicy::ALL {
        let states = Checker::run(*lapse, 2, true);
        assert!(states > 500, "{} saw only {states} states", lapse.word());
    }
}

#[test]
fn three_attempts_where_a_lapsed_key_is_refused() {
    let states = Checker::run(LapsePolicy::Refuse, 3, true);
    assert!(states > 2_000, "only {states} states");
}

#[test]
fn three_attempts_where_a_lapsed_key_is_run_again() {
    let states = Checker::run(LapsePolicy::Rerun, 3, true);
    assert!(states > 5_000, "only {states} states");
}

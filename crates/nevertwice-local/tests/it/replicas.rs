//! The level `replicated`: answers wait until enough standbys have confirmed, and what was told so outlives the primary.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use nevertwice_api::{Answer, Backend, Failure, Level, Levels, NoObserver, Request};
use nevertwice_core::{Decision, Entry, Query, Side};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::error::OpenError;
use nevertwice_local::feed::{FeedSource, JournalFeed, JournalHost};
use nevertwice_local::source::{Pull, SourceError};
use nevertwice_local::standby::{Asker, JournalCopy, Standby};
use nevertwice_local::storage::Storage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{START_MS, StillClock, market, open, order, remembered, request, small_options, submit, wait, workload};
use crate::standby::{eventually, now, stand_by};
use crate::support::Random;

const BOTH: Levels = Levels::reached(Level::Replicated).and(Levels::reached(Level::Journaled));

/// Answers wait for so many standbys; nobody gives them up.
fn replicas(min: usize) -> LocalOptions {
    LocalOptions { replicas_min: min, replicas_wait_ms: 600_000, ..small_options() }
}

fn serve(storage: &MemoryStorage, clock: &Arc<StillClock>, options: &LocalOptions) -> LocalBackend {
    let clock = Arc::clone(clock);
    LocalBackend::open(Arc::new(storage.clone()), clock, Arc::new(NoObserver), options).unwrap().0
}

fn clock() -> Arc<StillClock> {
    Arc::new(StillClock(START_MS.into()))
}

fn feed(backend: &LocalBackend) -> Arc<JournalFeed> {
    backend.feed().expect("a backend has a journal")
}

/// The same, to be answered once replicas have confirmed.
fn replicated(mut request: Request) -> Request {
    request.levels = Levels::reached(Level::Replicated);
    request
}

fn buy(key: &str) -> Request {
    replicated(request(market(), key, order("ann", Side::Buy, 1)))
}

/// A copy that does nothing unless it is told to.
struct Copy {
    copy: JournalCopy,
    source: FeedSource,
    asker: Asker,
    _folder: MemoryStorage,
}

impl Copy {
    fn of(backend: &LocalBackend, name: &str) -> Copy {
        let folder = MemoryStorage::new(7);
        let storage: Arc<dyn Storage> = Arc::new(folder.clone());
        let mut source = FeedSource(feed(backend));
        let copy = JournalCopy::install(&storage, &mut source, &small_options().journal, &SystemChance).unwrap().copy;
        let mut copy = Copy { copy, source, asker: Asker { name: name.to_owned(), wait_ms: 0 }, _folder: folder };
        copy.catch_up();
        copy
    }

    /// Copies all that there is, and confirms it.
    fn catch_up(&mut self) {
        while self.copy.pull(&mut self.source, &self.asker).unwrap().batches > 0 {}
    }
}

/// An answer that may come.
struct Coming<T>(Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>);

impl<T> Coming<T> {
    fn is_there(&mut self) -> bool {
        matches!(pin!(&mut self.0).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
    }
}

/// Submits it, and waits until it is durable at the primary.
fn begin(backend: &LocalBackend, request: Request) -> Coming<Answer> {
    let before = backend.journal().durable();
    let answer = backend.submit(request);
    eventually("it is durable", || backend.journal().durable() > before);
    Coming(answer)
}

fn short(live: usize, min: usize) -> Failure {
    Failure::ReplicasShort { live, min }
}

/// A market with Ann in it.
fn prepare(storage: &MemoryStorage) {
    let (backend, _) = open(storage).unwrap();
    workload(1, 40).into_iter().for_each(|request| drop(submit(&backend, &request).unwrap()));
}

#[test]
fn an_answer_waits_until_enough_standbys_of_different_names_have_confirmed() {
    let storage = MemoryStorage::new(1);
    prepare(&storage);
    let backend = serve(&storage, &clock(), &replicas(2));
    assert!(backend.offers().contains(Level::Replicated) && !backend.offers().contains(Level::Ledgered));
    assert_eq!(submit(&backend, &buy("nobody")), Err(short(0, 2)));
    let (mut first, mut again) = (Copy::of(&backend, "a"), Copy::of(&backend, "a"));
    assert_eq!(submit(&backend, &buy("one")), Err(short(1, 2)), "one name is one standby");
    let mut second = Copy::of(&backend, "b");

    let mut answer = begin(&backend, buy("two"));
    for copy in [&mut first, &mut again] {
        copy.catch_up();
        assert!(!answer.is_there(), "one name is one standby");
    }
    // It has fetched it, and confirmed nothing yet.
    assert_eq!(second.copy.pull(&mut second.source, &second.asker).unwrap().batches, 1);
    assert!(!answer.is_there());
    second.catch_up();
    let answer = wait(answer.0).unwrap();
    assert_eq!(answer.levels, BOTH);

    // Whatever else is answered waits as well, or need not.
    let replay = submit(&backend, &buy("two")).unwrap();
    assert_eq!((replay.position, replay.levels), (answer.position, BOTH));
    assert!(matches!(replay.decision, Decision::Replayed(_)));
    let mut plain = buy("three");
    plain.levels = Levels::NONE;
    let journaled = submit(&backend, &plain).unwrap();
    assert_eq!(journaled.levels, Levels::reached(Level::Journaled));
    let mut waiting =
        [Coming(backend.submit(buy("three"))), Coming(backend.submit(replicated(request(market(), "bad", order("nobody", Side::Buy, 1)))))];
    let mut read = Coming(backend.read(market(), Query::Market, Some(Level::Replicated)));
    let mut acks = Coming(backend.wait(market(), journaled.position, Level::Replicated));
    assert_eq!(wait(backend.wait(market(), journaled.position, Level::Decided)), Ok(Levels::reached(Level::Journaled)));
    assert_eq!(wait(backend.wait(market(), answer.position, Level::Decided)), Ok(BOTH), "all that are reached are told");
    // They are handed over beside whoever answers what needs no confirmation.
    eventually("all four wait", || feed(&backend).replicas().is_some_and(|status| status.waiting == 4));
    first.catch_up();
    assert!(waiting.iter_mut().all(|answer| !answer.is_there()) && !read.is_there() && !acks.is_there());
    assert_eq!(feed(&backend).replicas().map(|status| (status.live, status.short, status.waiting)), Some((2, false, 4)));
    second.catch_up();
    for answer in waiting {
        let answer = wait(answer.0).unwrap();
        assert_eq!((answer.position, answer.levels), (journaled.position, BOTH));
    }
    assert_eq!(wait(read.0).unwrap().levels, BOTH);
    assert_eq!(wait(acks.0), Ok(BOTH));
    assert_eq!(wait(backend.read(market(), Query::Market, None)).unwrap().levels, BOTH, "all that are reached are told");
    assert_eq!(wait(backend.read(crate::commands::sale(), Query::Sale, Some(Level::Replicated))).unwrap().levels, BOTH);
}

#[test]
fn what_was_not_confirmed_in_time_is_unknown_and_then_nothing_is_decided_until_it_is() {
    let (storage, clock) = (MemoryStorage::new(1), clock());
    prepare(&storage);
    let backend = serve(&storage, &clock, &LocalOptions { replicas_wait_ms: 20, ..replicas(1) });
    let mut copy = Copy::of(&backend, "a");
    let mut answer = begin(&backend, buy("known"));
    copy.catch_up();
    // On a busy machine it was given up before it was confirmed; then the key tells.
    let told =
        if answer.is_there() { submit(&backend, &buy("known")) } else { wait(answer.0).or_else(|_| submit(&backend, &buy("known"))) };
    let (Decision::Accepted(known) | Decision::Replayed(known)) = told.unwrap().decision else { panic!("it was refused") };
    assert_eq!(wait(begin(&backend, buy("late")).0), Err(Failure::OutcomeUnknown));
    let (hash, status) = (now(&backend), feed(&backend).replicas().unwrap());
    assert_eq!((status.live, status.short, status.waiting), (1, true, 0), "it is there, and late");
    for refused in [buy("more"), buy("late"), replicated(request(market(), "bad", order("nobody", Side::Buy, 1)))] {
        assert_eq!(submit(&backend, &refused), Err(short(1, 1)));
    }
    assert_eq!(wait(backend.read(market(), Query::Market, Some(Level::Replicated))), Err(short(1, 1)));
    assert_eq!(now(&backend), hash, "nothing was done");
    let replay = submit(&backend, &buy("known")).unwrap();
    assert_eq!((replay.decision, replay.position), (Decision::Replayed(remembered(&known)), known.position), "what was told stays told");
    assert!(wait(backend.read(market(), Query::Market, None)).is_ok(), "who asks for less is answered");

    copy.catch_up();
    let replay = submit(&backend, &buy("late")).unwrap();
    assert!(matches!(replay.decision, Decision::Replayed(_)) && replay.levels == BOTH);
    assert!(!feed(&backend).replicas().unwrap().short);

    // It falls silent for longer than its lease: nobody waits in vain, and what it confirmed is told.
    clock.0.fetch_add(5_001, Ordering::Relaxed);
    assert_eq!(submit(&backend, &buy("silent")), Err(short(0, 1)));
    assert!(matches!(submit(&backend, &buy("late")).unwrap().decision, Decision::Replayed(_)));
    assert_eq!(wait(backend.read(market(), Query::Market, Some(Level::Replicated))).unwrap().levels, BOTH);
    copy.catch_up();
    let mut answer = begin(&backend, buy("silent"));
    copy.catch_up();
    assert!(answer.is_there() || submit(&backend, &buy("silent")).is_ok());
}

#[test]
fn who_has_another_history_or_confirms_what_he_cannot_have_does_not_count() {
    let storage = MemoryStorage::new(1);
    prepare(&storage);
    let backend = serve(&storage, &clock(), &replicas(1));
    let feed = feed(&backend);
    let durable = backend.journal().durable();
    let right = backend.journal().cursor(durable).unwrap().crc();
    let pull = |after: u64, crc: Option<u32>, confirmed: u64| {
        let reader = Some("a".to_owned());
        feed.batches(&Pull { after, crc, bytes_max: 1 << 20, wait_ms: 0, reader, confirmed: Some(confirmed) }).map(|_| ())
    };
    let counts = || feed.replicas().unwrap().live;
    assert!(matches!(pull(durable, right.map(|crc| crc ^ 1), durable), Err(SourceError::Differs)));
    assert!(matches!(pull(durable + 1, right, durable + 1), Err(SourceError::Differs)));
    assert!(matches!(pull(durable, right, durable + 1), Err(SourceError::Bad(_))));
    assert!(feed.readers().is_empty());
    // Without a checksum it reads, and confirms nothing.
    pull(durable, None, durable).unwrap();
    assert_eq!((counts(), submit(&backend, &buy("1"))), (0, Err(short(0, 1))));
    pull(durable, right, durable).unwrap();
    assert_eq!(counts(), 1);

    // A fork of the same journal, of the same length.
    let fork = storage.fork(3);
    fork.kill();
    let (other, _) = open(&fork).unwrap();
    let mut answer = begin(&backend, buy("here"));
    while other.journal().durable() < backend.journal().durable() {
        submit(&other, &request(market(), "there", order("ann", Side::Buy, 2))).unwrap();
    }
    let end = backend.journal().durable();
    let theirs = other.journal().cursor(end).unwrap().crc();
    assert!(matches!(pull(end, theirs, end), Err(SourceError::Differs)));
    assert!(!answer.is_there());
    let ours = backend.journal().cursor(end).unwrap().crc();
    pull(end, ours, end).unwrap();
    assert!(wait(answer.0).is_ok());
}

#[test]
fn a_shard_of_its_own_level_replicated_and_a_backend_that_stops() {
    let storage = MemoryStorage::new(1);
    prepare(&storage);
    let own = LocalOptions { level: Level::Replicated, ..replicas(1) };
    let refused = LocalBackend::open(
        Arc::new(MemoryStorage::new(2)),
        clock(),
        Arc::new(NoObserver),
        &LocalOptions { replicas_min: 0, ..own.clone() },
    );
    assert!(matches!(refused.map(|_| ()), Err(OpenError::Options { .. })));
    let backend = serve(&storage, &clock(), &own);
    let plain = |key: &str| Request { levels: Levels::NONE, ..buy(key) };
    assert_eq!(submit(&backend, &plain("1")), Err(short(0, 1)));
    assert_eq!(wait(backend.read(market(), Query::Market, None)).map(|_| ()), Err(short(0, 1)), "nothing of this start is confirmed");
    let mut copy = Copy::of(&backend, "a");
    let answer = begin(&backend, plain("1"));
    copy.catch_up();
    assert_eq!(wait(answer.0).unwrap().levels, BOTH);
    let left = begin(&backend, plain("2"));
    backend.stop();
    assert_eq!(wait(left.0), Err(Failure::OutcomeUnknown), "the key tells, after the start");
    drop(backend);
    let backend = serve(&storage, &clock(), &own);
    let mut copy = Copy::of(&backend, "a");
    copy.catch_up();
    assert!(matches!(submit(&backend, &plain("2")).unwrap().decision, Decision::Replayed(_)));
}

/// Some of each kind of request, most of them to be replicated; what was told to be so.
fn tell(backend: &LocalBackend, requests: &[Request], random: &mut Random) -> Vec<(Request, Answer)> {
    let asked: Vec<Request> =
        requests.iter().map(|request| if random.below(4) > 0 { replicated(request.clone()) } else { request.clone() }).collect();
    let answers: Vec<_> = asked.iter().map(|request| backend.submit(request.clone())).collect();
    let told = asked.into_iter().zip(answers).filter_map(|(request, answer)| Some((request, wait(answer).ok()?)));
    told.filter(|(_, answer)| answer.levels.contains(Level::Replicated)).collect()
}

fn is_confirming(backend: &LocalBackend) -> bool {
    feed(backend).replicas().is_some_and(|replicas| replicas.live > 0)
}

#[test]
fn what_was_told_to_be_replicated_outlives_the_primary_whenever_it_is_killed() {
    let (mut told_of, mut unknown_of) = (0, 0);
    for seed in 0..40 {
        let mut random = Random(seed);
        let (storage, folder) = (MemoryStorage::new(seed), MemoryStorage::new(seed + 100));
        let requests = workload(seed, 300);
        let backend = serve(&storage, &clock(), &LocalOptions { replicas_wait_ms: 5_000, ..replicas(1) });
        let standby = stand_by(&folder, feed(&backend), small_options()).unwrap();
        eventually("it confirms", || is_confirming(&backend));
        storage.crash_after(random.below(200));
        let mut told = Vec::new();
        let mut asked = 0;
        for some in requests.chunks(1 + random.below(20) as usize) {
            told.extend(tell(&backend, some, &mut random));
            asked += some.len();
            if backend.status().health == nevertwice_api::Health::Poisoned {
                break;
            }
        }
        unknown_of += asked - told.len();
        told_of += told.len();
        // The primary is gone; the standby loses its power, or is promoted as it runs.
        drop(backend);
        let after = folder.fork(seed);
        let promoted: Arc<LocalBackend> = if random.below(2) == 0 {
            after.power_loss();
            drop(standby);
            Arc::new(open(&after).unwrap().0)
        } else {
            Arc::clone(&standby.promote(None).unwrap().0)
        };
        for (request, answer) in told {
            let (Decision::Accepted(entry) | Decision::Replayed(entry)) = answer.decision else { continue };
            let again = submit(&promoted, &Request { levels: Levels::NONE, ..request });
            let replay = Decision::Replayed(Entry { origin: None, before: None, ..entry });
            assert_eq!(again.map(|again| again.decision), Ok(replay), "seed {seed}");
        }
    }
    assert!(told_of > 500 && unknown_of > 100, "{told_of} told, {unknown_of} not");
}

#[test]
fn a_standby_that_stops_closes_the_level_and_opens_it_when_it_comes_back() {
    let (storage, folder, clock) = (MemoryStorage::new(1), MemoryStorage::new(2), clock());
    prepare(&storage);
    let backend = serve(&storage, &clock, &LocalOptions { replicas_wait_ms: 20, ..replicas(1) });
    let begin = || -> Standby { stand_by(&folder, feed(&backend), small_options()).unwrap() };
    for round in 0..3 {
        let standby = begin();
        let key = format!("with-{round}");
        // On a busy machine it may be late at first.
        eventually("it goes on", || submit(&backend, &buy(&key)).is_ok());
        drop(standby);
        let key = format!("without-{round}");
        let failed = submit(&backend, &buy(&key)).map(|_| ());
        assert_eq!(failed, Err(Failure::OutcomeUnknown), "decided before its absence showed");
        assert_eq!(submit(&backend, &buy("more")).map(|_| ()), Err(short(1, 1)));
        clock.0.fetch_add(5_001, Ordering::Relaxed);
        assert_eq!(submit(&backend, &buy("more")).map(|_| ()), Err(short(0, 1)));
        let standby = begin();
        eventually("the same key tells", || {
            submit(&backend, &buy(&key)).is_ok_and(|answer| matches!(answer.decision, Decision::Replayed(_)))
        });
        drop(standby);
        // Its lease is over before the next round.
        clock.0.fetch_add(5_001, Ordering::Relaxed);
    }
}

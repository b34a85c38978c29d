//! A standby: the same batches, durable in a folder of its own, whatever interrupts either side; and its promotion.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{Backend, ErrorCode, Failure, Health, Levels, NoObserver, Request};
use nevertwice_core::{Decision, Entry, Side};
use nevertwice_local::backup::{ShardAt, shards_at};
use nevertwice_local::chance::SystemChance;
use nevertwice_local::error::OpenError;
use nevertwice_local::feed::{FeedSource, JournalFeed, JournalHost};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::source::{Listing, Piece, Pull, Pulled, Source, SourceError};
use nevertwice_local::standby::{Asker, CopyError, JournalCopy, Phase, Standby, StandbyOptions};
use nevertwice_local::storage::Storage;
use nevertwice_local::{LocalBackend, LocalOptions};
use nevertwice_testkit::storage::MemoryStorage;

use crate::commands::{START_MS, StillClock, Twin, accepted, market, open, open_at, order, request, small_options, submit, wait, workload};

fn asker() -> Asker {
    Asker { name: "standby".to_owned(), wait_ms: 0 }
}

fn source(backend: &LocalBackend) -> FeedSource {
    FeedSource(backend.feed().expect("a backend has a journal"))
}

fn resume(storage: &MemoryStorage) -> Result<Option<JournalCopy>, OpenError> {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    Ok(JournalCopy::resume(&storage, &small_options().journal, &SystemChance)?.map(|begun| begun.copy))
}

/// Goes on with a copy, or makes one.
fn begin(storage: &MemoryStorage, source: &mut dyn Source) -> Result<JournalCopy, CopyError> {
    if let Some(copy) = resume(storage).map_err(CopyError::Open)? {
        return Ok(copy);
    }
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    Ok(JournalCopy::install(&storage, source, &small_options().journal, &SystemChance)?.copy)
}

/// Copies all that there is.
fn follow(copy: &mut JournalCopy, source: &mut dyn Source) -> Result<(), CopyError> {
    while copy.pull(source, &asker())?.batches > 0 {}
    Ok(())
}

fn contents(storage: &MemoryStorage) -> Vec<ShardAt> {
    let contents = Inspection::open(Arc::new(storage.clone())).unwrap().contents().unwrap();
    assert_eq!(contents.damage, None);
    shards_at(&contents.states)
}

pub(crate) fn now(backend: &LocalBackend) -> Vec<ShardAt> {
    let shards = wait(backend.shards()).unwrap().into_iter();
    let at = |shard| {
        let (position, hash) = wait(backend.state_hash(Clone::clone(&shard))).unwrap();
        ShardAt { shard, position, hash: hash.to_string() }
    };
    shards.map(at).collect()
}

/// Decides many at a time; what was accepted.
fn work(backend: &LocalBackend, requests: &[Request]) -> Vec<(Request, Entry)> {
    let mut made = Vec::new();
    for some in requests.chunks(5) {
        let answers: Vec<_> = some.iter().map(|request| backend.submit(request.clone())).collect();
        for (request, answer) in some.iter().zip(answers) {
            if let Decision::Accepted(entry) = wait(answer).unwrap().decision {
                made.push((request.clone(), entry));
            }
        }
    }
    made
}

#[test]
fn a_copy_follows_confirms_and_is_a_data_folder_of_the_same_states() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let requests = workload(1, 200);
    let mut from = source(&backend);
    let mut copy = begin(&folder, &mut from).unwrap();
    for some in requests.chunks(50) {
        work(&backend, some);
        follow(&mut copy, &mut from).unwrap();
        let reader = &backend.feed().unwrap().readers()[0];
        assert_eq!((reader.confirmed, copy.durable()), (Some(backend.journal().durable()), backend.journal().durable()));
        // At any moment the power may go: what was confirmed is there.
        let after = folder.fork(3);
        after.power_loss();
        assert_eq!(contents(&after), now(&backend));
    }
    copy.leave().unwrap();
    let mut copy = resume(&folder).unwrap().expect("it is there");
    work(&backend, &[request(market(), "one-more", order("ann", Side::Buy, 1))]);
    follow(&mut copy, &mut from).unwrap();
    assert_eq!(contents(&folder), now(&backend));
}

/// Loses calls and answers, as the seed has it.
struct Unsteady<S>(S, crate::support::Random);

impl<S: Source> Source for Unsteady<S> {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        self.0.listing()
    }

    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        let lost = || SourceError::Unreachable("it was lost".to_owned());
        match self.1.below(4) {
            0 => Err(lost()),
            // The source saw it, and the answer is lost.
            1 => self.0.batches(pull).and_then(|_| Err(lost())),
            2 => self.0.batches(&Pull { bytes_max: 1, ..pull.clone() }),
            _ => self.0.batches(pull),
        }
    }

    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError> {
        self.0.audit(after)
    }

    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        let mut piece = self.0.snapshot(batch, from)?;
        piece.piece.truncate(1 + self.1.below(500) as usize);
        Ok(piece)
    }
}

#[test]
fn whatever_interrupts_either_side_the_copy_goes_on_and_keeps_what_it_confirmed() {
    let mut interrupted = 0;
    for seed in 0..30 {
        let mut random = crate::support::Random(seed);
        let (mut storage, mut folder) = (MemoryStorage::new(seed), MemoryStorage::new(seed + 100));
        let requests = workload(seed, 160);
        let mut confirmed = 0;
        for some in requests.chunks(20) {
            let (backend, _) = open(&storage).unwrap();
            work(&backend, some);
            if random.below(3) == 0 {
                wait(backend.snapshot()).unwrap();
            }
            let before = folder.calls();
            folder.crash_after(random.below(60));
            let mut from = Unsteady(source(&backend), crate::support::Random(seed ^ before));
            // Until the planned crash, or for a while.
            if let Ok(mut copy) = begin(&folder, &mut from) {
                for _ in 0..20 {
                    match copy.pull(&mut from, &asker()) {
                        Ok(progress) => confirmed = progress.durable,
                        Err(CopyError::Source(SourceError::Unreachable(_))) => {}
                        Err(CopyError::Source(SourceError::Pruned)) => break,
                        Err(CopyError::Append(_) | CopyError::Open(_)) => break,
                        Err(other) => panic!("seed {seed}: {other}"),
                    }
                }
            }
            interrupted += usize::from(confirmed > 0);
            // Both sides lose their power, or are killed.
            storage.crash_after(random.below(3));
            drop(backend);
            for disk in [&storage, &folder] {
                if random.below(2) == 0 { disk.power_loss() } else { disk.kill() }
            }
            (storage, folder) = (storage.fork(random.below(99)), folder.fork(random.below(99)));
            if let Some(copy) = resume(&folder).unwrap_or_else(|error| panic!("seed {seed}: {error}")) {
                assert!(copy.durable() >= confirmed || confirmed == 0, "seed {seed}: {} is less than {confirmed}", copy.durable());
            } else {
                confirmed = 0;
            }
            folder.kill();
        }
        let (backend, _) = open(&storage).unwrap();
        let mut from = source(&backend);
        let mut copy = begin(&folder, &mut from).unwrap();
        let mut last = follow(&mut copy, &mut from);
        if matches!(last, Err(CopyError::Source(SourceError::Pruned))) {
            drop(copy);
            let storage: Arc<dyn Storage> = Arc::new(folder.clone());
            copy = JournalCopy::install(&storage, &mut from, &small_options().journal, &SystemChance).unwrap().copy;
            last = follow(&mut copy, &mut from);
        }
        last.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        copy.leave().unwrap();
        assert_eq!(contents(&folder), now(&backend), "seed {seed}");
    }
    assert!(interrupted >= 100, "{interrupted}");
}

#[test]
fn a_copy_refuses_another_history_and_a_folder_with_data_of_its_own() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(3, 80);
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &requests[..40]);
    let older = storage.fork(1);
    work(&backend, &requests[40..]);
    let mut copy = begin(&folder, &mut source(&backend)).unwrap();
    follow(&mut copy, &mut source(&backend)).unwrap();
    let before = copy.durable();
    older.kill();
    let (other, _) = open(&older).unwrap();
    // Behind it first, and then ahead of it.
    for round in 0..2 {
        let refused = follow(&mut copy, &mut source(&other)).unwrap_err();
        assert!(matches!(refused, CopyError::Source(SourceError::Differs)), "{round}: {refused}");
        for number in 0..80 {
            let another = request(market(), &format!("other-{round}-{number}"), order("ben", Side::Buy, 1));
            submit(&other, &another).unwrap();
        }
    }
    assert_eq!(copy.durable(), before);
    let refused = resume(&older).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::DataFolderInvalid);
    assert!(refused.to_string().contains("an empty folder"), "{refused}");
}

#[test]
fn a_first_copy_that_was_not_finished_is_served_by_nobody() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &workload(3, 80));
    wait(backend.snapshot()).unwrap();
    let whole = {
        let fork = folder.fork(1);
        begin(&fork, &mut source(&backend)).unwrap();
        fork.calls()
    };
    for at in 0..whole {
        let folder = MemoryStorage::new(at);
        folder.crash_after(at);
        assert!(begin(&folder, &mut source(&backend)).is_err(), "call {at}");
        folder.power_loss();
        let served = folder.fork(at);
        match open(&served) {
            Ok((promoted, report)) => {
                // Nothing of it was there yet, or all of it.
                let all = report.followed.is_some() && now(&promoted) == now(&backend);
                assert!(all || promoted.journal().durable() == 1, "call {at}");
            }
            Err(error) => assert_eq!(error.code(), ErrorCode::DataFolderInvalid, "call {at}: {error}"),
        }
        let mut copy = begin(&folder, &mut source(&backend)).unwrap();
        follow(&mut copy, &mut source(&backend)).unwrap();
        assert_eq!(copy.durable(), backend.journal().durable());
    }
}

/// A standby in this process, of a backend in this process.
pub(crate) fn stand_by(folder: &MemoryStorage, feed: Arc<JournalFeed>, local: LocalOptions) -> Result<Standby, OpenError> {
    let options = StandbyOptions { name: "s".to_owned(), wait_ms: 0, local };
    let clock = Arc::new(StillClock(START_MS.into()));
    Standby::open(Arc::new(folder.clone()), clock, Arc::new(NoObserver), Box::new(FeedSource(feed)), || {}, options)
}

pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not come: {what}");
}

#[test]
fn a_standby_follows_in_threads_of_its_own_decides_nothing_and_is_promoted() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let requests = workload(5, 300);
    let mut made = work(&backend, &requests[..100]);
    let small = LocalOptions { snapshot_bytes: 20_000, ..small_options() };
    let standby = stand_by(&folder, backend.feed().unwrap(), small.clone()).unwrap();
    assert!(matches!(stand_by(&folder, backend.feed().unwrap(), small.clone()).map(|_| ()), Err(OpenError::InUse)));
    made.extend(work(&backend, &requests[100..]));
    let durable = backend.journal().durable();
    eventually("the standby has it all", || standby.status().applied == durable);
    let status = standby.status();
    assert_eq!((status.phase, status.batch, status.lag_batches(), status.lag_ms), (Some(Phase::Following), durable, 0, 0));
    assert_eq!(wait(standby.shards()), now(&backend));
    let positions: Vec<_> = now(&backend).into_iter().map(|at| (at.shard, at.position)).collect();
    assert_eq!(wait(standby.positions()), positions);
    eventually("a snapshot of its own", || {
        let listing = JournalHost::feed(&standby).unwrap().listing(&[]).unwrap();
        !listing.snapshots.is_empty()
    });

    assert_eq!(standby.status().phase, Some(Phase::Following));
    assert_eq!((Backend::status(&standby).health, standby.offers()), (Health::Following, Levels::NONE));
    assert_eq!(wait(standby.submit(requests[0].clone())), Err(Failure::StandbyFollows));
    assert_eq!(wait(Backend::shards(&standby)), Err(Failure::StandbyFollows));
    let read = standby.read(market(), nevertwice_core::Query::Market, None);
    assert_eq!(wait(read), Err(Failure::StandbyFollows));

    let old_epoch = backend.epoch();
    let (promoted, report) = standby.promote(None).unwrap();
    assert!(report.followed.is_some() && promoted.epoch().is_multiple_of(1_000) && promoted.epoch() > old_epoch);
    assert_eq!(now(promoted), now(&backend));
    for (asked, entry) in made {
        // Where a command came from is in its entry, and not remembered with its intent.
        let remembered = Entry { origin: None, before: None, ..entry };
        assert_eq!(wait(standby.submit(asked)).unwrap().decision, Decision::Replayed(remembered));
    }
    let fresh = request(market(), "fresh", order("ann", Side::Sell, 1));
    let there = accepted(wait(standby.submit(fresh.clone())));
    let here = accepted(submit(&backend, &fresh));
    assert_eq!(there.position.seq, here.position.seq);
    assert_ne!(there.position, here.position, "the old primary's positions are others");
    assert_eq!(standby.promote(None).unwrap().0.epoch(), promoted.epoch(), "once");
    let epoch = promoted.epoch();
    drop(standby);
    let (again, report) = open_at(&folder, &small, START_MS).unwrap();
    assert_eq!((again.epoch(), report.followed), (epoch + 1, None), "it is a server's folder now");
    drop(again);
    let refused = stand_by(&folder, backend.feed().unwrap(), small).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("data of its own"), "{refused}");
}

#[test]
fn to_serve_a_standbys_folder_is_to_promote_it() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let (backend, _) = open(&storage).unwrap();
    let mut twin = Twin::new();
    for request in workload(5, 60) {
        assert_eq!(submit(&backend, &request).unwrap().decision, twin.decide(&request));
    }
    let standby = stand_by(&folder, backend.feed().unwrap(), small_options()).unwrap();
    let durable = backend.journal().durable();
    eventually("the standby has it all", || standby.status().batch == durable);
    drop(standby);
    let (promoted, report) = open(&folder).unwrap();
    assert!(report.followed.is_some() && promoted.epoch() >= 1_000);
    assert_eq!(now(&promoted), now(&backend));
}

#[test]
fn a_standby_begins_anew_where_the_source_has_pruned_and_stops_where_it_differs() {
    let (storage, folder) = (MemoryStorage::new(1), MemoryStorage::new(2));
    let requests = workload(6, 400);
    let (backend, _) = open(&storage).unwrap();
    work(&backend, &requests[..60]);
    let standby = stand_by(&folder, backend.feed().unwrap(), small_options()).unwrap();
    eventually("the standby has it all", || standby.status().batch == backend.journal().durable());
    drop(standby);
    drop(backend);
    // A new start knows nothing of its reader, and two snapshots let its batches go.
    let (backend, _) = open(&storage).unwrap();
    for some in requests[60..].chunks(100) {
        some.iter().for_each(|request| drop(submit(&backend, request).unwrap()));
        wait(backend.snapshot()).unwrap();
    }
    assert!(backend.feed().unwrap().listing(&[]).unwrap().first_batch() > 30);
    let standby = stand_by(&folder, backend.feed().unwrap(), small_options()).unwrap();
    eventually("the standby has it all", || standby.status().applied == backend.journal().durable());
    assert_eq!(wait(standby.shards()), now(&backend));
    drop(standby);
    assert_eq!(contents(&folder), now(&backend));

    let elsewhere = MemoryStorage::new(9);
    let (other, _) = open(&elsewhere).unwrap();
    work(&other, &workload(1, 400));
    let standby = stand_by(&folder, other.feed().unwrap(), small_options()).unwrap();
    eventually("it says so", || standby.status().phase == Some(Phase::Differs));
    assert!(standby.status().trouble.is_some_and(|trouble| trouble.contains("another history")));
    // What it has is still there, and an operator may want it.
    assert_eq!(now(&standby.promote(None).unwrap().0), now(&backend));
}

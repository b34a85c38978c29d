//! The writer: what it writes, what it leaves out, and what it stops at.

use std::sync::Arc;
use std::time::Duration;

use nevertwice_api::{LedgerStatus, LedgerWatch as _, ShardLag};
use nevertwice_core::{Entry, Position};
use nevertwice_ledger::{Database, LedgerWriter, Now, Watermarks, WriterOptions};
use nevertwice_testkit::postgres::Postgres;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::script::{Script, behind, history, shard_of};
use crate::support::Scratch;

/// Long enough for a slow machine; who waits for it in vain has failed.
const PATIENCE: Duration = Duration::from_secs(60);

struct Running {
    watermarks: Arc<Watermarks>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(database: &Database, script: &Script, options: WriterOptions) -> Running {
        Running::start_at(database, script, options, 0)
    }

    fn start_at(database: &Database, script: &Script, options: WriterOptions, now_ms: i64) -> Running {
        let now: Now = Arc::new(move || now_ms);
        let writer = LedgerWriter::new(database.clone(), Arc::new(script.clone()), now, options);
        let (stop, stopped) = watch::channel(false);
        Running { watermarks: writer.watermarks(), stop, task: tokio::spawn(writer.run(stopped)) }
    }

    /// Waits until the status is as wanted. The writer tells nobody of every step, so it is looked at again and again.
    async fn until(&self, wanted: impl Fn(&LedgerStatus) -> bool) -> LedgerStatus {
        let looking = async {
            loop {
                let status = self.watermarks.status(0);
                if wanted(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("it never came so far: {:?}", self.watermarks.status(0)))
    }

    async fn until_at(&self, position: Position) -> LedgerStatus {
        self.until(|status| status.shards.iter().any(|shard| shard.watermark == position)).await
    }

    async fn until_stopped(&self) -> ShardLag {
        let status = self.until(|status| status.shards.iter().any(|shard| shard.stopped.is_some())).await;
        status.shards.into_iter().find(|shard| shard.stopped.is_some()).expect("it was just seen")
    }

    async fn end(self) {
        self.stop.send_replace(true);
        timeout(PATIENCE, self.task).await.expect("it ends in time").expect("it does not panic");
    }
}

async fn positions(database: &Database, entries: &[Entry]) -> Vec<Position> {
    let rows = database.entries_after(&shard_of(entries), 0, 100_000).await.expect("readable");
    rows.into_iter().map(|row| row.position).collect()
}

fn positions_of(entries: &[Entry]) -> Vec<Position> {
    entries.iter().map(|entry| entry.position).collect()
}

fn last(entries: &[Entry]) -> Position {
    entries.last().expect("there are some").position
}

#[tokio::test]
async fn entries_are_written_in_order_and_once_through_restarts() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(1, 600));
        let script = Script::new("place");
        // Little batches, so that there are many.
        let options = WriterOptions { batch_bytes_max: 4_000, ..WriterOptions::default() };
        for part in entries.chunks(200) {
            let running = Running::start(&database, &script, options);
            script.push(part);
            running.until_at(last(part)).await;
            running.end().await;
        }
        assert_eq!(positions(&database, &entries).await, positions_of(&entries), "{}", scratch.name);
        // Who has forgotten how far he was compares, and writes nothing twice.
        match &database {
            Database::Sqlite { write, .. } => sqlx::query("DELETE FROM nevertwice_sources").execute(write).await.map(|_| ()),
            Database::Postgres { pool } => sqlx::query("DELETE FROM nevertwice_sources").execute(pool).await.map(|_| ()),
        }
        .expect("forgotten");
        let running = Running::start(&database, &script, options);
        let status = running.until_at(last(&entries)).await;
        assert_eq!((status.entries_written, status.failures), (0, 0), "{}", scratch.name);
        running.end().await;
        assert_eq!(positions(&database, &entries).await, positions_of(&entries), "{}", scratch.name);
    }
}

/// The order that defeats a plain unique index: the ledger has an entry that the place has lost and decided anew.
#[tokio::test]
async fn a_second_history_is_refused_and_the_shard_stops() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(2, 100));
        let running = Running::start(
            &database,
            &{
                let script = Script::new("place");
                script.push(&entries);
                script
            },
            WriterOptions::default(),
        );
        running.until_at(last(&entries)).await;
        running.end().await;
        // The copy has all but the last five, and has gone on from there in an epoch of its own.
        let mut copy: Vec<Entry> = entries[..95].to_vec();
        for number in 0..10 {
            copy.push(behind(copy.last().expect("there are some"), 2, &format!("anew-{number}"), 1));
        }
        let script = Script::new("place");
        script.push(&copy);
        let running = Running::start(&database, &script, WriterOptions::default());
        let stopped = running.until_stopped().await;
        let told = stopped.stopped.expect("it has stopped");
        assert!(told.contains("another entry"), "{}: {told}", scratch.name);
        running.end().await;
        assert_eq!(positions(&database, &entries).await, positions_of(&entries), "{}: the first history stands", scratch.name);
    }
}

#[tokio::test]
async fn a_gap_stops_the_shard_and_others_go_on() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(3, 20));
        let script = Script::new("place");
        script.push(&entries[..10]);
        script.push(&entries[11..]);
        let mut other = entries[0].clone();
        other.shard = "market/elsewhere".parse().expect("a shard");
        script.push([&other]);
        let running = Running::start(&database, &script, WriterOptions::default());
        let stopped = running.until_stopped().await;
        assert_eq!((stopped.shard, stopped.watermark), (shard_of(&entries), last(&entries[..10])), "{}", scratch.name);
        running.until(|status| status.shards.iter().any(|shard| shard.shard == other.shard && shard.watermark == other.position)).await;
        running.end().await;
        assert_eq!(positions(&database, &entries).await, positions_of(&entries[..10]), "{}", scratch.name);
    }
}

/// A key inside its retention: below `ledgered` the effect has happened, so it is stored and counted.
#[tokio::test]
async fn a_double_is_stored_and_counted_where_nobody_waits() {
    for scratch in Scratch::both() {
        let (database, mut entries) = (scratch.open().await, history(4, 10));
        let key = entries[5].intent.key.as_str().to_owned();
        let mut double = behind(&entries[9], 1, &key, 1);
        double.intent.principal = entries[5].intent.principal.clone();
        entries.push(double);
        entries.push(behind(&entries[10].clone(), 1, "after", 1));
        let script = Script::new("place");
        script.push(&entries);
        let running = Running::start(&database, &script, WriterOptions::default());
        let status = running.until_at(last(&entries)).await;
        assert_eq!(status.doubled, 1, "{}", scratch.name);
        running.end().await;
        assert_eq!(positions(&database, &entries).await, positions_of(&entries), "{}", scratch.name);
        assert_eq!(database.count_doubles().await, Ok(1), "{}", scratch.name);
    }
}

#[tokio::test]
async fn a_double_stops_the_shard_where_answers_wait() {
    for scratch in Scratch::both() {
        let (database, mut entries) = (scratch.open().await, history(5, 10));
        let mut double = behind(&entries[9], 1, entries[5].intent.key.as_str(), 1);
        double.intent.principal = entries[5].intent.principal.clone();
        entries.push(double);
        entries.push(behind(&entries[10].clone(), 1, "after", 1));
        let script = Script::new("place");
        script.push(&entries);
        let running = Running::start(&database, &script, WriterOptions { is_awaited: true, ..WriterOptions::default() });
        let stopped = running.until_stopped().await;
        assert_eq!(stopped.watermark, last(&entries[..10]), "{}: what comes before it is written", scratch.name);
        assert!(stopped.stopped.expect("it has stopped").contains("remembered"), "{}", scratch.name);
        running.end().await;
        assert_eq!(positions(&database, &entries).await, positions_of(&entries[..10]), "{}", scratch.name);
    }
}

#[tokio::test]
async fn a_key_that_is_used_again_after_its_retention_stops_nothing() {
    for scratch in Scratch::both() {
        let (database, mut entries) = (scratch.open().await, history(6, 10));
        let retention_ms = entries[0]
            .events
            .iter()
            .find_map(|event| match event {
                nevertwice_core::Event::MarketOpened(opened) => Some(opened.retention_ms),
                nevertwice_core::Event::SaleOpened(opened) => Some(opened.retention_ms),
                _ => None,
            })
            .expect("it opens the shard");
        // At the very instant at which the first is forgotten, and once more so: in one batch.
        for _ in 0..2 {
            let before = entries.last().expect("there are some").clone();
            let key = before.intent.key.as_str().to_owned();
            entries.push(behind(&before, 1, &key, retention_ms));
        }
        let script = Script::new("place");
        script.push(&entries);
        let running = Running::start(&database, &script, WriterOptions { is_awaited: true, ..WriterOptions::default() });
        let status = running.until_at(last(&entries)).await;
        assert_eq!(status.doubled, 0, "{}", scratch.name);
        running.end().await;
    }
}

#[tokio::test]
async fn who_holds_the_lease_keeps_another_place_out_until_it_ends() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(7, 10));
        let (one, two) = (Script::new("one"), Script::new("two"));
        one.push(&entries[..5]);
        two.push(&entries);
        let options = WriterOptions { lease_ms: 1_000, ..WriterOptions::default() };
        let first = Running::start(&database, &one, options);
        first.until_at(last(&entries[..5])).await;
        let second = Running::start(&database, &two, options);
        let status = second.until(|status| status.failures > 0).await;
        assert!(status.trouble.expect("it was told").contains("another server"), "{}", scratch.name);
        assert_eq!(positions(&database, &entries).await, positions_of(&entries[..5]), "{}", scratch.name);
        // The first ends in order, and gives its lease back.
        first.end().await;
        second.until_at(last(&entries)).await;
        second.end().await;
    }
}

/// A place that took the fence and wrote nothing leaves the first one what it had: after a restart that is known at once.
#[tokio::test]
async fn who_comes_in_between_and_is_refused_takes_nothing_from_the_first() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(11, 10));
        let (one, two) = (Script::new("one"), Script::new("two"));
        one.push(&entries);
        let first = Running::start(&database, &one, WriterOptions::default());
        first.until_at(last(&entries)).await;
        first.end().await;
        let mut other = entries[0].clone();
        other.at_ms += 1;
        two.push([&other]);
        let second = Running::start(&database, &two, WriterOptions::default());
        second.until_stopped().await;
        second.end().await;
        // Nothing new comes, and yet it knows where it is.
        let first = Running::start(&database, &one, WriterOptions::default());
        first.until_at(last(&entries)).await;
        first.end().await;
    }
}

/// One that was stopped and goes on when its lease is over writes nothing any more.
#[tokio::test]
async fn a_writer_that_was_overtaken_is_fenced_off() {
    for scratch in Scratch::both() {
        let (database, entries) = (scratch.open().await, history(8, 10));
        let (one, two) = (Script::new("one"), Script::new("two"));
        one.push(&entries[..5]);
        two.push(&entries[..5]);
        let options = WriterOptions { lease_ms: 1_000, ..WriterOptions::default() };
        let first = Running::start_at(&database, &one, options, 0);
        first.until_at(last(&entries[..5])).await;
        // For the second one the lease is long over.
        let second = Running::start_at(&database, &two, options, 1_000_000);
        second.until_at(last(&entries[..5])).await;
        two.push([&behind(&entries[4], 2, "the-second-one", 1)]);
        second.until_at(Position { epoch: 2, seq: entries[5].position.seq }).await;
        one.push(&entries[5..]);
        first.until(|status| status.failures > 0).await;
        assert_eq!(one.let_go(), 5, "{}: what it could not write is kept", scratch.name);
        let held = positions(&database, &entries).await;
        assert_eq!(held.last(), Some(&Position { epoch: 2, seq: entries[5].position.seq }), "{}", scratch.name);
        second.end().await;
        // Once the lease is free, the first one sees what is there instead of its own.
        assert!(first.until_stopped().await.stopped.expect("it has stopped").contains("another entry"), "{}", scratch.name);
        first.end().await;
    }
}

/// A server that does not answer at all, as behind a cable that was cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_that_stands_still_is_given_up_and_asked_again() {
    let server = Postgres::start(&[("fsync", "off")]);
    let address = server.new_database().parse().expect("an address");
    let options = nevertwice_ledger::DatabaseOptions { connect_ms: 500, ..crate::support::QUICK };
    let database = Database::open(&address, &options).await.expect("it opens");
    database.migrate().await.expect("its tables are made");
    let (script, entries) = (Script::new("place"), history(10, 200));
    let running = Running::start(&database, &script, WriterOptions { reply_ms: 500, ..WriterOptions::default() });
    script.push(&entries[..100]);
    running.until_at(last(&entries[..100])).await;
    server.hold();
    script.push(&entries[100..]);
    let status = running.until(|status| status.failures > 1).await;
    assert!(status.trouble.is_some() && status.shards[0].watermark == last(&entries[..100]), "{status:?}");
    server.go_on();
    running.until_at(last(&entries)).await;
    running.end().await;
    assert_eq!(positions(&database, &entries).await, positions_of(&entries));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_that_is_killed_under_load_loses_and_doubles_nothing() {
    let mut server = Postgres::start(&[]);
    let address = server.new_database().parse().expect("an address");
    let options = nevertwice_ledger::DatabaseOptions { connect_ms: 2_000, ..nevertwice_ledger::DatabaseOptions::default() };
    let database = Database::open(&address, &options).await.expect("it opens");
    database.migrate().await.expect("its tables are made");
    let entries = history(9, 3_000);
    let script = Script::new("place");
    let running = Running::start(&database, &script, WriterOptions { batch_bytes_max: 2_000, ..WriterOptions::default() });
    script.push(&entries[..1]);
    running.until_at(last(&entries[..1])).await;
    let mut struck = 0;
    for part in entries[1..].chunks(1_000) {
        script.push(part);
        let before = running.watermarks.status(0).entries_written;
        running.until(|status| status.entries_written > before).await;
        server.kill();
        let at = running.watermarks.status(0).shards[0].watermark;
        struck += usize::from(at < last(part));
        println!("killed at {at} of {}", last(part));
        running.until(|status| status.trouble.is_some() || status.shards[0].watermark == last(part)).await;
        server.resume();
        running.until_at(last(part)).await;
    }
    assert!(struck > 0, "it was never under way when the server was killed");
    running.end().await;
    assert_eq!(positions(&database, &entries).await, positions_of(&entries));
}

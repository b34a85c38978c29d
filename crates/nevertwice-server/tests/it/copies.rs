//! The journal over HTTP, for those who copy it.

use std::sync::Arc;

use nevertwice_api::AuditAsk;
use nevertwice_api::wire::AuditFact;
use nevertwice_local::backup::{BackupReport, back_up};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::journal::FrameStream;
use nevertwice_local::source::{Pull, Source, SourceError};
use nevertwice_server::config::Secret;
use nevertwice_server::{Remote, Target};
use nevertwice_testkit::storage::MemoryStorage;
use serde_json::{Value, json};

use crate::house::House;

const OPERATOR: &str = "operator-key-0123456789";

fn remote(house: &House, key: Option<&str>) -> Remote {
    let target: Target = format!("http://{}", house.addr).parse().expect("an address");
    Remote::new(target, key.map(Secret::new), None).expect("a runtime")
}

/// A remote blocks, so it works beside the server's runtime.
async fn beside<T: Send + 'static>(mut remote: Remote, work: impl FnOnce(&mut Remote) -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(move || work(&mut remote)).await.expect("it does not panic")
}

async fn buy(house: &House, key: &str) {
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    house.post("/v1/markets/wc/orders", key, order).await.result();
}

async fn durable(house: &House) -> u64 {
    house.get("/v1/journal").await.json()["batch"].as_u64().expect("a batch")
}

#[tokio::test]
async fn a_backup_over_http_holds_what_was_durable_when_it_began() {
    let house = House::configured(|config| config.operator_key = Some(Secret::new(OPERATOR))).await;
    let refused = beside(remote(&house, None), |remote| remote.listing()).await.expect_err("it has no key");
    assert!(matches!(&refused, SourceError::Refused(told) if told.contains("credentials_missing")), "{refused}");
    let wrong = beside(remote(&house, Some("another-key-0123456789")), |remote| remote.listing()).await.expect_err("the key is wrong");
    assert!(!format!("{wrong} {wrong:?}").contains("another-key"), "a key is never shown");
    let folder = MemoryStorage::new(1);
    let run = |folder: MemoryStorage| {
        beside(remote(&house, Some(OPERATOR)), move |remote| back_up(Arc::new(folder), remote, "test", &mut |_| {}))
    };
    let first: BackupReport = run(folder.clone()).await.expect("it is made");
    let notes: Vec<&str> = first.manifest.notes.iter().map(|note| note.name.as_str()).collect();
    assert_eq!((first.before, notes), (None, vec![]), "this house has not noted its person key");
    let again = run(folder).await.expect("it is brought up to date");
    assert_eq!((again.before, again.fetched_bytes), (Some(first.manifest.batch), 0));
}

#[tokio::test]
async fn batches_come_in_order_and_a_reader_that_waits_gets_the_next_one_at_once() {
    let house = House::open().await.with_market().await;
    let shown = house.get("/v1/journal").await.json();
    let id = shown["journal"].as_str().expect("a number").parse().expect("a journal's number");
    let last = durable(&house).await;
    let whole = Pull { bytes_max: 1 << 20, ..Pull::default() };
    let asked = whole.clone();
    let pulled = beside(remote(&house, None), move |remote| remote.batches(&asked)).await.expect("batches");
    let frames: Result<Vec<_>, _> = FrameStream::new(&pulled.frames, id, 0, Some(0)).collect();
    let frames = frames.expect("a chain");
    assert_eq!((frames.len() as u64, pulled.durable), (last, last));
    let crc = frames.last().map(|frame| frame.crc);

    // One at a time, if no more are wanted.
    let one = Pull { bytes_max: 1, ..whole.clone() };
    let pulled = beside(remote(&house, None), move |remote| remote.batches(&one)).await.expect("a batch");
    assert_eq!(FrameStream::new(&pulled.frames, id, 0, Some(0)).count(), 1);

    // Whoever waits is served by the next batch, long before his time is over.
    let waiting = Pull { after: last, crc, wait_ms: 10_000, reader: Some("a".to_owned()), confirmed: Some(last), ..whole.clone() };
    let asked = waiting.clone();
    let waits = tokio::spawn(beside(remote(&house, None), move |remote| remote.batches(&asked)));
    let reader = |shown: &Value| shown["readers"][0].clone();
    crate::house::eventually("the reader", async || {
        let shown = reader(&house.get("/v1/journal").await.json());
        (shown["name"] == "a").then_some(shown)
    })
    .await;
    buy(&house, "next").await;
    let pulled = waits.await.expect("it does not panic").expect("a batch");
    assert_eq!((FrameStream::new(&pulled.frames, id, last, crc).count(), pulled.durable), (1, last + 1));
    let shown = reader(&house.get("/v1/journal").await.json());
    assert_eq!((&shown["batch"], &shown["confirmed"], &shown["live"]), (&json!(last), &json!(last), &json!(true)));
    house.later(5_001);
    assert_eq!(reader(&house.get("/v1/journal").await.json())["live"], false, "its lease is over");

    for (pull, is) in [
        (Pull { after: last, crc: crc.map(|crc| crc ^ 1), ..whole.clone() }, "another frame"),
        (Pull { after: last + 2, ..whole.clone() }, "beyond the end"),
        (Pull { after: 0, crc: Some(7), ..whole.clone() }, "another beginning"),
    ] {
        let refused = beside(remote(&house, None), move |remote| remote.batches(&pull)).await;
        assert!(matches!(refused, Err(SourceError::Differs)), "{is}: {refused:?}");
    }
}

#[tokio::test]
async fn what_is_asked_badly_is_refused() {
    let house = House::open().await.with_market().await;
    for (path, code) in [
        ("/v1/journal?all=1", "query_invalid"),
        ("/v1/journal/batches?after=-1", "query_invalid"),
        ("/v1/journal/batches?after=x", "query_invalid"),
        ("/v1/journal/batches?crc=12345", "query_invalid"),
        ("/v1/journal/batches?crc=+1234567", "query_invalid"),
        ("/v1/journal/batches?bytes_max=4194305", "query_invalid"),
        ("/v1/journal/batches?wait_ms=10001", "query_invalid"),
        ("/v1/journal/batches?reader=a%20b", "name_invalid"),
        ("/v1/journal/batches?after=1&confirmed=1", "query_invalid"),
        ("/v1/journal/batches?after=1&confirmed=1&reader=a", "query_invalid"),
        ("/v1/journal/batches?after=1&crc=00000000&confirmed=2&reader=a", "query_invalid"),
        ("/v1/journal/batches?after=18446744073709551615", "history_differs"),
        ("/v1/journal/batches?after=1000", "history_differs"),
        ("/v1/journal/audit?after=-1", "query_invalid"),
        ("/v1/journal/audit?from=1", "query_invalid"),
        ("/v1/journal/keys", "route_unknown"),
        ("/v1/journal/keys/snapshot-00000000000000000001.records", "route_unknown"),
        ("/v1/journal/snapshots/1", "snapshot_unknown"),
        ("/v1/journal/snapshots/x", "snapshot_unknown"),
        ("/v1/journal/snapshots/1?from=-1", "query_invalid"),
    ] {
        assert_eq!(house.get(path).await.code(), code, "{path}");
    }
    for number in 0..16 {
        assert_eq!(house.get(format!("/v1/journal/batches?reader=r{number}")).await.status, 200);
    }
    let full = house.get("/v1/journal/batches?reader=r16").await;
    assert_eq!((full.code().as_str(), full.header("retry-after")), ("readers_full", Some("1")));
    assert_eq!(house.get("/v1/journal/batches?reader=r3").await.status, 200, "who has a name keeps it");
    house.later(60_001);
    assert_eq!(house.get("/v1/journal/batches?reader=r16").await.status, 200, "and who is silent loses it");
}

#[tokio::test]
async fn what_was_pruned_is_said_and_its_snapshot_is_there() {
    let house = House::open().await.with_market().await;
    for round in 0..2 {
        for number in 0..3 {
            buy(&house, &format!("{round}-{number}")).await;
        }
        house.backend.snapshot().await.expect("a snapshot");
    }
    // A start makes a segment of its own, so that the first one can go.
    let house = house.reopen(crate::house::Plan::default()).await;
    for round in 2..4 {
        buy(&house, &format!("{round}")).await;
        house.backend.snapshot().await.expect("a snapshot");
    }
    assert_eq!(house.get("/v1/journal/batches?after=0").await.code(), "batches_pruned");
    let shown = house.get("/v1/journal").await.json();
    let snapshot = &shown["snapshots"][0];
    let (batch, bytes) = (snapshot["batch"].as_u64().expect("a batch"), snapshot["bytes"].as_u64().expect("a length"));
    let piece = beside(remote(&house, None), move |remote| remote.snapshot(batch, 0)).await.expect("it is there");
    assert_eq!((piece.bytes, piece.piece.len() as u64), (bytes, bytes));
    let end = beside(remote(&house, None), move |remote| remote.snapshot(batch, bytes)).await.expect("it is there");
    assert!(end.piece.is_empty());
    let folder = MemoryStorage::new(1);
    let copied = folder.clone();
    let made = beside(remote(&house, None), move |remote| back_up(Arc::new(folder), remote, "test", &mut |_| {})).await;
    assert_eq!(made.expect("it is made").manifest.snapshots.len(), 1);
    // What operators did before that snapshot came along.
    let audit = house.get("/v1/audit").await.json();
    let facts: Vec<Value> = audit["facts"].as_array().cloned().expect("a list");
    let (inspected, fault) = Inspection::open(Arc::new(copied)).expect("a folder").audit().expect("an audit");
    let page = inspected.page(&AuditAsk::default()).expect("a page");
    let shown = page.facts.iter().filter_map(AuditFact::of).map(|fact| serde_json::to_value(fact).expect("JSON"));
    assert_eq!((shown.collect::<Vec<_>>(), page.begins_after, fault), (facts, 0, None));
}

#[tokio::test]
async fn a_server_that_is_not_there_or_a_strange_one_is_told_from_one_that_refuses() {
    let gone: Target = "http://127.0.0.1:1".parse().expect("an address");
    let nobody = beside(Remote::new(gone, None, None).expect("a runtime"), |remote| remote.listing()).await;
    assert!(matches!(nobody, Err(SourceError::Unreachable(_))), "{nobody:?}");
    let house = House::open().await;
    let remote = remote(&house, None);
    let interrupt = remote.interrupt();
    let waiting = Pull { after: durable(&house).await, wait_ms: 10_000, bytes_max: 1, reader: Some("a".to_owned()), ..Pull::default() };
    let waits = tokio::spawn(beside(remote, move |remote| (remote.batches(&waiting), remote.listing())));
    crate::house::eventually("the reader", async || {
        let shown = house.get("/v1/journal").await.json();
        shown["readers"][0]["name"].as_str().map(|_| ())
    })
    .await;
    interrupt.interrupt();
    let (ended, later) = waits.await.expect("it does not panic");
    assert!(matches!(ended, Err(SourceError::Unreachable(_))), "{ended:?}");
    assert!(matches!(later, Err(SourceError::Unreachable(_))), "it stays so");
}

//! The journal, for those who copy it.

use std::sync::Arc;

use nevertwice_api::ErrorCode;
use nevertwice_api::wire::{JournalListing, JournalNote, JournalReader, JournalSegment, JournalSnapshot, KeysSnapshot};
use nevertwice_local::LocalKeyStore;
use nevertwice_local::error::OpenError;
use nevertwice_local::feed::JournalFeed;
use nevertwice_local::source::{Listing, Pull, SourceError};
use tokio::time::{Duration, Instant, timeout_at};

use crate::app::App;
use crate::call::{Call, Parameters, invalid_query, read_name};
use crate::key_records::KEYS_NOTE;
use crate::person_secret;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// How much comes at once, at most.
const BYTES_MAX: usize = 4 << 20;
/// How long a request waits for a batch, at most.
const WAIT_MS_MAX: u64 = 10_000;
/// How often one that waits looks whether the server is about to stop.
const LOOK_UP: Duration = Duration::from_millis(250);

/// The small files beside the journal that go with a copy: what tells the right person key from another.
pub const COPIED_NOTES: &[&str] = &[person_secret::CHECK];

/// Says which batch is the last durable one.
pub(crate) const BATCH_HEADER: &str = "journal-batch";
/// Says how long a snapshot is.
pub(crate) const BYTES_HEADER: &str = "journal-bytes";

pub(crate) async fn list(call: Box<Call>) -> Result<Reply, Refusal> {
    call.parameters(&[])?;
    let feed = feed(&call.app)?;
    let readers = feed.readers();
    let listing = blocking(&call.app, move || feed.listing(COPIED_NOTES)).await?;
    let mut shown = show(listing);
    shown.readers = readers
        .into_iter()
        .map(|reader| JournalReader {
            name: reader.name,
            batch: reader.batch,
            confirmed: reader.confirmed,
            heard_at_ms: reader.heard_at_ms,
            live: reader.live,
        })
        .collect();
    Reply::read(&shown)
}

pub(crate) async fn batches(call: Box<Call>) -> Result<Reply, Refusal> {
    let parameters = call.parameters(&["after", "crc", "bytes_max", "wait_ms", "reader", "confirmed"])?;
    let pull = read_pull(&parameters)?;
    let feed = feed(&call.app)?;
    let until = Instant::now() + Duration::from_millis(pull.wait_ms);
    loop {
        let (asked, from) = (pull.clone(), Arc::clone(&feed));
        let pulled = blocking(&call.app, move || from.batches(&asked)).await?;
        let now = Instant::now();
        if !pulled.frames.is_empty() || now >= until || call.app.is_stopping() {
            return Ok(Reply::bytes(pulled.frames, BATCH_HEADER, pulled.durable));
        }
        // Nothing yet: until there is, or to say again that somebody is there.
        let _came = timeout_at(until.min(now + LOOK_UP), feed.beyond(pull.after)).await;
    }
}

pub(crate) async fn audit(call: Box<Call>) -> Result<Reply, Refusal> {
    let after = call.parameters(&["after"])?.number("after")?.unwrap_or(0);
    let feed = feed(&call.app)?;
    let durable = feed.durable();
    let frames = blocking(&call.app, move || feed.audit(after)).await?;
    Ok(Reply::bytes(frames, BATCH_HEADER, durable))
}

pub(crate) async fn snapshot(call: Box<Call>) -> Result<Reply, Refusal> {
    let from = call.parameters(&["from"])?.number("from")?.unwrap_or(0);
    let batch: u64 = call.path_text("batch").parse().map_err(|_| {
        let wrong = "The path does not name a batch by its number";
        Refusal::new(ErrorCode::SnapshotUnknown, wrong, "Take one that /v1/journal lists")
    })?;
    let feed = feed(&call.app)?;
    let piece = blocking(&call.app, move || feed.snapshot(batch, from)).await?;
    Ok(Reply::bytes(piece.piece, BYTES_HEADER, piece.bytes))
}

pub(crate) async fn keys(call: Box<Call>) -> Result<Reply, Refusal> {
    call.parameters(&[])?;
    let store = copied_keys(&call.app)?;
    let at_ms = call.app.clock.now_ms();
    let made = store.snapshot().await.map_err(|error| refuse(error.into()))?;
    let note = call.app.keys.note().map(|bytes| JournalNote { name: KEYS_NOTE.to_owned(), hex: data_encoding::HEXLOWER.encode(&bytes) });
    Reply::read(&KeysSnapshot { journal: store.id().to_string(), batch: made.batch, at_ms, note })
}

pub(crate) async fn keys_file(call: Box<Call>) -> Result<Reply, Refusal> {
    let from = call.parameters(&["from"])?.number("from")?.unwrap_or(0);
    let (name, store) = (call.path_text("file").to_owned(), copied_keys(&call.app)?);
    let piece = blocking(&call.app, move || store.copied_piece(&name, from)).await?;
    Ok(Reply::bytes(piece.piece, BYTES_HEADER, piece.bytes))
}

fn copied_keys(app: &App) -> Result<Arc<LocalKeyStore>, Refusal> {
    app.keys.copied().ok_or_else(|| {
        let wrong = "This server keeps no records of keys in a folder";
        Refusal::new(ErrorCode::RouteUnknown, wrong, "Copy where they are kept instead")
    })
}

fn read_pull(parameters: &Parameters) -> Result<Pull, Refusal> {
    let bounded = |name: &str, max: u64, default: u64| match parameters.number::<u64>(name)? {
        Some(value) if value > max => Err(invalid_query(&format!("The query parameter `{name}` is at most {max}"))),
        value => Ok(value.unwrap_or(default)),
    };
    let crc = |text: &str| {
        let digits = Some(text).filter(|text| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let crc = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        crc.ok_or_else(|| invalid_query("The query parameter `crc` is not 8 hexadecimal digits"))
    };
    let pull = Pull {
        after: parameters.number("after")?.unwrap_or(0),
        crc: parameters.text("crc").map(crc).transpose()?,
        bytes_max: bounded("bytes_max", BYTES_MAX as u64, BYTES_MAX as u64)? as usize,
        wait_ms: bounded("wait_ms", WAIT_MS_MAX, 0)?,
        reader: parameters.text("reader").map(|name| read_name("reader", name)).transpose()?.map(|name| name.to_string()),
        confirmed: parameters.number("confirmed")?,
    };
    if pull.confirmed.is_some_and(|confirmed| confirmed > pull.after || pull.reader.is_none() || pull.crc.is_none()) {
        return Err(invalid_query("The query parameter `confirmed` needs a `reader`, a `crc`, and an `after` that is not before it"));
    }
    Ok(pull)
}

fn feed(app: &App) -> Result<Arc<JournalFeed>, Refusal> {
    let feed = app.journal.as_ref().and_then(|host| host.feed());
    feed.ok_or_else(|| {
        let wrong = "This server has no journal that could be copied";
        Refusal::new(ErrorCode::RouteUnknown, wrong, "Copy where its data are kept instead")
    })
}

/// Reads files where that may block, a few at a time.
async fn blocking<T: Send + 'static>(app: &App, read: impl FnOnce() -> Result<T, SourceError> + Send + 'static) -> Result<T, Refusal> {
    let place = Arc::clone(&app.journal_reads).acquire_owned().await.map_err(|_| Refusal::internal("a place that is closed"))?;
    let task = tokio::task::spawn_blocking(move || {
        let done = read();
        drop(place);
        done
    });
    task.await.map_err(|_| Refusal::internal("a reader of the journal that panicked"))?.map_err(refuse)
}

fn refuse(error: SourceError) -> Refusal {
    match error {
        SourceError::Pruned => Refusal::new(
            ErrorCode::BatchesPruned,
            "The batches after that one are not kept any more",
            "Begin with a snapshot that /v1/journal lists",
        ),
        SourceError::Differs => Refusal::new(
            ErrorCode::HistoryDiffers,
            "This journal has no such batch, or another one of that number",
            "Begin a new copy in another folder, and keep the old one until it is known why they differ",
        ),
        SourceError::NoSnapshot => {
            Refusal::new(ErrorCode::SnapshotUnknown, "There is no such snapshot, or not any more", "Take one that /v1/journal lists now")
        }
        SourceError::ReadersFull => Refusal::new(
            ErrorCode::ReadersFull,
            "As many readers of the journal have a name as may",
            "Stop one that is not needed, and ask again in a minute",
        ),
        SourceError::Open(OpenError::Audit { what }) => {
            tracing::error!(what, "the audit could not be read for a copy");
            Refusal::new(
                ErrorCode::HistoryDamaged,
                format!("The audit can't be copied: {what}"),
                "Restore the files of the audit from a copy",
            )
        }
        error => {
            tracing::error!(%error, "the journal could not be read for a copy");
            Refusal::internal("a journal that can't be read")
        }
    }
}

fn show(listing: Listing) -> JournalListing {
    JournalListing {
        journal: listing.id.to_string(),
        epoch: listing.epoch,
        batch: listing.durable,
        now_ms: listing.now_ms,
        segments: listing
            .segments
            .iter()
            .map(|extent| JournalSegment {
                segment: extent.segment,
                first_batch: extent.first_batch,
                last_batch: extent.last_batch,
                bytes: extent.bytes,
            })
            .collect(),
        snapshots: listing.snapshots.iter().map(|snapshot| JournalSnapshot { batch: snapshot.batch, bytes: snapshot.bytes }).collect(),
        notes: listing
            .notes
            .into_iter()
            .map(|note| JournalNote { name: note.name, hex: data_encoding::HEXLOWER.encode(&note.bytes) })
            .collect(),
        readers: Vec::new(),
    }
}

//! The routes of another server's journal.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use axum::http::{HeaderMap, Method};
use bytes::Bytes;
use nevertwice_api::ErrorCode;
use nevertwice_api::wire::{JournalListing, JournalNote, KeysSnapshot, Promoted};
use nevertwice_local::journal::Extent;
use nevertwice_local::source::{Listing, Note, Piece, Pull, Pulled, SnapshotExtent, Source, SourceError};
use nevertwice_local::storage::Storage;
use nevertwice_local::{KeysListing, KeysSource, fetch_keys_snapshot};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Duration;

use super::client::{Ask, Client, Interrupt, RemoteError};
use super::connect::Connect;
use super::target::Target;
use crate::config::Secret;
use crate::endpoints::journal::{BATCH_HEADER, BYTES_HEADER};

/// The largest answer: a batch may fill a segment.
const BODY_BYTES_MAX: usize = 96 << 20;

/// Another server.
pub struct Remote {
    runtime: Runtime,
    client: Client,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl Remote {
    /// The server at `target`; nothing is asked yet. It needs the operator's key unless it has none. Over TLS it is believed if an
    /// authority whose certificate is in the file `ca` vouches for its host's name; without that file, one that the system believes.
    ///
    /// # Errors
    /// If no runtime can be made, or no certificate would be believed. A file for a server without TLS is refused too: whoever names
    /// one takes the connection for safe.
    pub fn new(target: Target, key: Option<Secret>, ca: Option<&Path>) -> Result<Self, RemoteError> {
        if ca.is_some() && !target.has_tls() {
            return Err(RemoteError::Unprepared(format!("certificates are of no use with {target}, which is reached without TLS")));
        }
        let connect = Connect::new(target, ca).map_err(|error| RemoteError::Unprepared(error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| RemoteError::Unprepared(format!("no runtime can be made: {error}")))?;
        Ok(Self { runtime, client: Client::new(connect, key, BODY_BYTES_MAX) })
    }

    /// Ends whatever this waits for, from another thread.
    #[must_use]
    pub fn interrupt(&self) -> Interrupt {
        self.client.interrupt()
    }

    fn ask(&mut self, ask: Ask<'_>) -> Result<(HeaderMap, Bytes), RemoteError> {
        self.runtime.block_on(self.client.ask(ask))
    }

    /// Promotes it, if it is a standby.
    ///
    /// # Errors
    /// If it is none, refuses, or can't be reached.
    pub fn promote(&mut self) -> Result<Promoted, RemoteError> {
        let headers = [("content-type", "application/json"), ("idempotency-key", "promote")];
        let body = Bytes::from_static(b"{}");
        let ask = Ask { method: Method::POST, headers: &headers, body, ..Ask::get("/v1/standby/promote") };
        self.read_answer(ask)
    }

    /// Reads what is at a path with its query.
    ///
    /// # Errors
    /// If it refuses, can't be reached, or answers something else.
    pub fn read<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, RemoteError> {
        self.read_answer(Ask::get(path))
    }

    /// Reads what is at a path with its query, about a principal.
    ///
    /// # Errors
    /// The same.
    pub fn read_of<T: DeserializeOwned>(&mut self, path: &str, principal: &str) -> Result<T, RemoteError> {
        self.read_answer(Ask { headers: &[("principal", principal)], ..Ask::get(path) })
    }

    /// Posts JSON to a path, on behalf of a principal. A request whose connection broke is not sent again.
    ///
    /// # Errors
    /// If it refuses, can't be reached, or answers something else.
    pub fn post<T: DeserializeOwned>(&mut self, path: &str, principal: &str, body: &impl Serialize) -> Result<T, RemoteError> {
        let headers = [("content-type", "application/json"), ("principal", principal)];
        let body = serde_json::to_vec(body).map_err(|error| RemoteError::Unprepared(format!("what is asked is not JSON: {error}")))?;
        self.read_answer(Ask { method: Method::POST, headers: &headers, body: body.into(), ..Ask::get(path) })
    }

    fn read_answer<T: DeserializeOwned>(&mut self, ask: Ask<'_>) -> Result<T, RemoteError> {
        let (_, body) = self.ask(ask)?;
        serde_json::from_slice(&body).map_err(|error| RemoteError::Strange(error.to_string()))
    }

    fn keys_file(&mut self, name: &str, from: u64) -> Result<Piece, SourceError> {
        let (headers, body) = self.get(&format!("/v1/journal/keys/{name}?from={from}"), Duration::ZERO)?;
        Ok(Piece { bytes: number(&headers, BYTES_HEADER)?, piece: body.into() })
    }

    fn get(&mut self, path: &str, wait: Duration) -> Result<(HeaderMap, Bytes), SourceError> {
        self.ask(Ask { wait, ..Ask::get(path) }).map_err(source_error)
    }
}

impl Source for Remote {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        let (_, body) = self.get("/v1/journal", Duration::ZERO)?;
        let shown: JournalListing = serde_json::from_slice(&body).map_err(|error| SourceError::Bad(error.to_string()))?;
        read_listing(shown).ok_or_else(|| SourceError::Bad("the listing of the journal".to_owned()))
    }

    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        let mut path = format!("/v1/journal/batches?after={}&bytes_max={}&wait_ms={}", pull.after, pull.bytes_max, pull.wait_ms);
        // Writing to a String can't fail.
        if let Some(crc) = pull.crc {
            let _ = write!(path, "&crc={crc:08x}");
        }
        if let Some(reader) = &pull.reader {
            let reader: String = form_urlencoded::byte_serialize(reader.as_bytes()).collect();
            let _ = write!(path, "&reader={reader}");
        }
        if let Some(confirmed) = pull.confirmed {
            let _ = write!(path, "&confirmed={confirmed}");
        }
        let (headers, body) = self.get(&path, Duration::from_millis(pull.wait_ms))?;
        Ok(Pulled { durable: number(&headers, BATCH_HEADER)?, frames: body.into() })
    }

    fn waits(&self) -> bool {
        true
    }

    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError> {
        match self.ask(Ask::get(&format!("/v1/journal/audit?after={after}"))) {
            Ok((_, body)) => Ok(body.into()),
            // A version from before this route.
            Err(RemoteError::Refused(problem)) if problem.code.parse() == Ok(ErrorCode::RouteUnknown) => Err(SourceError::NoAudit),
            Err(error) => Err(source_error(error)),
        }
    }

    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        let (headers, body) = self.get(&format!("/v1/journal/snapshots/{batch}?from={from}"), Duration::ZERO)?;
        Ok(Piece { bytes: number(&headers, BYTES_HEADER)?, piece: body.into() })
    }
}

impl KeysSource for Remote {
    fn snapshot_keys(&mut self, into: &Arc<dyn Storage>) -> Result<Option<KeysListing>, SourceError> {
        let body = match self.ask(Ask::get("/v1/journal/keys")) {
            Ok((_, body)) => body,
            // Keys in memory alone, or a version from before this route.
            Err(RemoteError::Refused(problem)) if problem.code.parse() == Ok(ErrorCode::RouteUnknown) => return Ok(None),
            Err(error) => return Err(source_error(error)),
        };
        let shown: KeysSnapshot = serde_json::from_slice(&body).map_err(|error| SourceError::Bad(error.to_string()))?;
        let bad = || SourceError::Bad("the snapshot of keys".to_owned());
        let hex = |note: JournalNote| data_encoding::HEXLOWER_PERMISSIVE.decode(note.hex.as_bytes()).map_err(|_| bad());
        let note = shown.note.map(hex).transpose()?;
        fetch_keys_snapshot(into.as_ref(), shown.batch, &mut |name, from| self.keys_file(name, from))?;
        Ok(Some(KeysListing { id: shown.journal.parse().map_err(|_| bad())?, batch: shown.batch, at_ms: shown.at_ms, note }))
    }

    fn answers(&mut self, name: &str, from: u64) -> Result<Piece, SourceError> {
        self.keys_file(name, from)
    }
}

fn number(headers: &HeaderMap, name: &str) -> Result<u64, SourceError> {
    let value = headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok());
    value.ok_or_else(|| SourceError::Bad(format!("an answer without the header {name}")))
}

fn source_error(error: RemoteError) -> SourceError {
    let RemoteError::Refused(problem) = error else {
        return match error {
            RemoteError::Unreachable(what) => SourceError::Unreachable(what),
            other => SourceError::Refused(other.to_string()),
        };
    };
    match problem.code.parse() {
        Ok(ErrorCode::BatchesPruned) => SourceError::Pruned,
        Ok(ErrorCode::HistoryDiffers) => SourceError::Differs,
        Ok(ErrorCode::SnapshotUnknown) => SourceError::NoSnapshot,
        Ok(ErrorCode::ReadersFull) => SourceError::ReadersFull,
        _ if problem.retryable => SourceError::Unreachable(RemoteError::Refused(problem).to_string()),
        _ => SourceError::Refused(RemoteError::Refused(problem).to_string()),
    }
}

fn read_listing(shown: JournalListing) -> Option<Listing> {
    let notes = shown.notes.into_iter().map(|note| {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(note.hex.as_bytes()).ok()?;
        Some(Note { name: note.name, bytes })
    });
    Some(Listing {
        id: shown.journal.parse().ok()?,
        epoch: shown.epoch,
        durable: shown.batch,
        now_ms: shown.now_ms,
        segments: shown
            .segments
            .iter()
            .map(|segment| Extent {
                segment: segment.segment,
                first_batch: segment.first_batch,
                last_batch: segment.last_batch,
                bytes: segment.bytes,
            })
            .collect(),
        snapshots: shown.snapshots.iter().map(|snapshot| SnapshotExtent { batch: snapshot.batch, bytes: snapshot.bytes }).collect(),
        notes: notes.collect::<Option<_>>()?,
    })
}

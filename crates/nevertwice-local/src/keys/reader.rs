//! Reads the bytes of answers for replays, and removes files that nobody needs, beside the writer and in the order in which it
//! asks: so a replay that was decided finds its file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use nevertwice_api::{AnswerBytes, KeyReply, KeyStoreFailure, Levels, Registered};
use nevertwice_core::keys::{BodyKept, KeyAnswer, Registration};

use super::answers::{self, answers_name};
use super::change::{Place, length};
use super::queue::Reply;
use crate::error::IoFailure;
use crate::storage::Storage;

/// A replay whose bytes are still to be read.
pub(crate) struct Replay {
    pub(crate) reply: Reply<KeyReply<Registered>>,
    pub(crate) generation: u64,
    pub(crate) answer: KeyAnswer,
    pub(crate) place: Place,
    pub(crate) at_ms: i64,
    pub(crate) levels: Levels,
}

impl Replay {
    pub(crate) fn fail(self, failure: KeyStoreFailure) {
        drop(self.reply.send(Err(failure)));
    }

    fn send(self, storage: &dyn Storage) {
        let Replay { reply, generation, answer, place, at_ms, levels } = self;
        let told = match read(storage, place, &answer) {
            Ok(bytes) => (answer, bytes),
            Err(Unreadable::Refused(failure)) => {
                tracing::error!(%failure, "an answer can't be read now");
                return drop(reply.send(Err(KeyStoreFailure::Unavailable)));
            }
            // The request was carried out, and this is all that can still be said of its answer. To refuse every retry would tell
            // less, to free the key would let it run twice.
            Err(Unreadable::Damaged(what)) => {
                let name = answers_name(place.file);
                tracing::error!(name, offset = place.offset, what, "an answer is damaged, and replayed as one that was not kept");
                (tombstone(&answer), AnswerBytes::default())
            }
        };
        let (answer, bytes) = told;
        let registration = Registration::Replay { generation, answer };
        drop(reply.send(Ok(KeyReply { reply: Ok(Registered { registration, bytes }), at_ms, levels })));
    }
}

/// The same answer without its bytes.
fn tombstone(answer: &KeyAnswer) -> KeyAnswer {
    let body = BodyKept::Tombstone;
    KeyAnswer { status: answer.status, head_bytes: 0, head_digest: [0; 32], body_bytes: answer.body_bytes, body_digest: [0; 32], body }
}

/// Why an answer was not read.
pub(crate) enum Unreadable {
    /// The system refused.
    Refused(IoFailure),
    /// What is there is not what was written.
    Damaged(&'static str),
}

/// Reads an answer and holds it to its digests.
pub(crate) fn read(storage: &dyn Storage, place: Place, answer: &KeyAnswer) -> Result<AnswerBytes, Unreadable> {
    let name = answers_name(place.file);
    let refused =
        |doing: &'static str| move |error: io::Error| Unreadable::Refused(IoFailure::new(doing, &answers_name(place.file), error));
    let file = match storage.open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unreadable::Damaged("the file is missing")),
        Err(error) => return Err(refused("opening")(error)),
    };
    let size = file.size().map_err(refused("measuring"))?;
    let wanted = length(answer);
    // Looked at first: a length that nobody can have written reserves nothing.
    if !place.offset.checked_add(wanted).is_some_and(|end| end <= size) {
        return Err(Unreadable::Damaged("the file is too short"));
    }
    let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(usize::MAX)];
    let read = file.read_at(place.offset, &mut bytes).map_err(refused("reading"))?;
    if read < bytes.len() {
        return Err(Unreadable::Damaged("the file is too short"));
    }
    let body = bytes.split_off(answer.head_bytes as usize);
    let bytes = AnswerBytes { head: bytes.into(), body: body.into() };
    if bytes.fit(answer) { Ok(bytes) } else { Err(Unreadable::Damaged("the bytes are not those that were kept")) }
}

/// What is to be done with files of answers.
pub(crate) enum Errand {
    Read(Replay),
    Remove(u64),
    Stop,
}

/// Where the writer asks.
pub(crate) struct Shelf {
    errands: Sender<Errand>,
    depth: Arc<AtomicUsize>,
    depth_max: usize,
}

impl Shelf {
    pub(crate) fn new(errands: Sender<Errand>, depth: Arc<AtomicUsize>, depth_max: usize) -> Shelf {
        Shelf { errands, depth, depth_max }
    }

    /// Has a replay's bytes read, and answers it; refuses it at once if too many are waiting.
    pub(crate) fn read(&self, replay: Replay) {
        if self.depth.fetch_add(1, Ordering::Relaxed) >= self.depth_max {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            return replay.fail(KeyStoreFailure::Unavailable);
        }
        if let Err(error) = self.errands.send(Errand::Read(replay))
            && let Errand::Read(replay) = error.0
        {
            replay.fail(KeyStoreFailure::Unavailable);
        }
    }

    /// Has a file removed.
    pub(crate) fn remove(&self, number: u64) {
        // Where nobody hears it, the next start removes it.
        drop(self.errands.send(Errand::Remove(number)));
    }
}

/// The one who does it.
pub(crate) struct Reader {
    pub(crate) errands: Receiver<Errand>,
    pub(crate) depth: Arc<AtomicUsize>,
    pub(crate) storage: Arc<dyn Storage>,
}

impl Reader {
    pub(crate) fn run(self) {
        while let Ok(errand) = self.errands.recv()
            && self.do_one(errand)
        {}
    }

    /// Does one errand, if there is any.
    #[cfg(feature = "stepped")]
    pub(crate) fn step(&self) -> bool {
        self.errands.try_recv().is_ok_and(|errand| self.do_one(errand))
    }

    /// `false`: it was the last.
    fn do_one(&self, errand: Errand) -> bool {
        match errand {
            Errand::Read(replay) => {
                self.depth.fetch_sub(1, Ordering::Relaxed);
                replay.send(self.storage.as_ref());
            }
            Errand::Remove(number) => {
                if let Err(failure) = answers::remove(self.storage.as_ref(), number) {
                    tracing::warn!(%failure, "a file of answers that nobody needs stays until the next start");
                }
            }
            Errand::Stop => return false,
        }
        true
    }
}

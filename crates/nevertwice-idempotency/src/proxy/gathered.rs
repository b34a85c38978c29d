//! Bodies of guarded requests, read whole before anything is claimed: in memory as long as there is room for them together, else in
//! files that have no name, so that a process that dies leaves none.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use nevertwice_api::ErrorCode;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::budget::{Budget, Share};
use super::config::Bodies;
use crate::Policy;
use crate::answer::Refusal;
use crate::gather::{Gather, malformed, too_large};

/// How many files are read back at one time, to digest what is in them: each needs its body in memory.
const DIGESTS_MAX: usize = 2;

/// A body that was read whole.
pub(crate) enum Gathered {
    /// In memory, with its share of it.
    Memory(Bytes, Share),
    /// In a file.
    Spilled(Spilled),
}

/// A body in a file without a name, from its start.
pub(crate) struct Spilled {
    pub(super) file: Arc<File>,
    pub(super) length: u64,
    share: Share,
}

/// Where bodies are kept until they are sent on.
#[derive(Clone, Debug)]
pub(crate) struct Gatherer {
    one_in_memory_max: u64,
    folder: PathBuf,
    memory: Budget,
    disk: Budget,
    digests: Arc<Semaphore>,
}

impl Gatherer {
    pub(super) fn new(bodies: &Bodies) -> Self {
        Self {
            one_in_memory_max: bodies.one_in_memory_bytes_max,
            folder: bodies.folder.clone().unwrap_or_else(std::env::temp_dir),
            memory: Budget::new(bodies.memory_bytes_max),
            disk: Budget::new(bodies.disk_bytes_max),
            digests: Arc::new(Semaphore::new(DIGESTS_MAX)),
        }
    }

    /// Bytes of bodies in memory, and in files.
    pub(super) fn used(&self) -> (u64, u64) {
        (self.memory.used(), self.disk.used())
    }

    /// Makes a buffer large enough for so many bytes, if the budget has room for all that the buffer then takes: more than is needed,
    /// so that a body in many pieces is not moved for each of them, or else exactly that.
    fn make_room(&self, memory: &mut Vec<u8>, share: &mut Share, length: usize) -> bool {
        if length <= memory.capacity() {
            return true;
        }
        let one_max = usize::try_from(self.one_in_memory_max).unwrap_or(usize::MAX);
        let ahead = memory.capacity().saturating_mul(2).min(one_max).max(length);
        let Some(room) = [ahead, length].into_iter().find(|room| share.grow_to(*room as u64)) else { return false };
        memory.reserve_exact(room - memory.len());
        true
    }

    /// An empty file that is gone with its last handle.
    async fn spill(&self) -> Result<Spilled, Refusal> {
        let folder = self.folder.clone();
        let opened = on_disk(move || tempfile::tempfile_in(folder)).await?;
        Ok(Spilled { file: Arc::new(opened), length: 0, share: self.disk.share() })
    }
}

impl Spilled {
    async fn append(&mut self, piece: Bytes) -> Result<(), Refusal> {
        self.length = self.length.saturating_add(piece.len() as u64);
        if !self.share.grow_to(self.length) {
            return Err(no_room());
        }
        let file = Arc::clone(&self.file);
        on_disk(move || (&*file).write_all(&piece)).await
    }
}

/// The next bytes of a file, at most `bytes_max`.
pub(super) fn next_piece(mut file: &File, bytes_max: usize) -> std::io::Result<Bytes> {
    let mut piece = vec![0; bytes_max];
    let length = file.read(&mut piece)?;
    piece.truncate(length);
    Ok(piece.into())
}

impl<B> Gather<B> for Gatherer
where
    B: Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    type Whole = Gathered;

    async fn gather(&self, policy: &Policy, body: B) -> Result<Gathered, Refusal> {
        let mut body = Box::pin(body);
        let announced = body.size_hint();
        if announced.lower() > policy.request_bytes_max as u64 {
            return Err(too_large(policy));
        }
        let mut length = 0_usize;
        // What is announced is not yet there: room is taken for it as it comes.
        let mut memory: Vec<u8> = Vec::new();
        let mut share = self.memory.share();
        let mut spilled: Option<Spilled> = None;
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| malformed())?.into_data() else { continue };
            length = length.saturating_add(piece.len());
            if length > policy.request_bytes_max {
                return Err(too_large(policy));
            }
            if let Some(file) = &mut spilled {
                file.append(piece).await?;
                continue;
            }
            if length as u64 <= self.one_in_memory_max && self.make_room(&mut memory, &mut share, length) {
                memory.extend_from_slice(&piece);
                continue;
            }
            let mut file = self.spill().await?;
            file.append(Bytes::from(std::mem::take(&mut memory))).await?;
            file.append(piece).await?;
            share = self.memory.share();
            spilled = Some(file);
        }
        Ok(match spilled {
            Some(file) => Gathered::Spilled(file),
            None => Gathered::Memory(Bytes::from(memory), share),
        })
    }

    async fn digest<D>(&self, whole: Gathered, digest: D) -> Result<(Gathered, [u8; 32]), Refusal>
    where
        D: FnOnce(&[u8]) -> [u8; 32] + Send + 'static,
    {
        let spilled = match whole {
            Gathered::Memory(bytes, share) => {
                let told = digest(&bytes);
                return Ok((Gathered::Memory(bytes, share), told));
            }
            Gathered::Spilled(spilled) => spilled,
        };
        // Nobody closes it.
        let _turn = self.digests.acquire().await;
        let (file, length) = (Arc::clone(&spilled.file), usize::try_from(spilled.length).unwrap_or(usize::MAX));
        let told = on_disk(move || {
            let mut bytes = Vec::with_capacity(length);
            (&*file).seek(SeekFrom::Start(0))?;
            (&*file).read_to_end(&mut bytes)?;
            if bytes.len() != length {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            (&*file).seek(SeekFrom::Start(0))?;
            Ok(digest(&bytes))
        });
        Ok((Gathered::Spilled(spilled), told.await?))
    }
}

async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, Refusal> {
    match spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            tracing::error!(%error, "the body of a request can't be kept in a file");
            Err(no_room())
        }
        Err(_) => Err(no_room()),
    }
}

fn no_room() -> Refusal {
    let detail = "There is no room for the request's body now. Nothing was done. Send the same request with the same key again.";
    Refusal::new(ErrorCode::Overloaded, detail).after(1_000)
}

#[cfg(test)]
mod tests {
    use http_body::Frame;
    use http_body_util::Full;
    use http_body_util::channel::Channel;
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn gatherer(one: u64, memory: u64, disk: u64) -> Gatherer {
        Gatherer::new(&Bodies { one_in_memory_bytes_max: one, memory_bytes_max: memory, disk_bytes_max: disk, folder: None })
    }

    fn body(length: usize) -> Full<Bytes> {
        Full::new((0..length).map(|at| u8::try_from(at % 251).expect("it is small")).collect::<Vec<_>>().into())
    }

    async fn gather(gatherer: &Gatherer, length: usize) -> Result<Gathered, Refusal> {
        gatherer.gather(&Policy::ietf(), body(length)).await
    }

    #[tokio::test]
    async fn a_body_lies_in_memory_while_there_is_room_and_then_in_a_file() {
        let gatherer = gatherer(1_000, 2_500, 10_000);
        let mut held = Vec::new();
        for (length, is_in_memory) in [(0, true), (1_000, true), (1_001, false), (1_000, true), (1_000, false), (500, true)] {
            let gathered = gather(&gatherer, length).await.expect("there is room");
            assert_eq!(matches!(gathered, Gathered::Memory(..)), is_in_memory, "{length}");
            held.push(gathered);
        }
        assert_eq!(gatherer.used(), (2_500, 2_001));
        assert_eq!(gather(&gatherer, 9_000).await.err().expect("no room").code, ErrorCode::Overloaded);
        drop(held);
        assert_eq!(gatherer.used(), (0, 0));
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_counted_with_all_that_its_buffer_takes() {
        let gatherer = gatherer(1_000, 1_500, 10_000);
        let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(8);
        for length in [300, 10, 300] {
            sender.try_send(Frame::data(Bytes::from(vec![7; length]))).expect("there is room");
        }
        drop(sender);
        let gathered = gatherer.gather(&Policy::ietf(), body).await.expect("there is room");
        assert_eq!(gatherer.used(), (1_000, 0), "300, then 600, then as much as one body may take");
        // Its double would not fit beside it, what it needs does.
        let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(8);
        for length in [300, 150, 100] {
            sender.try_send(Frame::data(Bytes::from(vec![7; length]))).expect("there is room");
        }
        drop(sender);
        let other = gatherer.gather(&Policy::ietf(), body).await.expect("there is room");
        assert_eq!(gatherer.used(), (1_000, 550), "300, then 450, then a file");
        drop((gathered, other));
        assert_eq!(gatherer.used(), (0, 0));
    }

    #[tokio::test]
    async fn a_body_has_the_same_digest_wherever_it_lies() {
        let gatherer = gatherer(1_000, 10_000, 1 << 20);
        for length in [0, 1, 1_000, 1_001, 300_000] {
            let gathered = gather(&gatherer, length).await.expect("there is room");
            let digested = Gather::<Full<Bytes>>::digest(&gatherer, gathered, |bytes| Sha256::digest(bytes).into()).await;
            let expected: [u8; 32] = Sha256::digest(body(length).collect().await.expect("it is whole").to_bytes()).into();
            assert_eq!(digested.expect("it can be read").1, expected);
        }
    }

    #[tokio::test]
    async fn what_is_too_large_or_breaks_off_leaves_nothing() {
        let gatherer = gatherer(1_000, 10_000, 1 << 30);
        let policy = Policy { request_bytes_max: 5_000, ..Policy::ietf() };
        assert_eq!(gatherer.gather(&policy, body(5_001)).await.err().expect("too large").code, ErrorCode::BodyTooLarge);
        let pieces = |second: Option<Bytes>| {
            let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(2);
            sender.try_send(Frame::data(Bytes::from(vec![0; 3_000]))).expect("there is room");
            match second {
                Some(piece) => sender.try_send(Frame::data(piece)).expect("there is room"),
                None => sender.abort(std::io::ErrorKind::ConnectionReset.into()),
            }
            body
        };
        let too_long = gatherer.gather(&policy, pieces(Some(Bytes::from(vec![0; 3_000])))).await;
        assert_eq!(too_long.err().expect("too large").code, ErrorCode::BodyTooLarge);
        let broken = gatherer.gather(&policy, pieces(None)).await;
        assert_eq!(broken.err().expect("it broke off").code, ErrorCode::BodyMalformed);
        assert_eq!(gatherer.used(), (0, 0));
    }
}

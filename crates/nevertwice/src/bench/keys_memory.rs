//! What keys cost in memory: a million of them, ten thousand requests whose bodies come slowly, and clients that do not read.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nevertwice_api::{AnswerBytes, KeyStore as _, Levels};
use nevertwice_core::keys::{CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration};
use nevertwice_idempotency::{MemoryBounds, MemoryStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::command::Scale;
use super::figure::Figure;
use super::keys::{CHARGES, LARGE_BYTES};
use super::resident::{resident_bytes, resident_bytes_of};
use crate::child::Server;

/// A small answer: its header lines, and its body.
const ANSWER_BYTES: usize = 200;

/// Half of this comes, and the rest does not.
const BODY_BYTES: usize = 64 << 10;

/// How long a process has to be as large as it was to count as settled.
const SETTLED: Duration = Duration::from_millis(1_000);

pub(super) fn measure(scale: Scale) -> Result<Vec<Figure>, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let key_bytes = a_million_keys(scale.of(1_000_000)).await?;
        let bodies = scale.of(10_000);
        let (whole, each) = slow_bodies(bodies).await?;
        let readers = slow_readers(scale.of(100)).await?;
        Ok(vec![
            Figure::new(
                "keys-memory/key-bytes",
                key_bytes,
                "bytes",
                "the memory store, for each of a million answered keys, its answer of 200 bytes included",
            ),
            Figure::new(
                "keys-memory/slow-bodies",
                whole,
                "MiB",
                "the whole proxy, with 10,000 requests of which half of 64 KiB has come; 313 MiB were sent",
            ),
            Figure::new("keys-memory/slow-body-bytes", each, "bytes", "of that for each request"),
            Figure::new(
                "keys-memory/slow-readers",
                readers,
                "MiB",
                "the whole proxy, with 100 clients that read nothing of answers of 256 MiB",
            ),
        ])
    })
}

async fn a_million_keys(keys: u64) -> Result<f64, Box<dyn Error>> {
    let before = resident_bytes();
    let bounds = MemoryBounds { records_max: 2 * keys, answers_bytes_max: 1 << 40, ..MemoryBounds::default() };
    let store = Arc::new(MemoryStore::new(bounds));
    for number in 0..keys {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        let (owner, lapse) = (OwnerId(id), LapsePolicy::Refuse);
        let command = RegisterKey { fingerprint: id, owner, lease_ms: 60_000, retention_ms: 86_400_000, expires_at: None, lapse };
        let told = store.register(KeyId(id), command, Levels::NONE).await?;
        let Ok(Registration::Fresh(lease)) = told.reply.map(|registered| registered.registration) else {
            return Err("a key was not to be had".into());
        };
        let bytes = AnswerBytes { head: Bytes::from_static(&[0, 0]), body: vec![7; ANSWER_BYTES - 2].into() };
        let command = CompleteKey { owner, generation: lease.generation, answer: bytes.describe(201) };
        store.complete(KeyId(id), command, bytes, Levels::NONE).await?.reply.map_err(|refused| refused.code())?;
    }
    let grown = resident_bytes().saturating_sub(before);
    if store.status().records != keys {
        return Err("keys are missing".into());
    }
    Ok(grown as f64 / keys as f64)
}

/// The proxy in front of a service of that kind.
fn proxy(kind: &str) -> Result<(Server, Server), Box<dyn Error>> {
    let service = Server::start(["bench-keys", kind, "--listen", "127.0.0.1:0"])?;
    let proxy = Server::start(["proxy", "--log", "error", "--upstream", &service.url, "--listen", "127.0.0.1:0"])?;
    Ok((service, proxy))
}

async fn slow_bodies(bodies: u64) -> Result<(f64, f64), Box<dyn Error>> {
    let (_service, proxy) = proxy("handler")?;
    let before = resident_bytes_of(&proxy.pid());
    let half = vec![b' '; BODY_BYTES / 2];
    let mut open = Vec::new();
    for number in 0..bodies {
        let mut stream = ask(&proxy, number, BODY_BYTES).await?;
        stream.write_all(&half).await?;
        open.push(stream);
    }
    let whole = settled(&proxy).await;
    drop(open);
    Ok((mib(whole), whole.saturating_sub(before) as f64 / bodies as f64))
}

async fn slow_readers(readers: u64) -> Result<f64, Box<dyn Error>> {
    let (_service, proxy) = proxy("large")?;
    let mut open = Vec::new();
    for number in 0..readers {
        let mut stream = ask(&proxy, number, 2).await?;
        stream.write_all(b"{}").await?;
        // The answer has begun, and that is all that is read of it.
        let mut first = [0; 12];
        stream.read_exact(&mut first).await?;
        if first != *b"HTTP/1.1 200" {
            return Err(format!("the answer begins with {}; it has {LARGE_BYTES} bytes otherwise", first.escape_ascii()).into());
        }
        open.push(stream);
    }
    let whole = settled(&proxy).await;
    drop(open);
    Ok(mib(whole))
}

/// The head of a request with a body of that length.
async fn ask(proxy: &Server, number: u64, bytes: usize) -> Result<TcpStream, Box<dyn Error>> {
    let address = proxy.url.strip_prefix("http://").ok_or("the proxy speaks TLS")?;
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST {CHARGES} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer bench\r\nidempotency-key: slow-{number}\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// What a process has in memory once that does not grow any more.
async fn settled(process: &Server) -> u64 {
    let mut most = 0;
    loop {
        tokio::time::sleep(SETTLED).await;
        let now = resident_bytes_of(&process.pid());
        if now <= most {
            return most;
        }
        most = now;
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

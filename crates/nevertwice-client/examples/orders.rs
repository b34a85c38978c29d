//! Places orders of one share each, every one of them exactly once, and says how it went.
//!
//! ```text
//! cargo run -p nevertwice-client --example orders http://127.0.0.1:8080 40 ./intents
//! ```
//!
//! It can be ended at any moment and started again with the same arguments: what was ordered before is not ordered again.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nevertwice_client::http::{Request, Target};
use nevertwice_client::{Client, FolderStore, HttpTransport, IntentOptions, Outcome, Retries};
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    account: &'static str,
    instrument: &'static str,
    side: &'static str,
    quantity: u64,
}

#[derive(Default, Serialize)]
struct Told {
    done: u64,
    replayed: u64,
    failed: u64,
    unknown: u64,
    attempts: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base_url, orders, folder] = arguments.as_slice() else {
        return Err("orders BASE_URL ORDERS FOLDER".into());
    };
    let (target, orders, store) = (Target::parse(base_url)?, orders.parse()?, Arc::new(FolderStore::new(folder)?));
    let next = Arc::new(AtomicU64::new(0));
    let mut workers = Vec::new();
    for _ in 0..4 {
        let retries = Retries { timeout_ms: 500, deadline_ms: 60_000, attempts_max: 100, backoff_min_ms: 10, backoff_max_ms: 100 };
        let client = Client::new(HttpTransport::new(target.clone())).with_store(store.clone());
        let client = client.with_retries(retries)?.with_header("principal", "desk")?;
        workers.push(tokio::spawn(work(client, next.clone(), orders)));
    }
    let mut told = Told::default();
    for worker in workers {
        let part = worker.await??;
        told.done += part.done;
        told.replayed += part.replayed;
        told.failed += part.failed;
        told.unknown += part.unknown;
        told.attempts += part.attempts;
    }
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

async fn work(mut client: Client<HttpTransport>, next: Arc<AtomicU64>, orders: u64) -> Result<Told, Box<dyn Error + Send + Sync>> {
    let mut told = Told::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= orders {
            return Ok(told);
        }
        let order = Order { account: "ann", instrument: "ARG-10", side: "buy", quantity: 1 };
        let request = Request::post("/v1/markets/cup/orders", &order)?;
        // The name says what is meant, so that whoever comes again with it means the same.
        let mut intent = client.intent(request, IntentOptions::named(format!("order-{number}")))?;
        let attempts = match client.send(&mut intent).await? {
            Outcome::Done(done) => {
                told.done += 1;
                told.replayed += u64::from(done.replayed);
                done.attempts
            }
            Outcome::Failed(failed) => {
                told.failed += 1;
                failed.attempts
            }
            Outcome::Unknown(unknown) => {
                told.unknown += 1;
                unknown.attempts
            }
        };
        told.attempts += u64::from(attempts);
    }
}

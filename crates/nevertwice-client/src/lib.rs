//! Requests that are made exactly once, however often they are sent.
//!
//! One key for each intent, made once and kept across retries; bounded, jittered retries of what may be retried and of nothing else; and an
//! outcome that never guesses: [`Outcome::Done`], [`Outcome::Failed`] or [`Outcome::Unknown`]. It works with every server that keeps the
//! `Idempotency-Key` contract. `docs/clients.md` says what each answer means; clients in other languages keep to the same table.
//!
//! ```no_run
//! use nevertwice_client::http::{Request, Target};
//! use nevertwice_client::{Client, HttpTransport, IntentOptions, Outcome};
//!
//! # async fn place() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = Client::new(HttpTransport::new(Target::parse("http://127.0.0.1:8080")?));
//! let order = serde_json::json!({"account": "ann", "instrument": "ARG-10", "side": "buy", "quantity": 3});
//! let request = Request::post("/v1/markets/cup/orders", &order)?;
//! let mut intent = client.intent(request, IntentOptions::named("cart-81"))?;
//! match client.send(&mut intent).await? {
//!     Outcome::Done(done) => println!("ordered: {:?}", done.reply.body),
//!     Outcome::Failed(failed) => println!("not ordered: {}", failed.code),
//!     Outcome::Unknown(_) => println!("not known yet: send the same intent again"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - [`Client`] makes intents ([`Intent`]) and sends them. It differs from [`http::Client`], which sends one attempt and retries nothing.
//! - [`IntentStore`] keeps them: [`MemoryStore`], or [`FolderStore`] for what has to outlive the process.
//! - [`Transport`] carries an attempt. The one that is here, [`HttpTransport`], speaks HTTP without TLS; implement it for the client that
//!   you use already.
//! - [`Clock`] is time, so that no test waits.
//!
//! It never imports a server or a backend: it knows the wire alone.

mod answer;
mod client;
mod clock;
mod error;
mod fresh_key;
pub mod http;
mod intent;
mod keeping;
mod outcome;
mod request;
mod retries;
mod sending;
mod store;
mod transport;

pub use client::Client;
pub use clock::{Chance, Clock, SystemClock, system_chance};
pub use error::ClientError;
pub use fresh_key::fresh_key;
pub use intent::{Intent, IntentOptions};
pub use outcome::{Done, Failed, Outcome, Unknown, UnknownReason};
pub use retries::{Retries, retry_after_ms};
pub use store::{FolderStore, IntentState, IntentStore, MemoryStore, Record, StoreError};
pub use transport::{HttpTransport, Transport};

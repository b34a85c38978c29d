//! A shop whose orders are placed once, whatever dies between the claim and the reply: the order, the answer to its key and the message
//! that it was placed are one transaction.
//!
//! ```text
//! cargo run -p nevertwice-ledger --example ordering -- orders.db
//! order() { curl -si http://127.0.0.1:8080/orders -H 'X-User: ann' -H "Idempotency-Key: $1" -H 'Content-Type: application/json' -d '{"item":"seat-17"}'; }
//! order a; order a   # the second one is the first one's answer, also after the process was killed
//! ```

use std::error::Error;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Method, Response, StatusCode};
use axum::response::{IntoResponse as _, Response as Answered};
use axum::routing::post;
use axum::{Extension, Json, Router};
use nevertwice_idempotency::{Caller, HeldKeys, Keys, KeysError, KeysLayer, LapsePolicy, Policy, Routes, Secrets};
use nevertwice_ledger::keys::{SqlKeyOptions, SqlKeyStore};
use nevertwice_ledger::outbox::Message;
use nevertwice_ledger::{Database, DatabaseOptions};
use serde_json::{Value, json};
use sqlx::SqlitePool;

/// The shop's database, with its own table and those of the keys in one file.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    pool: SqlitePool,
    keys: SqlKeyStore,
}

impl Shop {
    /// Opens it; the file is made if it is not there.
    ///
    /// # Errors
    /// If the database can't be used.
    pub(crate) async fn open(address: &str, options: SqlKeyOptions) -> Result<Self, Box<dyn Error>> {
        let database = Database::open(&address.parse()?, &DatabaseOptions::default()).await?;
        database.migrate().await?;
        let keys = SqlKeyStore::open(&database, options).await?;
        let Database::Sqlite { write: pool, .. } = database else { return Err("the shop keeps its orders in SQLite".into()) };
        sqlx::query("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE)").execute(&pool).await?;
        Ok(Self { pool, keys })
    }

    /// How many orders there are, and how many messages that one was placed.
    pub(crate) async fn figures(&self) -> Result<(i64, i64), sqlx::Error> {
        let figures = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM nevertwice_outbox)";
        sqlx::query_as(figures).fetch_one(&self.pool).await
    }

    /// Places an order, its answer and its message, or nothing of them.
    async fn place(&self, held: &HeldKeys, item: &str) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
        // SQLite refuses a transaction that reads first and writes then, if somebody else wrote in between; this one begins as a writer.
        let mut work = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let place = sqlx::query_scalar("INSERT INTO orders (item) VALUES ($1) ON CONFLICT DO NOTHING RETURNING number");
        let Some(number) = place.bind(item).fetch_optional(&mut *work).await?.map(|number: i64| number) else {
            // Rolled back, and the layer frees the key: a 409 says that nothing has happened.
            return Ok(answer(StatusCode::CONFLICT, &json!({ "error": "somebody else has it" }), None)?);
        };
        let placed = json!({ "order": number, "item": item });
        let message = Message::new("orders", "order.placed", placed.to_string()).ok_or("the message is too long")?;
        let at_ms = self.keys.now_ms(&mut work).await?;
        message.put_in(&mut work, at_ms).await?;
        let answer = answer(StatusCode::CREATED, &placed, Some(format!("/orders/{number}")))?;
        // Last: from here on nobody else can take the key over until the transaction ends.
        self.keys.complete_in(work, &held.0, &answer).await?.commit().await?;
        Ok(answer)
    }
}

fn answer(status: StatusCode, body: &Value, location: Option<String>) -> Result<Response<Bytes>, axum::http::Error> {
    let mut answer = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
    if let Some(location) = location {
        answer = answer.header(LOCATION, location);
    }
    answer.body(body.to_string().into())
}

async fn order(State(shop): State<Shop>, Extension(held): Extension<HeldKeys>, Json(body): Json<Value>) -> Answered {
    let Some(item) = body["item"].as_str() else { return StatusCode::UNPROCESSABLE_ENTITY.into_response() };
    match shop.place(&held, item).await {
        Ok(answer) => answer.map(Body::from),
        // The commit's reply may be what was lost. A 500 says that nobody knows, and the next attempt finds out.
        Err(error) => {
            eprintln!("an order failed: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The service.
///
/// # Errors
/// As [`Keys::new`].
pub(crate) fn app(shop: Shop, secret: [u8; 32]) -> Result<Router, KeysError> {
    // An attempt that died may be run again: whatever it did is rolled back, and if it still lives it can't commit.
    let policy = Policy { lapse: LapsePolicy::Rerun, ..Policy::ietf() };
    let routes = Routes::new().guard(&[Method::POST], "/orders", policy);
    let keys = Keys::new(Arc::new(shop.keys.clone()), Some(Secrets::new(secret)), routes)?;
    // Stands for your authentication.
    let keys = keys.with_identity(|parts: &axum::http::request::Parts| {
        let principal = parts.headers.get("x-user")?.to_str().ok()?.to_owned();
        Some(Caller { tenant: String::new(), principal })
    });
    Ok(Router::new().route("/orders", post(order)).with_state(shop).layer(KeysLayer::new(keys)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "orders.db".to_owned());
    let shop = Shop::open(&format!("sqlite:{file}"), SqlKeyOptions::default()).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    let (orders, messages) = shop.figures().await?;
    println!("listening on http://{}; so far {orders} orders, {messages} messages to be told", listener.local_addr()?);
    // The secret under which keys are named is as old as the database: keep it beside your other secrets.
    axum::serve(listener, app(shop, [7; 32])?).await?;
    Ok(())
}

//! A database with an outbox, and a courier that writes down what it carries.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use nevertwice_api::BoxFuture;
use nevertwice_ledger::outbox::Message;
use nevertwice_ledger::publisher::{Courier, Delivery, Publisher, PublisherOptions, Stepped, Undelivered};
use nevertwice_ledger::{Database, SqlDatabase};
use sqlx::Transaction;

pub(crate) const T0: i64 = 1_790_000_000_000;

/// What was carried, and what is refused.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) carried: Mutex<Vec<(String, Delivery)>>,
    /// Endpoints that take nothing, and how they say so.
    pub(crate) refusals: Mutex<Vec<(String, Undelivered)>>,
}

impl Book {
    pub(crate) fn refuse(&self, endpoint: &str, what: &str, is_final: bool) {
        let refusal = Undelivered { what: what.to_owned(), is_final, after_ms: None };
        self.refusals.lock().expect("nobody panics with it").push((endpoint.to_owned(), refusal));
    }

    pub(crate) fn forgive(&self) {
        self.refusals.lock().expect("nobody panics with it").clear();
    }

    /// The kinds that an endpoint took, in order.
    pub(crate) fn kinds(&self, endpoint: &str) -> Vec<String> {
        let carried = self.carried.lock().expect("nobody panics with it");
        carried.iter().filter(|(to, _)| to == endpoint).map(|(_, delivery)| delivery.kind.clone()).collect()
    }

    pub(crate) fn ids(&self) -> BTreeSet<String> {
        self.carried.lock().expect("nobody panics with it").iter().map(|(_, delivery)| delivery.id.clone()).collect()
    }
}

/// A courier of the book.
struct Clerk(Arc<Book>);

impl Courier for Clerk {
    fn carry(&self, endpoint: &str, delivery: Delivery) -> BoxFuture<'static, Result<(), Undelivered>> {
        let refusals = self.0.refusals.lock().expect("nobody panics with it");
        let refusal = refusals.iter().find(|(name, _)| name == endpoint).map(|(_, refusal)| refusal.clone());
        drop(refusals);
        let told = match refusal {
            Some(refusal) => Err(refusal),
            None => {
                self.0.carried.lock().expect("nobody panics with it").push((endpoint.to_owned(), delivery));
                Ok(())
            }
        };
        Box::pin(std::future::ready(told))
    }
}

/// One publisher over a database.
pub(crate) struct House {
    pub(crate) publisher: Publisher,
    pub(crate) book: Arc<Book>,
    pub(crate) now_ms: Arc<AtomicI64>,
}

pub(crate) fn options(holder: &str, endpoints: &[&str]) -> PublisherOptions {
    let endpoints = endpoints.iter().map(|name| (*name).to_owned()).collect();
    PublisherOptions { holder: holder.to_owned(), endpoints, tries_max: 3, step_messages_max: 4, ..PublisherOptions::default() }
}

impl House {
    pub(crate) fn new(database: &Database, options: PublisherOptions) -> Self {
        let (book, now_ms) = (Arc::new(Book::default()), Arc::new(AtomicI64::new(T0)));
        let shown = Arc::clone(&now_ms);
        let clock = Arc::new(move || shown.load(Ordering::SeqCst));
        let publisher = Publisher::new(database.clone(), Arc::new(Clerk(Arc::clone(&book))), clock, options);
        Self { publisher, book, now_ms }
    }

    pub(crate) async fn step(&self) -> Stepped {
        self.publisher.step().await.expect("the database answers")
    }

    /// Steps until there is nothing more to do now.
    pub(crate) async fn settle(&self) -> Stepped {
        for _ in 0..1_000 {
            let stepped = self.step().await;
            if !stepped.has_more && stepped.delivered == 0 {
                return stepped;
            }
        }
        panic!("there is always more to do");
    }

    pub(crate) fn later(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

/// Leaves a message in a transaction.
pub(crate) async fn leave<D: SqlDatabase>(work: &mut Transaction<'_, D>, topic: &str, kind: &str) {
    Message::new(topic, kind, "{}").expect("it is a message").put_in(work, T0).await.expect("it is left");
}

/// Leaves messages, each in a transaction of its own.
pub(crate) async fn left(database: &Database, topic: &str, kinds: &[&str]) {
    for kind in kinds {
        match database {
            Database::Sqlite { write, .. } => {
                let mut work = write.begin().await.expect("it begins");
                leave(&mut work, topic, kind).await;
                work.commit().await.expect("it is committed");
            }
            Database::Postgres { pool } => {
                let mut work = pool.begin().await.expect("it begins");
                leave(&mut work, topic, kind).await;
                work.commit().await.expect("it is committed");
            }
        }
    }
}

pub(crate) async fn outbox_rows(database: &Database) -> i64 {
    const ROWS: &str = "SELECT count(*) FROM nevertwice_outbox";
    match database {
        Database::Sqlite { write, .. } => sqlx::query_scalar(ROWS).fetch_one(write).await,
        Database::Postgres { pool } => sqlx::query_scalar(ROWS).fetch_one(pool).await,
    }
    .expect("it answers")
}

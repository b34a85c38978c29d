//! The payment gateway: outside of the process, so it lives on when that ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nevertwice_api::BoxFuture;
use nevertwice_core::model::Random;
use nevertwice_core::{Name, PaymentId, PaymentUrl};
use nevertwice_server::{Closed, GatewayError, PaymentGateway, PaymentStatus, Session};
use tokio::time::Duration;

use crate::plan;

/// How far a payment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    Open,
    Declined,
    Paid,
    Closed,
}

struct Books {
    payments: BTreeMap<PaymentId, (Name, Payment)>,
    random: Random,
    plan: plan::Gateway,
}

/// The gateway. Its clones are the same one.
#[derive(Clone)]
pub(crate) struct Gateway(Arc<Mutex<Books>>);

impl Gateway {
    pub(crate) fn new(seed: u64, plan: plan::Gateway) -> Self {
        Self(Arc::new(Mutex::new(Books { payments: BTreeMap::new(), random: Random::new(seed), plan })))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on every call is answered at once.
    pub(crate) fn calm(&self) {
        self.books().plan = plan::Gateway { fails: 0, delay_ms: 0 };
    }

    /// Somebody pays on the payment's page. `false`: it is closed, or there is no such page.
    pub(crate) fn pay(&self, payment: &PaymentId) -> bool {
        self.change(payment, Payment::Paid, |now| matches!(now, Payment::Open | Payment::Declined))
    }

    /// Somebody gives up on the payment's page.
    pub(crate) fn decline(&self, payment: &PaymentId) -> bool {
        self.change(payment, Payment::Declined, |now| now == Payment::Open)
    }

    fn change(&self, payment: &PaymentId, to: Payment, may: impl FnOnce(Payment) -> bool) -> bool {
        match self.books().payments.get_mut(payment) {
            Some((_, now)) if *now == to => true,
            Some((_, now)) if may(*now) => {
                *now = to;
                true
            }
            _ => false,
        }
    }

    /// All payments that it knows, and how far each is.
    pub(crate) fn payments(&self) -> Vec<(PaymentId, Name, Payment)> {
        self.books().payments.iter().map(|(id, (sale, payment))| (id.clone(), sale.clone(), *payment)).collect()
    }
}

/// The gateway as one life of the process reaches it.
pub(crate) struct Line {
    pub(crate) gateway: Gateway,
    pub(crate) is_alive: Arc<AtomicBool>,
}

impl Line {
    /// One call: it takes its time, may fail before or after it did its work, and does nothing for a dead process.
    fn call<T: Send + 'static>(
        &self,
        session: Session,
        work: impl FnOnce(&mut Books, Session) -> T + Send + 'static,
    ) -> BoxFuture<'static, Result<T, GatewayError>> {
        let (gateway, is_alive) = (self.gateway.clone(), Arc::clone(&self.is_alive));
        let (delay_ms, reply_ms, fails, is_done) = {
            let mut books = self.gateway.books();
            let (fails, delay_ms) = (books.plan.fails, books.plan.delay_ms);
            let half = delay_ms / 2;
            (books.random.between(0, half), books.random.between(0, half), books.random.chance(fails), books.random.chance(500))
        };
        let wait = |ms: i64| tokio::time::sleep(Duration::from_millis(ms.unsigned_abs()));
        Box::pin(async move {
            let failed = || Err(GatewayError("the gateway fails in this seed".to_owned()));
            if delay_ms > 0 {
                wait(delay_ms).await;
            }
            if !is_alive.load(Ordering::Relaxed) || (fails && !is_done) {
                return failed();
            }
            let answer = work(&mut gateway.books(), session);
            if reply_ms > 0 {
                wait(reply_ms).await;
            }
            if fails { failed() } else { Ok(answer) }
        })
    }
}

impl PaymentGateway for Line {
    fn create(&self, session: Session) -> BoxFuture<'static, Result<PaymentUrl, GatewayError>> {
        let answer = self.call(session, |books, Session { sale, payment }| {
            let url = PaymentUrl::new(&format!("https://gateway.example/{payment}"));
            books.payments.entry(payment).or_insert((sale, Payment::Open));
            url
        });
        Box::pin(async move { answer.await?.map_err(|error| GatewayError(error.to_string())) })
    }

    fn status(&self, session: Session) -> BoxFuture<'static, Result<PaymentStatus, GatewayError>> {
        self.call(session, |books, Session { payment, .. }| match books.payments.get(&payment) {
            None | Some((_, Payment::Open)) => PaymentStatus::Open,
            Some((_, Payment::Paid)) => PaymentStatus::Paid,
            Some((_, Payment::Declined | Payment::Closed)) => PaymentStatus::Declined,
        })
    }

    fn close(&self, session: Session) -> BoxFuture<'static, Result<Closed, GatewayError>> {
        self.call(session, |books, Session { sale, payment }| {
            let (_, now) = books.payments.entry(payment).or_insert((sale, Payment::Open));
            if *now == Payment::Paid {
                return Closed::Paid;
            }
            *now = Payment::Closed;
            Closed::Unpaid
        })
    }
}

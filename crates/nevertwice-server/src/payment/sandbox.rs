//! A payment gateway of our own, for trying things out: its pages are on this server, and no money moves.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use nevertwice_api::BoxFuture;
use nevertwice_core::{Name, PaymentId, PaymentUrl};

use super::{Closed, GatewayError, PaymentGateway, PaymentStatus, Session};

/// How many payments the sandbox remembers; beyond it the oldest are forgotten, and are open again.
const MARKS_MAX: usize = 200_000;

/// What the sandbox knows of a payment that is not just open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Paid,
    Declined,
    Closed,
    /// Paid too late: the money has to be given back.
    Refund,
}

#[derive(Default)]
struct Marks {
    of: HashMap<PaymentId, Mark>,
    order: VecDeque<PaymentId>,
}

/// The sandbox. What it knows is lost with the process; what matters of it (that a booking is paid) is in the booking.
pub(crate) struct Sandbox {
    base_url: String,
    marks: Mutex<Marks>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// A sandbox whose pages are reached under that address, `http://host:port`.
    pub(crate) fn new(base_url: &str) -> Self {
        Self { base_url: base_url.trim_end_matches('/').to_owned(), marks: Mutex::default() }
    }

    /// The payment's page.
    pub(crate) fn url(&self, sale: &Name, payment: &PaymentId) -> Option<PaymentUrl> {
        PaymentUrl::new(&format!("{}/sandbox/payments/{sale}/{payment}", self.base_url)).ok()
    }

    pub(crate) fn mark(&self, payment: &PaymentId) -> Option<Mark> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).of.get(payment).copied()
    }

    /// Takes the payment, unless it is closed. `false`: it is.
    pub(crate) fn pay(&self, payment: &PaymentId) -> bool {
        self.change(payment, |mark| match mark {
            Some(Mark::Closed) => None,
            Some(Mark::Refund) => Some(Mark::Refund),
            _ => Some(Mark::Paid),
        })
    }

    /// Refuses the payment, unless it is made or closed. `false`: it is.
    pub(crate) fn decline(&self, payment: &PaymentId) -> bool {
        self.change(payment, |mark| match mark {
            None | Some(Mark::Declined) => Some(Mark::Declined),
            _ => None,
        })
    }

    /// Notes that the payment came too late. `true` only the first time: there is one refund for one payment.
    pub(crate) fn refund(&self, payment: &PaymentId) -> bool {
        self.change(payment, |mark| match mark {
            Some(Mark::Refund) => None,
            _ => Some(Mark::Refund),
        })
    }

    fn change(&self, payment: &PaymentId, change: impl FnOnce(Option<Mark>) -> Option<Mark>) -> bool {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mark) = change(marks.of.get(payment).copied()) else { return false };
        if marks.of.insert(payment.clone(), mark).is_none() {
            marks.order.push_back(payment.clone());
        }
        if marks.order.len() > MARKS_MAX
            && let Some(oldest) = marks.order.pop_front()
        {
            marks.of.remove(&oldest);
        }
        true
    }
}

impl PaymentGateway for Sandbox {
    fn create(&self, Session { sale, payment }: Session) -> BoxFuture<'static, Result<PaymentUrl, GatewayError>> {
        let url = self.url(&sale, &payment).ok_or_else(|| GatewayError("the address of its page is no URL".to_owned()));
        Box::pin(async move { url })
    }

    fn status(&self, Session { payment, .. }: Session) -> BoxFuture<'static, Result<PaymentStatus, GatewayError>> {
        let status = match self.mark(&payment) {
            None => PaymentStatus::Open,
            Some(Mark::Paid | Mark::Refund) => PaymentStatus::Paid,
            Some(Mark::Declined | Mark::Closed) => PaymentStatus::Declined,
        };
        Box::pin(async move { Ok(status) })
    }

    fn close(&self, Session { payment, .. }: Session) -> BoxFuture<'static, Result<Closed, GatewayError>> {
        let was_open = self.change(&payment, |mark| match mark {
            Some(Mark::Paid | Mark::Refund) => None,
            _ => Some(Mark::Closed),
        });
        Box::pin(async move { Ok(if was_open { Closed::Unpaid } else { Closed::Paid }) })
    }
}

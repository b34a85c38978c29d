//! Requests, by endpoint and by what became of them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use nevertwice_api::ErrorCode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::histogram::TimeHistogram;
use super::stripes::Stripes;
use crate::reply::Outcome;
use crate::routes::ROUTES;

/// A route's place in the table; one beyond for what no route took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteNumber(pub(crate) usize);

impl RouteNumber {
    /// What no route took.
    pub(crate) const UNMATCHED: Self = Self(ROUTES.len());

    /// The lines of a batch, each by itself.
    pub(crate) const BATCH_LINE: Self = Self(ROUTES.len() + 1);

    fn word(self) -> &'static str {
        match ROUTES.get(self.0) {
            Some(route) => route.word,
            None if self == Self::BATCH_LINE => "place_orders_line",
            None => "unmatched",
        }
    }
}

#[derive(Default)]
pub(crate) struct Requests(Stripes<Endpoints>);

struct Endpoints(Vec<Endpoint>);

struct Endpoint {
    fine: [AtomicU64; Outcome::ALL.len()],
    // One for each code of the catalogue.
    refused: Box<[AtomicU64]>,
    took: TimeHistogram,
}

impl Default for Endpoints {
    fn default() -> Self {
        let endpoint = || Endpoint {
            fine: std::array::from_fn(|_| AtomicU64::new(0)),
            refused: ErrorCode::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            took: TimeHistogram::default(),
        };
        Self((0..=RouteNumber::BATCH_LINE.0).map(|_| endpoint()).collect())
    }
}

impl Requests {
    pub(crate) fn observe(&self, number: RouteNumber, outcome: Result<Outcome, ErrorCode>, took: Duration) {
        let Some(endpoint) = self.0.mine().0.get(number.0) else { return };
        endpoint.count(outcome);
        endpoint.took.observe_time(took);
    }

    pub(crate) fn count(&self, RouteNumber(number): RouteNumber, outcome: Result<Outcome, ErrorCode>) {
        if let Some(endpoint) = self.0.mine().0.get(number) {
            endpoint.count(outcome);
        }
    }

    /// One endpoint, as each thread counted it.
    fn endpoint(&self, number: usize) -> impl Iterator<Item = &Endpoint> {
        self.0.all().filter_map(move |endpoints| endpoints.0.get(number))
    }

    /// All endpoints, as each thread counted them.
    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.0.all().flat_map(|endpoints| &endpoints.0)
    }

    /// How many answers had that code, at all endpoints. Each answer counts once, however many of its steps were refused.
    pub(super) fn refused_with(&self, code: ErrorCode) -> u64 {
        self.endpoints().filter_map(|endpoint| endpoint.refused.get(code as usize)).map(|counter| counter.load(Relaxed)).sum()
    }

    /// How many answers were fine in that way, at all endpoints; lines of batches count each by itself.
    pub(super) fn fine(&self, outcome: Outcome) -> u64 {
        self.endpoints().map(|endpoint| endpoint.fine[outcome as usize].load(Relaxed)).sum()
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> std::fmt::Result {
        let mut counts = encoder.encode_descriptor("nevertwice_requests", "Requests by endpoint and outcome", None, MetricType::Counter)?;
        for number in 0..=RouteNumber::BATCH_LINE.0 {
            let fine =
                Outcome::ALL.iter().map(|outcome| (outcome.word(), self.sum(number, |endpoint| endpoint.fine.get(*outcome as usize))));
            let refused =
                ErrorCode::ALL.iter().map(|code| (code.code(), self.sum(number, |endpoint| endpoint.refused.get(*code as usize))));
            for (outcome, count) in fine.chain(refused) {
                if count > 0 {
                    let labels = [("endpoint", RouteNumber(number).word()), ("outcome", outcome)];
                    counts.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
                }
            }
        }
        let mut times = encoder.encode_descriptor(
            "nevertwice_request_seconds",
            "Time from a request's head to its answer",
            None,
            MetricType::Histogram,
        )?;
        for number in 0..=RouteNumber::BATCH_LINE.0 {
            let took = TimeHistogram::default();
            self.endpoint(number).for_each(|endpoint| took.add(&endpoint.took));
            if !took.is_empty() {
                took.encode(times.encode_family(&[("endpoint", RouteNumber(number).word())])?)?;
            }
        }
        Ok(())
    }

    fn sum(&self, number: usize, counter: impl Fn(&Endpoint) -> Option<&AtomicU64>) -> u64 {
        self.endpoint(number).filter_map(counter).map(|counter| counter.load(Relaxed)).sum()
    }
}

impl Endpoint {
    fn count(&self, outcome: Result<Outcome, ErrorCode>) {
        let counter = match outcome {
            Ok(outcome) => self.fine.get(outcome as usize),
            Err(code) => self.refused.get(code as usize),
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Relaxed);
        }
    }
}

//! The trace that a request is part of: W3C Trace Context, as far as the server takes part in it.
//!
//! `traceparent` is read, carried into the entry and into what is logged, and answered with `traceresponse`, which names the
//! server's own step. What cannot be read is ignored: a trace is never a reason to refuse. `tracestate` belongs to other systems;
//! it is neither read nor kept, and there is nobody to whom it would be handed on.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use nevertwice_core::TraceContext;
use tracing::Span;

const PARENT: &str = "traceparent";

/// What names the server's step in an answer.
const RESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The trace of a request, and the server's step in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traced {
    /// As the caller named it.
    pub(crate) caller: TraceContext,
    step: TraceContext,
}

impl Traced {
    /// What everything that is logged on behalf of the request stands in.
    pub(crate) fn span(this: Option<&Self>, endpoint: &'static str) -> Span {
        match this {
            None => Span::none(),
            Some(Self { caller, step }) => tracing::info_span!(
                "request",
                endpoint,
                trace_id = %format_args!("{:032x}", caller.trace_id()),
                parent_id = %format_args!("{:016x}", caller.parent_id()),
                span_id = %format_args!("{:016x}", step.parent_id()),
            ),
        }
    }

    /// The id of the server's step.
    pub(crate) const fn step_id(&self) -> u64 {
        self.step.parent_id()
    }

    /// Names the server's step in an answer.
    pub(crate) fn answer(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.step.to_string()) {
            headers.insert(RESPONSE, value);
        }
    }
}

/// Numbers the server's steps: no two of a process are the same, and those of several processes hardly ever.
pub(crate) struct Steps {
    seed: u64,
    taken: AtomicU64,
}

impl Steps {
    pub(crate) fn new() -> Self {
        // The seed of a hash table is as good as any: it only has to be another in every process.
        Self { seed: RandomState::new().hash_one(PARENT), taken: AtomicU64::new(0) }
    }

    /// The trace of a request, if it names one, with a step of the server's own.
    pub(crate) fn trace(&self, headers: &HeaderMap) -> Option<Traced> {
        let mut lines = headers.get_all(PARENT).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return None };
        let caller: TraceContext = line.to_str().ok()?.trim_matches([' ', '\t']).parse().ok()?;
        Some(Traced { caller, step: self.step(&caller)? })
    }

    fn step(&self, caller: &TraceContext) -> Option<TraceContext> {
        caller.child(self.draw_id())
    }

    /// An id that no other step of this process has.
    pub(crate) fn draw_id(&self) -> u64 {
        // One number in 2^64 is no id; the next one is.
        match self.number() {
            0 => self.number(),
            id => id,
        }
    }

    /// The output of splitmix64, which takes every value once.
    fn number(&self) -> u64 {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        let mut mixed = self.seed.wrapping_add(taken.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn traced(lines: &[&str]) -> Option<Traced> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PARENT, line.parse().expect("a header's value"));
        }
        Steps { seed: 1, taken: AtomicU64::new(0) }.trace(&headers)
    }

    #[test]
    fn one_place_in_a_trace_is_taken_and_anything_else_is_ignored() {
        assert_eq!(traced(&[PLACE]).map(|traced| traced.caller.to_string()).as_deref(), Some(PLACE));
        assert!(traced(&[&format!(" {PLACE} ")]).is_some());
        for lines in [&[][..], &[""], &[PLACE, PLACE], &["00-0-0-0"], &[&format!("{PLACE},{PLACE}")]] {
            assert!(traced(lines).is_none(), "{lines:?}");
        }
    }

    #[test]
    fn every_step_has_an_id_of_its_own() {
        let steps = Steps { seed: 7, taken: AtomicU64::new(0) };
        let caller: TraceContext = PLACE.parse().expect("it is a place");
        let mut ids: Vec<u64> = (0..10_000).filter_map(|_| Some(steps.step(&caller)?.parent_id())).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 10_000);
        // The one number that is no id is passed over.
        let inverse_of_zero = Steps { seed: 0, taken: AtomicU64::new(0) };
        assert_ne!(inverse_of_zero.step(&caller).map(|step| step.parent_id()), Some(0));
    }
}

//! Looks for one intent in the journal, and for what came after it about the same booking or holding.

use std::collections::VecDeque;

use nevertwice_api::encoding::{decode_entry, decode_entry_head};
use nevertwice_api::{FOUND_MAX, Finding, Found, HistoryFailure, LATER_MAX, Sought};
use nevertwice_core::{Entry, Event, Name, Position, ShardId};

use crate::journal::Frame;
use crate::states::entries_of;

/// A search under way, frame by frame.
pub(crate) struct Following<'a> {
    sought: &'a Sought,
    traces: Vec<Trace>,
    is_cut: bool,
    read_to: u64,
}

/// One entry of the intent, and what was found of its later life.
struct Trace {
    entry: Entry,
    is_in_journal: bool,
    subject: Option<Subject>,
    later: VecDeque<Entry>,
    left_out: u64,
}

/// What later entries may be about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Booking(Position),
    Holding { account: Name, instrument: Name },
}

impl<'a> Following<'a> {
    pub(crate) fn new(sought: &'a Sought) -> Following<'a> {
        let known = sought.known.iter().take(FOUND_MAX).map(|entry| Trace::new(entry.clone(), false));
        Following { sought, traces: known.collect(), is_cut: sought.known.len() > FOUND_MAX, read_to: 0 }
    }

    /// Looks through a frame.
    pub(crate) fn take(&mut self, frame: &Frame<'_>) -> Result<(), HistoryFailure> {
        let damaged = |what: String| HistoryFailure::Damaged { what: format!("batch {}: {what}", frame.batch) };
        for bytes in entries_of(frame.payload) {
            let bytes = bytes.map_err(|what| damaged(what.to_owned()))?;
            let head = decode_entry_head(bytes).map_err(|error| damaged(error.to_string()))?;
            let is_sought = head.intent.principal == self.sought.principal
                && head.intent.key == self.sought.key
                && self.sought.shard.as_ref().is_none_or(|shard| *shard == head.shard);
            let is_later = |trace: &Trace| trace.may_go_on_in(&head.shard, head.position);
            if is_sought || self.traces.iter().any(is_later) {
                let entry = decode_entry(bytes).map_err(|error| damaged(error.to_string()))?;
                self.traces.iter_mut().for_each(|trace| trace.see(&entry));
                if is_sought {
                    self.find(entry);
                }
            }
        }
        self.read_to = frame.batch;
        Ok(())
    }

    fn find(&mut self, entry: Entry) {
        let is_full = self.traces.len() >= FOUND_MAX;
        match self.traces.iter_mut().find(|trace| trace.entry.shard == entry.shard && trace.entry.position == entry.position) {
            // The journal also has its origin.
            Some(trace) => (trace.entry, trace.is_in_journal) = (entry, true),
            None if is_full => self.is_cut = true,
            None => self.traces.push(Trace::new(entry, true)),
        }
    }

    /// What was found in the journal from `first_batch` to where it was read.
    pub(crate) fn finish(self, first_batch: u64, last_batch: u64) -> Finding {
        let Following { traces, is_cut, read_to, .. } = self;
        let mut found: Vec<Found> = traces.into_iter().map(Trace::finish).collect();
        found.sort_by(|a, b| (a.entry.at_ms, a.place()).cmp(&(b.entry.at_ms, b.place())));
        Finding { found, is_cut, first_batch, read_to, last_batch }
    }
}

impl Trace {
    fn new(entry: Entry, is_in_journal: bool) -> Trace {
        let subject = entry.events.iter().find_map(|event| subject(event, entry.position));
        Trace { entry, is_in_journal, subject, later: VecDeque::new(), left_out: 0 }
    }

    fn may_go_on_in(&self, shard: &ShardId, position: Position) -> bool {
        self.subject.is_some() && self.entry.shard == *shard && self.entry.position < position
    }

    fn see(&mut self, entry: &Entry) {
        if !self.may_go_on_in(&entry.shard, entry.position) {
            return;
        }
        let Some(subject) = &self.subject else { return };
        if entry.events.iter().any(|event| is_about(event, subject)) {
            if self.later.len() >= LATER_MAX {
                self.later.pop_front();
                self.left_out += 1;
            }
            self.later.push_back(entry.clone());
        }
    }

    fn finish(self) -> Found {
        let Trace { entry, is_in_journal, later, left_out, .. } = self;
        Found { later: later.into(), later_left_out: left_out, ..Found::new(entry, is_in_journal) }
    }
}

fn subject(event: &Event, position: Position) -> Option<Subject> {
    match event {
        Event::OrderFilled(filled) => Some(Subject::Holding { account: filled.account.clone(), instrument: filled.instrument.clone() }),
        Event::CandidateAdmitted(_) => Some(Subject::Booking(position)),
        Event::PaymentBegun(event) => Some(Subject::Booking(event.booking)),
        Event::PaymentAttached(event) => Some(Subject::Booking(event.booking)),
        Event::PaymentConfirmed(event) => Some(Subject::Booking(event.booking)),
        Event::BookingReleased(event) => Some(Subject::Booking(event.booking)),
        _ => None,
    }
}

fn is_about(event: &Event, subject: &Subject) -> bool {
    match subject {
        Subject::Booking(booking) => match event {
            Event::PaymentBegun(event) => event.booking == *booking,
            Event::PaymentAttached(event) => event.booking == *booking,
            Event::PaymentConfirmed(event) => event.booking == *booking,
            Event::BookingReleased(event) => event.booking == *booking,
            Event::HoldsExpired(event) => event.holds.iter().any(|hold| hold.booking == *booking),
            _ => false,
        },
        Subject::Holding { account, instrument } => match event {
            Event::OrderFilled(event) => event.account == *account && event.instrument == *instrument,
            Event::InstrumentSettled(event) => event.instrument == *instrument,
            Event::HoldersPaid(event) => event.instrument == *instrument && event.payouts.iter().any(|payout| payout.account == *account),
            _ => false,
        },
    }
}

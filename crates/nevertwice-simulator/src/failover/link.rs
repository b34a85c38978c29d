//! What the standby hears of the primary: some questions do not arrive, some answers neither.

use nevertwice_core::model::Random;
use nevertwice_local::feed::FeedSource;
use nevertwice_local::source::{Listing, Piece, Pull, Pulled, Source, SourceError};

/// A link that loses things. Without an end nobody answers.
pub(super) struct Link<'a> {
    pub(super) end: Option<FeedSource>,
    pub(super) random: &'a mut LinkChances,
}

/// How often, in thousandths, and what it is drawn from.
pub(super) struct LinkChances {
    pub(super) random: Random,
    pub(super) lost: u64,
    pub(super) answer_lost: u64,
}

impl Link<'_> {
    fn ask<T>(&mut self, ask: impl FnOnce(&mut FeedSource) -> Result<T, SourceError>) -> Result<T, SourceError> {
        let lost = || SourceError::Unreachable("it was lost".to_owned());
        let LinkChances { random, lost: of_questions, answer_lost } = &mut *self.random;
        if random.chance(*of_questions) {
            return Err(lost());
        }
        let answer = ask(self.end.as_mut().ok_or_else(lost)?);
        // The primary has heard the question all the same.
        if random.chance(*answer_lost) { answer.and_then(|_| Err(lost())) } else { answer }
    }
}

impl Source for Link<'_> {
    fn listing(&mut self) -> Result<Listing, SourceError> {
        self.ask(Source::listing)
    }

    fn batches(&mut self, pull: &Pull) -> Result<Pulled, SourceError> {
        let few = self.random.random.chance(300);
        let pull = Pull { bytes_max: if few { 1 } else { pull.bytes_max }, ..pull.clone() };
        self.ask(|source| source.batches(&pull))
    }

    fn audit(&mut self, after: u64) -> Result<Vec<u8>, SourceError> {
        self.ask(|source| source.audit(after))
    }

    fn snapshot(&mut self, batch: u64, from: u64) -> Result<Piece, SourceError> {
        self.ask(|source| source.snapshot(batch, from))
    }
}

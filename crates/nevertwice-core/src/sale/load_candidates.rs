//! Adds candidates, or changes what they may book.

use alloc::vec::Vec;
use core::fmt;

use super::{Candidate, Sale};
use crate::decide::in_range;
use crate::fields::{Fields, Malformed, Sink, Source, fields};
use crate::limits::{CANDIDATES_MAX, LOAD_CANDIDATES_MAX};
use crate::{ApplyError, Rejection};

/// Who a candidate is: the HMAC-SHA-256 of the normalised code under the sale's key, which is not part of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId(pub [u8; 32]);

impl fmt::Debug for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "CandidateId({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

impl Fields for CandidateId {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.digest(&self.0);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(Self(source.digest()?))
    }
}

/// Adds candidates, or changes what known ones may book; live bookings stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadCandidates {
    /// The candidates, 1 to `LOAD_CANDIDATES_MAX`; of several with one id the last counts.
    pub candidates: Vec<CandidateFact>,
}

fields! {
    /// A candidate and what it may book.
    pub struct CandidateFact {
        /// The keyed digest of the code.
        pub candidate: CandidateId,
        /// The keyed digest of the e-mail address, if the list has one.
        pub email: Option<[u8; 32]>,
        /// The levels that may be booked: bit n is level number n in the order of opening.
        pub levels: u64,
    }
}

fields! {
    /// Candidates were added or changed.
    pub struct CandidatesLoaded {
        /// Which, and what they may book.
        pub candidates: Vec<CandidateFact>,
    }
}

impl LoadCandidates {
    pub(crate) fn decide(&self, sale: &Sale) -> Result<CandidatesLoaded, Rejection> {
        in_range("candidates", self.candidates.len() as i64, 1, LOAD_CANDIDATES_MAX as i64)?;
        // Those that are known already take no place, so a full list can still be changed.
        let added = self.candidates.iter().filter(|fact| sale.candidate(&fact.candidate).is_none()).count();
        if sale.candidates().len().saturating_add(added) > CANDIDATES_MAX {
            return Err(Rejection::CandidatesFull);
        }
        let unknown_levels = u64::MAX.checked_shl(u32::try_from(sale.levels.len()).unwrap_or(u32::MAX)).unwrap_or(0);
        if self.candidates.iter().any(|candidate| candidate.levels & unknown_levels != 0) {
            return Err(Rejection::UnknownLevel);
        }
        Ok(CandidatesLoaded { candidates: self.candidates.clone() })
    }
}

impl CandidatesLoaded {
    pub(crate) fn apply(&self, sale: &mut Sale) -> Result<(), ApplyError> {
        for CandidateFact { candidate: id, email, levels } in &self.candidates {
            match sale.candidate_mut(id) {
                Ok(known) => {
                    known.email = *email;
                    known.levels = *levels;
                }
                Err(_) => sale.add_candidate(Candidate { id: *id, email: *email, levels: *levels, booking: None }),
            }
        }
        Ok(())
    }
}

//! What a figure must be, and what a state must allow.

use crate::model::Violation;

/// An event's figure against what follows from the state before it.
pub(super) fn expect(figure: &'static str, found: i64, expected: i128) -> Result<(), Violation> {
    let found = i128::from(found);
    if found == expected { Ok(()) } else { Err(Violation::WrongFigure { figure, found, expected }) }
}

/// What the state before an event must allow.
pub(super) fn allow(allowed: bool, what: &'static str) -> Result<(), Violation> {
    if allowed { Ok(()) } else { Err(Violation::NotAllowed { what }) }
}

/// A figure back from 128 bits; one that does not fit is told with the largest number, which no figure equals.
pub(super) fn narrow(figure: i128) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

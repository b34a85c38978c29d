//! What a program gets that fills in a field which people don't see: an answer that looks like a success and is none, and the same
//! again for a retry. Nothing of it is on the disk or in the log; a counter knows how many there were.
//!
//! It is no wall. A program that compares what it was told with what other routes say of it finds out; the seats are safe all the
//! same, for nothing was booked.

mod answer;
mod feigned;

pub(crate) use answer::answer;
pub(crate) use feigned::Feigned;

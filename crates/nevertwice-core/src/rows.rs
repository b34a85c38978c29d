//! Rows in the order in which they came. A row never moves, so its number is its place for ever, and where a scan goes on.
//!
//! They lie in pieces, so that growing never moves more than the first of them.

use alloc::vec::Vec;

/// How many rows lie in one piece.
const PIECE: usize = 1024;

/// Rows, numbered from 0 in the order in which they came.
pub(crate) struct Rows<T> {
    pieces: Vec<Vec<T>>,
    len: usize,
}

impl<T> Rows<T> {
    pub(crate) const fn new() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Adds a row, and tells its number. Every bound of the core is far below 2^32.
    pub(crate) fn push(&mut self, row: T) -> u32 {
        if self.pieces.last().is_none_or(|piece| piece.len() >= PIECE) {
            // Most shards are small: the first piece grows with its rows.
            self.pieces.push(if self.pieces.is_empty() { Vec::new() } else { Vec::with_capacity(PIECE) });
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(row);
        }
        let number = self.len as u32;
        self.len = self.len.saturating_add(1);
        number
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        self.pieces.get(number / PIECE)?.get(number % PIECE)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        self.pieces.get_mut(number / PIECE)?.get_mut(number % PIECE)
    }

    /// The rows from that number on.
    pub(crate) fn iter_from(&self, number: u32) -> impl Iterator<Item = &T> {
        let number = number as usize;
        let rest = self.pieces.get(number / PIECE).and_then(|piece| piece.get(number % PIECE..)).unwrap_or_default();
        let further = self.pieces.get((number / PIECE).saturating_add(1)..).unwrap_or_default();
        rest.iter().chain(further.iter().flatten())
    }
}

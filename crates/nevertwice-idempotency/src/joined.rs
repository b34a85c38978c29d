//! Pieces of a body, put together.

use bytes::{Bytes, BytesMut};

/// The pieces of a body so far. One alone, as most are, is not copied.
#[derive(Default)]
pub(crate) struct Joined {
    first: Bytes,
    /// All of them, the first included, once there are two.
    all: BytesMut,
}

impl Joined {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.reserve(self.first.len() + piece.len());
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&piece);
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len().max(self.first.len())
    }

    pub(crate) fn whole(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_together_in_their_order() {
        for pieces in [&[][..], &[""], &["one"], &["", "one"], &["one", "", "two"], &["one", "two", "three"]] {
            let mut joined = Joined::default();
            pieces.iter().for_each(|piece| joined.push(Bytes::from_static(piece.as_bytes())));
            let whole = pieces.concat();
            assert_eq!((joined.len(), joined.whole()), (whole.len(), Bytes::from(whole)));
        }
    }
}

//! Which key, and who works on it.

use core::fmt;

use crate::fields::{Fields, Malformed, Sink, Source};

macro_rules! digest {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let [a, b, c, d, ..] = self.0;
                write!(f, concat!(stringify!($name), "({:02x}{:02x}{:02x}{:02x}..)"), a, b, c, d)
            }
        }

        impl Fields for $name {
            fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
                sink.digest(&self.0);
            }
            fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
                source.digest().map(Self)
            }
        }
    };
}

digest! {
    /// The name of a record: a keyed digest of who calls, where, and with which key. A store never sees a key in the clear, and
    /// nobody without the secret can name another's record.
    KeyId
}

digest! {
    /// One attempt at the work: made from the instance's id and a fresh random number, so that no two attempts share it.
    OwnerId
}

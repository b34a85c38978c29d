//! One declaration of the order of fields, for every byte form that a value has.
//!
//! Entries and state records are hashed here, packed in memory here, and encoded for disks and networks in `nevertwice-api`.
//! All three walk the same fields in the same order, through [`Fields`]; they differ only in the [`Sink`] or [`Source`].

use alloc::vec::Vec;
use core::fmt;

use crate::limits::LIST_MAX;

/// Where fields go.
pub trait Sink {
    /// One byte: a tag, a small count, a truth.
    fn byte(&mut self, value: u8);
    /// An unsigned number of up to 32 bits.
    fn word(&mut self, value: u32);
    /// An unsigned number of up to 64 bits.
    fn long(&mut self, value: u64);
    /// A signed number of up to 64 bits.
    fn signed(&mut self, value: i64);
    /// A digest, as it is.
    fn digest(&mut self, value: &[u8; 32]);
    /// A text, with its length.
    fn text(&mut self, value: &str);
}

/// Where fields come from: bytes that may be cut short or wrong in any way.
pub trait Source {
    /// Reads what [`Sink::byte`] wrote.
    fn byte(&mut self) -> Result<u8, Malformed>;
    /// Reads what [`Sink::word`] wrote.
    fn word(&mut self) -> Result<u32, Malformed>;
    /// Reads what [`Sink::long`] wrote.
    fn long(&mut self) -> Result<u64, Malformed>;
    /// Reads what [`Sink::signed`] wrote.
    fn signed(&mut self) -> Result<i64, Malformed>;
    /// Reads what [`Sink::digest`] wrote.
    fn digest(&mut self) -> Result<[u8; 32], Malformed>;
    /// Reads what [`Sink::text`] wrote; `Err` if it is longer than `bytes_max` or not UTF-8.
    fn text(&mut self, bytes_max: usize) -> Result<&str, Malformed>;
}

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end before the value does.
    CutShort,
    /// A tag that no version up to this one has written.
    UnknownTag(u8),
    /// A text that is too long, not UTF-8, or has characters that its kind excludes.
    Text,
    /// A list longer than [`LIST_MAX`].
    ListTooLong,
    /// A number outside the range of its field.
    Number,
    /// Bytes remain after the value.
    Trailing,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutShort => f.write_str("the bytes end before the value does"),
            Self::UnknownTag(tag) => write!(f, "unknown tag {tag}"),
            Self::Text => f.write_str("a text is too long or has characters that it may not have"),
            Self::ListTooLong => write!(f, "a list is longer than {LIST_MAX}"),
            Self::Number => f.write_str("a number is outside the range of its field"),
            Self::Trailing => f.write_str("bytes remain after the value"),
        }
    }
}

impl core::error::Error for Malformed {}

/// A value that knows its fields and their order.
pub trait Fields: Sized {
    /// Writes all fields.
    fn put<S: Sink + ?Sized>(&self, sink: &mut S);
    /// Reads all fields.
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed>;
}

macro_rules! plain {
    ($($ty:ty => $method:ident),*) => {$(
        impl Fields for $ty {
            fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
                sink.$method(*self);
            }
            fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
                source.$method()
            }
        }
    )*};
}

plain!(u8 => byte, u32 => word, u64 => long, i64 => signed);

impl Fields for bool {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.byte(u8::from(*self));
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        match source.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::UnknownTag(other)),
        }
    }
}

impl Fields for [u8; 32] {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        sink.digest(self);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        source.digest()
    }
}

impl<T: Fields> Fields for Option<T> {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        match self {
            None => sink.byte(0),
            Some(value) => {
                sink.byte(1);
                value.put(sink);
            }
        }
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        Ok(if bool::take(source)? { Some(T::take(source)?) } else { None })
    }
}

impl<T: Fields> Fields for Vec<T> {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        debug_assert!(self.len() <= LIST_MAX);
        sink.word(u32::try_from(self.len()).unwrap_or(u32::MAX));
        for item in self {
            item.put(sink);
        }
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        let count = source.word()? as usize;
        if count > LIST_MAX {
            return Err(Malformed::ListTooLong);
        }
        // Grown as items arrive: a forged count reserves nothing.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(T::take(source)?);
        }
        Ok(items)
    }
}

/// Declares a struct together with its [`Fields`], in the order of declaration.
macro_rules! fields {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty),* }

        impl $crate::fields::Fields for $name {
            fn put<S: $crate::fields::Sink + ?Sized>(&self, sink: &mut S) {
                $($crate::fields::Fields::put(&self.$field, sink);)*
                let _ = sink;
            }
            fn take<S: $crate::fields::Source + ?Sized>(source: &mut S) -> Result<Self, $crate::fields::Malformed> {
                let _ = &source;
                Ok(Self { $($field: $crate::fields::Fields::take(source)?),* })
            }
        }
    };
}

/// Declares an enum of structs together with its [`Fields`]: one tag byte, then the struct. Tags are for ever.
macro_rules! tagged {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $tag:literal => $variant:ident($ty:ty)),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_meta])* $variant($ty)),* }

        impl $crate::fields::Fields for $name {
            fn put<S: $crate::fields::Sink + ?Sized>(&self, sink: &mut S) {
                match self { $(Self::$variant(value) => { sink.byte($tag); $crate::fields::Fields::put(value, sink); })* }
            }
            fn take<S: $crate::fields::Source + ?Sized>(source: &mut S) -> Result<Self, $crate::fields::Malformed> {
                match source.byte()? {
                    $($tag => Ok(Self::$variant($crate::fields::Fields::take(source)?)),)*
                    other => Err($crate::fields::Malformed::UnknownTag(other)),
                }
            }
        }
    };
}

/// Declares an enum without data together with its [`Fields`] (one byte) and its stable words.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $tag:literal => $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_meta])* $variant),* }

        impl $name {
            /// All of them, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word for it in the API and in reports.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $crate::fields::Fields for $name {
            fn put<S: $crate::fields::Sink + ?Sized>(&self, sink: &mut S) {
                sink.byte(match self { $(Self::$variant => $tag),* });
            }
            fn take<S: $crate::fields::Source + ?Sized>(source: &mut S) -> Result<Self, $crate::fields::Malformed> {
                match source.byte()? {
                    $($tag => Ok(Self::$variant),)*
                    other => Err($crate::fields::Malformed::UnknownTag(other)),
                }
            }
        }
    };
}

pub(crate) use {fields, tagged, words};

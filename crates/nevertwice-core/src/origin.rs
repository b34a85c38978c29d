//! Where a command came from: kept in its entry for whoever asks later, and no part of what is decided.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use crate::fields::{Fields, Malformed, Sink, Source, fields, words};
use crate::{CallerName, PeerAddress};

words! {
    /// As what a caller was let in.
    #[derive(Hash)]
    pub enum CallerRole {
        /// As the operator.
        1 => Operator = "operator",
        /// As a service that acts for others.
        2 => Service = "service",
        /// As the principal itself.
        3 => Principal = "principal",
    }
}

fields! {
    /// Where a command came from. It is no part of the intent, of its fingerprint, of the state or of its hash: two copies of a
    /// request that came different ways are the same request, and the entry tells the way of the one that was accepted.
    #[derive(Hash)]
    pub struct Origin {
        /// The name of the credential that called; never the credential.
        pub caller: CallerName,
        /// As what it was let in.
        pub role: CallerRole,
        /// The address of whoever was connected. Kept for what operators do; for the traffic of people it stays away.
        pub address: Option<PeerAddress>,
        /// The trace that the request was part of, if it named one.
        pub trace: Option<TraceContext>,
    }
}

// An order that comes without one pays for a pointer.
const _: () = assert!(size_of::<Option<Box<Origin>>>() == size_of::<usize>());

/// A place in a distributed trace, as W3C Trace Context has it: which trace, which step of it called, and what was decided
/// about recording it. Neither id is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: [u64; 2],
    parent_id: u64,
    flags: u8,
}

impl TraceContext {
    /// The flags that version 00 of the header defines: sampled, and random trace id. Others are dropped.
    pub const FLAGS: u8 = 0b11;

    /// `None` if an id is zero.
    #[must_use]
    pub const fn new(trace_id: u128, parent_id: u64, flags: u8) -> Option<Self> {
        if trace_id == 0 || parent_id == 0 {
            return None;
        }
        let trace_id = [(trace_id >> 64) as u64, trace_id as u64];
        Some(Self { trace_id, parent_id, flags: flags & Self::FLAGS })
    }

    /// Which trace.
    #[must_use]
    pub const fn trace_id(&self) -> u128 {
        let [high, low] = self.trace_id;
        (high as u128) << 64 | low as u128
    }

    /// Which step of the trace called.
    #[must_use]
    pub const fn parent_id(&self) -> u64 {
        self.parent_id
    }

    /// Bit 0: the caller may record the trace; bit 1: its id was drawn at random.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
    }

    /// The same trace one step on; `None` if the step's id is zero.
    #[must_use]
    pub const fn child(&self, step_id: u64) -> Option<Self> {
        Self::new(self.trace_id(), step_id, self.flags)
    }
}

/// As in a `traceparent` header of version 00.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id(), self.parent_id, self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that names no place in a trace. Whoever gets one goes on without: a trace is never a reason to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotATrace;

impl fmt::Display for NotATrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a trace context is written version-trace-parent-flags, in 2, 32, 16 and 2 lower-case hexadecimal digits, neither id zero",
        )
    }
}

impl core::error::Error for NotATrace {}

/// Reads a `traceparent`. Of a version above 00 only what version 00 defines is read, and something may follow it; version ff
/// is none.
impl FromStr for TraceContext {
    type Err = NotATrace;

    fn from_str(text: &str) -> Result<Self, NotATrace> {
        let (version, rest) = field(text, 2)?;
        let (trace_id, rest) = field(after_dash(rest)?, 32)?;
        let (parent_id, rest) = field(after_dash(rest)?, 16)?;
        let (flags, rest) = field(after_dash(rest)?, 2)?;
        let ends = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let parent_id = u64::try_from(parent_id).map_err(|_| NotATrace)?;
        let flags = u8::try_from(flags).map_err(|_| NotATrace)?;
        if ends { Self::new(trace_id, parent_id, flags).ok_or(NotATrace) } else { Err(NotATrace) }
    }
}

fn field(text: &str, digits: usize) -> Result<(u128, &str), NotATrace> {
    let (field, rest) = text.split_at_checked(digits).ok_or(NotATrace)?;
    // `from_str_radix` would take a sign and capitals.
    if !field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(NotATrace);
    }
    Ok((u128::from_str_radix(field, 16).map_err(|_| NotATrace)?, rest))
}

fn after_dash(text: &str) -> Result<&str, NotATrace> {
    text.strip_prefix('-').ok_or(NotATrace)
}

impl Fields for TraceContext {
    fn put<S: Sink + ?Sized>(&self, sink: &mut S) {
        let [high, low] = self.trace_id;
        sink.long(high);
        sink.long(low);
        sink.long(self.parent_id);
        sink.byte(self.flags);
    }
    fn take<S: Source + ?Sized>(source: &mut S) -> Result<Self, Malformed> {
        let (high, low) = (source.long()?, source.long()?);
        let (parent_id, flags) = (source.long()?, source.byte()?);
        if flags & !Self::FLAGS != 0 {
            return Err(Malformed::Number);
        }
        Self::new(u128::from(high) << 64 | u128::from(low), parent_id, flags).ok_or(Malformed::Number)
    }
}

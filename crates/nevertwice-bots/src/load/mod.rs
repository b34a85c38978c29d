//! Load on a server, measured: closed loop for throughput, open loop for latency.
//!
//! - [`closed`]: each of N connections asks, waits, asks again. It finds how much a server can do; its latencies are those
//!   of a crowd that politely waits, so they say little.
//! - [`open`]: requests *arrive* at a rate, whether or not earlier ones are done, and each is timed from the instant at
//!   which it was due. A server that stops for a second is charged that second by every request due in it (no coordinated
//!   omission).
//!
//! Both drive anything that implements [`Requester`]. The generator shares the machine with the server under test, so
//! [`RawRequester`] costs little more than its two system calls: the bytes of the request are rendered once
//! ([`Template`]), only digits in named slots change, and of a reply it reads the status and `content-length`.

mod drive;
mod measure;
mod raw;
mod requester;
mod template;

pub use drive::{Plan, closed, open};
pub use measure::{Latency, Measured};
pub use raw::{RawConnection, RawRequester};
pub use requester::{Answer, Requester};
pub use template::{Slot, Template, TemplateError};

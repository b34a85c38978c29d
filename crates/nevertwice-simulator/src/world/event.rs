//! What can happen.

use nevertwice_core::PaymentId;

/// What happens at an instant.
#[derive(Debug)]
pub(crate) enum Event {
    /// The clients think of something new.
    Ask,
    /// A client sends what it means.
    Send(usize),
    /// A request arrives.
    Arrive(usize),
    /// A client closes its connection.
    HangUp(usize),
    /// A reply arrives.
    Reply(usize),
    /// A client has waited long enough for the answer to this attempt.
    Patience(usize, u32),
    /// The sequencer takes a turn.
    Decide,
    /// The syncer takes what was decided.
    Take,
    /// The syncer's write comes to its end.
    Write,
    /// The syncer sends its answers.
    Answer,
    /// The snapshot maker looks whether somebody wishes for one.
    Snapshot,
    /// The follower reads what has become durable.
    Follow,
    /// The steward sweeps, if it still follows this timetable.
    Sweep(u32),
    /// The process starts.
    Start,
    /// The process is to end in this life, without warning.
    Crash,
    /// An operator ends a process that can't write any more.
    Replace(u32),
    /// The process is told to stop.
    Stop,
    /// It stops.
    Stopped(u32),
    /// It is gone.
    Gone,
    /// A call to the disk is going to fail.
    Fail,
    /// The disk fills up.
    Fill,
    /// Somebody makes room.
    Free,
    /// The clock is set.
    SetClock,
    /// The workload changes.
    Change,
    /// Somebody pays, or declines to.
    Pay(PaymentId),
    /// Somebody looks whether the quiet phase is over.
    Look,
}

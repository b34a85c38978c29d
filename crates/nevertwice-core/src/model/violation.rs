//! What an auditor can find wrong.

use alloc::string::String;
use core::fmt;

use crate::{BookingState, Name, Position, ShardId};

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    // -- the history --------------------------------------------------------------------------------------------------------
    /// An entry belongs to another shard.
    OtherShard {
        /// The shard that it names.
        found: ShardId,
    },
    /// An entry is not the next one.
    Gap {
        /// The last one seen.
        last: Position,
        /// The one that came.
        next: Position,
    },
    /// An entry's instant is before the last one's.
    TimeRanBackwards {
        /// The last one's.
        last: i64,
        /// The one that came.
        next: i64,
    },
    /// An entry has no events.
    NoEvents,
    /// An entry has another intent than the command that it answers.
    OtherIntent,
    /// An entry does something else than what was asked.
    NotWhatWasAsked {
        /// What differs.
        what: &'static str,
    },
    /// An intent was accepted twice within the retention.
    AcceptedTwice {
        /// Where first.
        first: Position,
        /// Where again.
        again: Position,
    },
    /// An intent was accepted at or after its end, or so that it outlives the memory of its key.
    AcceptedOutOfTime {
        /// Its end.
        expires_at: i64,
        /// When it was accepted.
        at_ms: i64,
    },
    /// A remembered intent was answered as if it were unknown.
    Forgotten {
        /// Where it was accepted.
        first: Position,
    },
    /// A replay of an intent that was never accepted, or whose retention was over.
    ReplayOfUnknown {
        /// Where it claims to have been accepted.
        position: Position,
    },
    /// A replay that is not, byte for byte, the first answer.
    ReplayDiffers {
        /// Where it was accepted.
        first: Position,
    },
    /// A replay or a rejection changed the state hash.
    AnswerChangedState {
        /// The rejection's code, or `replayed`.
        answer: &'static str,
    },
    /// A rejection tells something that is not so.
    UntrueRejection {
        /// Its code.
        code: &'static str,
    },
    /// An event that the state before it does not allow.
    NotAllowed {
        /// Why not.
        what: &'static str,
    },
    /// An event's figure is not what follows from the state before it.
    WrongFigure {
        /// Which figure.
        figure: &'static str,
        /// What the entry says.
        found: i128,
        /// What follows.
        expected: i128,
    },

    // -- the records --------------------------------------------------------------------------------------------------------
    /// The first record is not that of a shard, or no record says what the shard is.
    NoShard,
    /// A record belongs to the other kind of shard.
    OtherKind {
        /// Which record.
        record: String,
    },
    /// A record comes twice.
    RecordTwice {
        /// Which one.
        record: String,
    },
    /// A record names something that has no record.
    Dangling {
        /// Which record.
        record: String,
        /// What it names.
        names: &'static str,
    },
    /// A record that follows from the history is missing.
    RecordMissing {
        /// Which one.
        record: String,
    },
    /// A record that does not follow from the history.
    RecordUnexpected {
        /// Which one.
        record: String,
    },
    /// A record that is not what follows from the history.
    RecordDiffers {
        /// Which one.
        record: String,
    },
    /// A figure outside its range.
    OutOfRange {
        /// Which record.
        record: String,
        /// Which figure.
        figure: &'static str,
        /// What it is.
        found: i64,
    },

    // -- markets ------------------------------------------------------------------------------------------------------------
    /// The sum of all accounts is not zero.
    NotConserved {
        /// The sum.
        sum: i128,
    },
    /// The holdings of an instrument are not its net.
    HoldingsNotNet {
        /// Which instrument.
        instrument: Name,
        /// The sum of its holdings.
        holdings: i128,
        /// Its net.
        net: i64,
    },
    /// A player's balance is below zero.
    NegativeBalance {
        /// Whose.
        account: Name,
        /// The balance.
        balance: i64,
    },
    /// A holding is not at least one share.
    NoShares {
        /// Whose.
        account: Name,
        /// Of what.
        instrument: Name,
        /// How many.
        shares: i64,
    },
    /// The house's cash from an instrument that was never repriced is not the curve's integral.
    CashOffCurve {
        /// Which instrument.
        instrument: Name,
        /// The cash.
        cash: i64,
        /// The integral.
        integral: i128,
    },
    /// The same net at the same base gives another cash than before: a closed cycle paid somebody.
    CycleNotClosed {
        /// Which instrument.
        instrument: Name,
        /// The cash when this net was met first.
        cash_before: i64,
        /// The cash now.
        cash: i64,
    },
    /// What the house may lose, counted over all instruments, is not what the state says.
    HouseLossMiscounted {
        /// What the state says.
        found: i64,
        /// What was counted.
        counted: i128,
    },
    /// The house may lose more than it may.
    HouseLossExceeded {
        /// What it may lose at worst.
        loss: i128,
        /// The bound.
        house_loss_max: i64,
    },
    /// An account's score is not the sum over its holdings.
    ScoreNotSum {
        /// Whose.
        account: Name,
        /// The score.
        score: i64,
        /// The sum.
        sum: i128,
    },

    // -- sales --------------------------------------------------------------------------------------------------------------
    /// More live bookings on a level than its cap.
    LevelOverCap {
        /// Which level.
        level: Name,
        /// Live bookings, counted.
        live: i64,
        /// Its cap.
        cap: i64,
    },
    /// More live bookings than the total cap.
    SaleOverCap {
        /// Live bookings, counted.
        live: i64,
        /// The cap.
        cap: i64,
    },
    /// A counter is not what counting gives.
    Miscounted {
        /// Which counter.
        counter: String,
        /// What it says.
        found: i64,
        /// What was counted.
        counted: i64,
    },
    /// A candidate has two live bookings.
    CandidateBookedTwice {
        /// The first.
        first: Position,
        /// The other.
        other: Position,
    },
    /// A seat belongs to two live bookings.
    SeatTakenTwice {
        /// Which seat.
        seat: u32,
        /// The first.
        first: Position,
        /// The other.
        other: Position,
    },
    /// An admission took another seat than the lowest free one.
    SeatNotLowest {
        /// The seat that it took.
        seat: u32,
        /// The lowest free one.
        lowest: u32,
    },
    /// A booking that had ended was ended again, or went on.
    EndedTwice {
        /// Which booking.
        booking: Position,
        /// How it had ended.
        ended: BookingState,
    },
    /// A booking has a payment before one began, or none after.
    PaymentMismatch {
        /// Which booking.
        booking: Position,
        /// Its state.
        state: BookingState,
    },
    /// A booking was ended by somebody who does not own it.
    NotItsOwner {
        /// Which booking.
        booking: Position,
    },
    /// A hold was ended before its time.
    EndedEarly {
        /// Which booking.
        booking: Position,
        /// When its hold ends.
        hold_expires_at: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherShard { found } => write!(f, "an entry belongs to {found}"),
            Self::Gap { last, next } => write!(f, "entry {next} does not follow entry {last}"),
            Self::TimeRanBackwards { last, next } => write!(f, "an entry at {next} ms follows one at {last} ms"),
            Self::NoEvents => f.write_str("an entry has no events"),
            Self::OtherIntent => f.write_str("an entry has another intent than the command that it answers"),
            Self::NotWhatWasAsked { what } => write!(f, "the {what} of an entry is not what was asked for"),
            Self::AcceptedTwice { first, again } => write!(f, "the intent of entry {first} was accepted again as entry {again}"),
            Self::AcceptedOutOfTime { expires_at, at_ms } => {
                write!(f, "an intent that ends at {expires_at} ms was accepted at {at_ms} ms")
            }
            Self::Forgotten { first } => write!(f, "the intent of entry {first} is remembered, but was answered as if it were unknown"),
            Self::ReplayOfUnknown { position } => write!(f, "a replay tells of entry {position}, which is not remembered"),
            Self::ReplayDiffers { first } => write!(f, "a replay of entry {first} is not what was answered first"),
            Self::AnswerChangedState { answer } => write!(f, "the answer {answer} changed the state"),
            Self::UntrueRejection { code } => write!(f, "the rejection {code} tells something that is not so"),
            Self::NotAllowed { what } => write!(f, "an event that must not happen: {what}"),
            Self::WrongFigure { figure, found, expected } => write!(f, "the {figure} of an entry is {found}, it should be {expected}"),
            Self::NoShard => f.write_str("the records do not say what the shard is"),
            Self::OtherKind { record } => write!(f, "the record of {record} belongs to the other kind of shard"),
            Self::RecordTwice { record } => write!(f, "the record of {record} comes twice"),
            Self::Dangling { record, names } => write!(f, "the record of {record} names a {names} that has no record"),
            Self::RecordMissing { record } => write!(f, "the record of {record} is missing"),
            Self::RecordUnexpected { record } => write!(f, "the record of {record} does not follow from the history"),
            Self::RecordDiffers { record } => write!(f, "the record of {record} is not what follows from the history"),
            Self::OutOfRange { record, figure, found } => write!(f, "the {figure} of {record} is out of range: {found}"),
            Self::NotConserved { sum } => write!(f, "the sum of all accounts is {sum}, not zero"),
            Self::HoldingsNotNet { instrument, holdings, net } => {
                write!(f, "the holdings of {instrument} are {holdings} shares together, its net is {net}")
            }
            Self::NegativeBalance { account, balance } => write!(f, "the balance of {account} is {balance}"),
            Self::NoShares { account, instrument, shares } => write!(f, "{account} has a holding of {shares} shares of {instrument}"),
            Self::CashOffCurve { instrument, cash, integral } => {
                write!(f, "the cash of {instrument} is {cash}, the integral of its curve {integral}")
            }
            Self::CycleNotClosed { instrument, cash_before, cash } => {
                write!(f, "the cash of {instrument} was {cash_before} and is {cash} at the same net and base")
            }
            Self::HouseLossMiscounted { found, counted } => write!(f, "the house's loss is said to be {found}, but is {counted}"),
            Self::HouseLossExceeded { loss, house_loss_max } => write!(f, "the house may lose {loss}, its bound is {house_loss_max}"),
            Self::ScoreNotSum { account, score, sum } => {
                write!(f, "the score of {account} is {score}, the sum over its holdings {sum}")
            }
            Self::LevelOverCap { level, live, cap } => write!(f, "level {level} has {live} live bookings, its cap is {cap}"),
            Self::SaleOverCap { live, cap } => write!(f, "the sale has {live} live bookings, its cap is {cap}"),
            Self::Miscounted { counter, found, counted } => write!(f, "{counter} is said to be {found}, but is {counted}"),
            Self::CandidateBookedTwice { first, other } => write!(f, "one candidate has the live bookings {first} and {other}"),
            Self::SeatTakenTwice { seat, first, other } => write!(f, "seat {seat} belongs to the live bookings {first} and {other}"),
            Self::SeatNotLowest { seat, lowest } => write!(f, "seat {seat} was taken while seat {lowest} was free"),
            Self::EndedTwice { booking, ended } => write!(f, "booking {booking} had ended {}, and went on", ended.word()),
            Self::PaymentMismatch { booking, state } => {
                write!(f, "the payment of booking {booking} does not fit its state {}", state.word())
            }
            Self::NotItsOwner { booking } => write!(f, "booking {booking} was ended by somebody who does not own it"),
            Self::EndedEarly { booking, hold_expires_at } => {
                write!(f, "the hold of booking {booking} was ended before {hold_expires_at} ms")
            }
        }
    }
}

impl core::error::Error for Violation {}

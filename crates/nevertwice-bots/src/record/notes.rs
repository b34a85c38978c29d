//! What was asked, and what was told.

use std::collections::BTreeMap;
use std::str::FromStr;

/// How long after its connection was closed a request counts as dead: it was decided or never will be.
pub const QUIET_US: u64 = 250_000;

/// Who means what, once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntentId {
    /// The principal.
    pub principal: String,
    /// The idempotency key.
    pub key: String,
}

impl std::fmt::Display for IntentId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.principal, self.key)
    }
}

/// A place in a shard's history, as the wire writes it: `epoch-seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Counts adoptions.
    pub epoch: u64,
    /// Counts entries, without gaps.
    pub seq: u64,
}

/// A text that is no position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionError {
    /// The text.
    pub text: String,
}

impl std::fmt::Display for PositionError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "not a position of the form epoch-seq: \"{}\"", self.text)
    }
}

impl std::error::Error for PositionError {}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten();
        text.split_once('-')
            .and_then(|(epoch, seq)| Some(Self { epoch: number(epoch)?, seq: number(seq)? }))
            .ok_or_else(|| PositionError { text: text.to_owned() })
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}-{}", self.epoch, self.seq)
    }
}

/// Which way an order goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The account buys.
    Buy,
    /// The account sells.
    Sell,
}

impl Side {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }

    /// Shares gained by an order of `quantity`: less than zero for a sale.
    pub fn signed(self, quantity: i64) -> i64 {
        match self {
            Self::Buy => quantity,
            Self::Sell => -quantity,
        }
    }
}

/// What an intent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// To trade.
    Order {
        /// Whose order.
        account: String,
        /// Of what.
        instrument: String,
        /// Which way.
        side: Side,
        /// How many shares.
        quantity: i64,
    },
    /// To move an instrument's base.
    Reprice {
        /// Of what.
        instrument: String,
    },
    /// A seat.
    Admission {
        /// The candidate's code.
        candidate: String,
        /// The level.
        level: String,
    },
    /// To pay at the gateway's page, which ends a booking paid.
    PayAtPage {
        /// Which.
        booking: Position,
    },
    /// To end a booking paid.
    ConfirmPayment {
        /// Which.
        booking: Position,
    },
    /// To end a booking released.
    Release {
        /// Which.
        booking: Position,
    },
}

impl Asked {
    /// Whether it concerns the sale; the market otherwise.
    pub fn of_sale(&self) -> bool {
        !matches!(self, Self::Order { .. } | Self::Reprice { .. })
    }
}

/// What a yes said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// An order was filled.
    Filled {
        /// What moved, fee included: paid by a buyer, received by a seller.
        total: i64,
        /// The account's money after.
        balance: i64,
        /// The account's shares of the instrument after.
        holding: i64,
        /// The instrument's price before.
        price_before: i64,
        /// The instrument's price after.
        price_after: i64,
    },
    /// An instrument's base was moved.
    Repriced {
        /// The instrument's price before.
        price_before: i64,
        /// The instrument's price after.
        price_after: i64,
    },
    /// A candidate was admitted.
    Admitted {
        /// The level.
        level: String,
        /// The seat.
        seat: u64,
    },
    /// What was asked is done.
    Done,
}

/// What one attempt was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Yes.
    Yes {
        /// Where the effect stands.
        position: Position,
        /// Whether the answer says that it is a repetition.
        replayed: bool,
        /// What it says.
        effect: Effect,
        /// A digest of the answer's `result`, every member of it: a replay repeats it.
        digest: u64,
    },
    /// A page for people says that it is done; it carries no position.
    Shown,
    /// No, with a stable code: this attempt did nothing.
    No {
        /// The code.
        code: String,
    },
    /// Nothing that settles the matter: the reply was lost, late, or said that the outcome is unknown.
    Nothing,
    /// The request was not seen: nobody was listening.
    Unseen,
}

/// One attempt of an intent. Instants are microseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// When it was sent.
    pub sent_at_us: u64,
    /// When its end was known.
    pub ended_at_us: u64,
    /// What it was told.
    pub told: Told,
}

/// Everything about one intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentNotes {
    /// What was asked.
    pub asked: Asked,
    /// Every attempt.
    pub attempts: Vec<Attempt>,
}

impl IntentNotes {
    /// The first yes, by when it was known.
    pub fn yes(&self) -> Option<(Position, &Effect)> {
        let yes = self.attempts.iter().filter(|attempt| attempt.told.yes().is_some());
        yes.min_by_key(|attempt| attempt.ended_at_us).and_then(|attempt| attempt.told.yes())
    }

    /// Whether a page said that it is done.
    pub fn is_shown(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.told == Told::Shown)
    }

    /// Whether its fate is known: somebody was told yes, or somebody was told no who asked when every attempt of unknown
    /// outcome had been over for [`QUIET_US`].
    ///
    /// A *no* is about one attempt. An earlier one whose reply was lost may still lie in a queue of the server, so a no that
    /// came at once says nothing about it.
    pub fn is_settled(&self) -> bool {
        if self.yes().is_some() || self.is_shown() {
            return true;
        }
        let of_unknown_outcome = self.attempts.iter().filter(|attempt| attempt.told == Told::Nothing);
        let quiet_at_us = of_unknown_outcome.map(|attempt| attempt.ended_at_us + QUIET_US).max().unwrap_or(0);
        let told_no = |attempt: &Attempt| matches!(attempt.told, Told::No { .. }) && attempt.sent_at_us >= quiet_at_us;
        self.attempts.iter().any(told_no)
    }
}

impl Told {
    /// Position and effect of a yes.
    pub fn yes(&self) -> Option<(Position, &Effect)> {
        match self {
            Self::Yes { position, effect, .. } => Some((*position, effect)),
            _ => None,
        }
    }
}

/// What all clients were told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    intents: BTreeMap<IntentId, IntentNotes>,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes an attempt. An intent asks for one thing: `asked` counts at its first attempt.
    pub fn note(&mut self, intent: IntentId, asked: Asked, attempt: Attempt) {
        self.intents.entry(intent).or_insert_with(|| IntentNotes { asked, attempts: Vec::new() }).attempts.push(attempt);
    }

    /// Takes another record in.
    pub fn add(&mut self, other: Self) {
        for (intent, mut notes) in other.intents {
            match self.intents.entry(intent) {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(notes);
                }
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    known.get_mut().attempts.append(&mut notes.attempts);
                }
            }
        }
    }

    /// All intents, in the order of their ids.
    pub fn intents(&self) -> impl Iterator<Item = (&IntentId, &IntentNotes)> {
        self.intents.iter()
    }

    /// One intent.
    pub fn get(&self, intent: &IntentId) -> Option<&IntentNotes> {
        self.intents.get(intent)
    }

    /// How many intents there are.
    pub fn len(&self) -> usize {
        self.intents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.intents.is_empty()
    }
}

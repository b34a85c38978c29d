//! What can be asked of a shard.

use alloc::boxed::Box;

use crate::market::{
    Freeze, ListInstrument, OpenAccount, OpenMarket, PayHolders, PlaceOrder, Reprice, SetMode, SettleInstrument, Unfreeze,
};
use crate::sale::{
    Admit, AttachPayment, BeginPayment, ConfirmPayment, ExpireHolds, LoadCandidates, OpenSale, ReleaseBooking, SetCaps, SetSaleOpen,
};
use crate::{Intent, Origin};

/// An intent and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Who means what, once.
    pub intent: Intent,
    /// What is asked.
    pub action: Action,
    /// Where it came from, if its entry is to tell. No part of what is decided.
    pub origin: Option<Box<Origin>>,
}

impl Command {
    /// A command of which no origin is kept.
    #[must_use]
    pub fn new(intent: Intent, action: impl Into<Action>) -> Self {
        Self { intent, action: action.into(), origin: None }
    }

    /// The same command; its entry will tell where it came from, if that is known.
    #[must_use]
    pub fn with_origin(self, origin: Option<Box<Origin>>) -> Self {
        Self { origin, ..self }
    }
}

macro_rules! actions {
    ($($(#[$meta:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// What is asked: each of them has a file of its own with its fields, its checks in order, and its fact.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Action { $($(#[$meta])* $name($name)),* }

        impl Action {
            /// The verb and noun by which metrics, journals and scripts know it.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self { $(Self::$name(_) => $word),* }
            }
        }

        $(impl From<$name> for Action {
            fn from(action: $name) -> Self {
                Self::$name(action)
            }
        })*
    };
}

actions! {
    /// Opens the market.
    OpenMarket = "open_market",
    /// Lists an instrument.
    ListInstrument = "list_instrument",
    /// Opens an account, with its opening balance.
    OpenAccount = "open_account",
    /// Buys or sells, whole or not at all.
    PlaceOrder = "place_order",
    /// Moves an instrument's base.
    Reprice = "reprice",
    /// Stops an instrument's trading for a while.
    Freeze = "freeze",
    /// Lets it go on.
    Unfreeze = "unfreeze",
    /// Sets the market's mode.
    SetMode = "set_mode",
    /// Fixes an instrument's last price and ends its trading.
    SettleInstrument = "settle_instrument",
    /// Pays named holders of a settled instrument.
    PayHolders = "pay_holders",
    /// Opens the sale.
    OpenSale = "open_sale",
    /// Adds candidates, or changes what they may book.
    LoadCandidates = "load_candidates",
    /// Admits a candidate to a seat.
    Admit = "admit",
    /// Records that a payment is about to be asked for.
    BeginPayment = "begin_payment",
    /// Records where the payment can be made.
    AttachPayment = "attach_payment",
    /// Ends a booking paid.
    ConfirmPayment = "confirm_payment",
    /// Ends a booking released.
    ReleaseBooking = "release_booking",
    /// Ends named holds whose time has come.
    ExpireHolds = "expire_holds",
    /// Opens or closes the doors.
    SetSaleOpen = "set_sale_open",
    /// Changes caps.
    SetCaps = "set_caps",
}

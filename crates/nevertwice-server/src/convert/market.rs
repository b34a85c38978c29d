//! Markets: wire to core, and core to wire.

use nevertwice_api::wire;
use nevertwice_core::{self as core, Entry, Event, Name};

use super::FromEntry;
use crate::call::read_name;
use crate::refusal::Refusal;

/// An order as the core takes it.
pub(crate) fn order(order: &wire::PlaceOrder) -> Result<core::PlaceOrder, Refusal> {
    Ok(core::PlaceOrder {
        account: read_name("account", &order.account)?,
        instrument: read_name("instrument", &order.instrument)?,
        side: order.side.into(),
        quantity: order.quantity,
        limit_price: order.limit_price,
        expected_price: order.expected_price,
        max_slippage_bps: order.max_slippage_bps,
    })
}

/// A quote as the wire shows it.
pub(crate) const fn quote(quote: &core::Quote) -> wire::Quote {
    wire::Quote {
        notional: quote.notional,
        fee: quote.fee,
        total: quote.total,
        last_price: quote.last_price,
        price_before: quote.price_before,
        price_after: quote.price_after,
    }
}

const fn limits(limits: &core::MarketLimits) -> wire::MarketLimits {
    wire::MarketLimits { quantity_max: limits.quantity_max, holding_max: limits.holding_max, house_loss_max: limits.house_loss_max }
}

/// A thing of a market as the wire shows it.
pub(crate) trait Listed {
    /// Its shape on the wire.
    type Wire;
    /// Shows it.
    fn show(&self) -> Self::Wire;
}

impl Listed for (&Name, &core::MarketView) {
    type Wire = wire::Market;
    fn show(&self) -> wire::Market {
        let (market, view) = self;
        wire::Market {
            market: market.to_string(),
            decimals: view.decimals,
            fee_bps: view.fee_bps,
            limits: limits(&view.limits),
            mode: view.mode.into(),
            fees: view.fees,
            issuance: view.issuance,
            house_loss: view.house_loss,
            instruments: view.instruments as u64,
            accounts: view.accounts as u64,
        }
    }
}

impl Listed for core::InstrumentView {
    type Wire = wire::Instrument;
    fn show(&self) -> wire::Instrument {
        wire::Instrument {
            instrument: self.instrument.to_string(),
            base: self.base,
            slope: self.slope,
            state: self.state.into(),
            price: self.price,
            net: self.net,
            cash: self.cash,
        }
    }
}

impl Listed for core::AccountView {
    type Wire = wire::Account;
    fn show(&self) -> wire::Account {
        wire::Account {
            account: self.account.to_string(),
            class: self.class.into(),
            balance: self.balance,
            marked_score: self.marked_score,
            holdings: self.holdings as u64,
        }
    }
}

impl Listed for core::HoldingView {
    type Wire = wire::Holding;
    fn show(&self) -> wire::Holding {
        wire::Holding {
            account: self.account.to_string(),
            instrument: self.instrument.to_string(),
            shares: self.shares,
            cost: self.cost,
            marked_profit: self.marked_profit,
        }
    }
}

impl FromEntry for wire::Order {
    fn from_entry(entry: &Entry) -> Option<Self> {
        Self::of(entry)
    }
}

/// Implements [`FromEntry`] for a kind of entry: the event's own members, then the entry's position and instant.
macro_rules! from_entry {
    ($wire:ident, $event:pat, $entry:ident => { $($member:ident: $value:expr),* $(,)? }) => {
        impl FromEntry for wire::$wire {
            fn from_entry($entry: &Entry) -> Option<Self> {
                let [$event] = $entry.events.as_slice() else { return None };
                Some(Self { $($member: $value,)* position: $entry.position.to_string(), at_ms: $entry.at_ms })
            }
        }
    };
}
pub(super) use from_entry;

from_entry!(MarketOpened, Event::MarketOpened(event), entry => {
    market: entry.shard.name.to_string(),
    decimals: event.decimals,
    fee_bps: event.fee_bps,
    limits: limits(&event.limits),
    mode: event.mode.into(),
    retention_ms: event.retention_ms,
});

from_entry!(ModeSet, Event::ModeSet(event), entry => {
    mode_before: event.mode_before.into(),
    mode: event.mode.into(),
});

from_entry!(InstrumentListed, Event::InstrumentListed(event), entry => {
    instrument: event.instrument.to_string(),
    base: event.base,
    slope: event.slope,
});

from_entry!(InstrumentRepriced, Event::InstrumentRepriced(event), entry => {
    instrument: event.instrument.to_string(),
    base_before: event.base_before,
    base: event.base,
    price_before: event.price_before,
    price_after: event.price_after,
    house_loss: event.house_loss,
});

from_entry!(InstrumentSettled, Event::InstrumentSettled(event), entry => {
    instrument: event.instrument.to_string(),
    price: event.price,
    net: event.net,
    house_loss: event.house_loss,
});

from_entry!(AccountOpened, Event::AccountOpened(event), entry => {
    account: event.account.to_string(),
    class: event.class.into(),
    opening_balance: event.opening_balance,
});

impl FromEntry for wire::InstrumentFrozen {
    fn from_entry(entry: &Entry) -> Option<Self> {
        let (instrument, state) = match entry.events.as_slice() {
            [Event::InstrumentFrozen(event)] => (&event.instrument, wire::InstrumentState::Frozen),
            [Event::InstrumentUnfrozen(event)] => (&event.instrument, wire::InstrumentState::Active),
            _ => return None,
        };
        Some(Self { instrument: instrument.to_string(), state, position: entry.position.to_string(), at_ms: entry.at_ms })
    }
}

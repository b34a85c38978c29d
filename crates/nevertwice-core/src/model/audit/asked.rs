//! An entry against the command that it answers: nothing else was done, and what guarded it held.

use crate::model::twin::Twin;
use crate::model::{Violation, slow};
use crate::{Action, BookingOwner, Entry, Event, PlaceOrder, ReleaseBooking, Side};

/// Checks that an entry does what was asked, before its events are followed.
pub(super) fn check_asked(twin: &Twin, action: &Action, entry: &Entry) -> Result<(), Violation> {
    let [event] = entry.events.as_slice() else { return Err(Violation::NotWhatWasAsked { what: "number of events" }) };
    let same = |same: bool, what: &'static str| if same { Ok(()) } else { Err(Violation::NotWhatWasAsked { what }) };
    match (action, event) {
        (Action::OpenMarket(asked), Event::MarketOpened(done)) => {
            let terms = asked.decimals == done.decimals && asked.fee_bps == done.fee_bps && asked.retention_ms == done.retention_ms;
            same(terms && asked.limits == done.limits && asked.mode == done.mode, "terms")
        }
        (Action::ListInstrument(asked), Event::InstrumentListed(done)) => {
            same(asked.instrument == done.instrument, "instrument")?;
            same(asked.base == done.base && asked.slope == done.slope, "curve")
        }
        (Action::OpenAccount(asked), Event::AccountOpened(done)) => {
            same(asked.account == done.account && asked.class == done.class, "account")?;
            same(asked.opening_balance == done.opening_balance, "opening balance")
        }
        (Action::PlaceOrder(asked), Event::OrderFilled(done)) => {
            same(asked.account == done.account, "account")?;
            same(asked.instrument == done.instrument, "instrument")?;
            same(asked.side == done.side, "side")?;
            same(asked.quantity == done.quantity, "quantity")?;
            same(limit_holds(twin, asked), "limit price")?;
            same(slippage_holds(twin, asked), "slippage")
        }
        (Action::Reprice(asked), Event::InstrumentRepriced(done)) => {
            same(asked.instrument == done.instrument && asked.base == done.base, "base")
        }
        (Action::Freeze(asked), Event::InstrumentFrozen(done)) => same(asked.instrument == done.instrument, "instrument"),
        (Action::Unfreeze(asked), Event::InstrumentUnfrozen(done)) => same(asked.instrument == done.instrument, "instrument"),
        (Action::SetMode(asked), Event::ModeSet(done)) => same(asked.mode == done.mode, "mode"),
        (Action::SettleInstrument(asked), Event::InstrumentSettled(done)) => {
            same(asked.instrument == done.instrument && asked.price == done.price, "price")
        }
        (Action::PayHolders(asked), Event::HoldersPaid(done)) => {
            same(asked.instrument == done.instrument, "instrument")?;
            same(done.payouts.iter().all(|payout| asked.holders.contains(&payout.account)), "holders")
        }
        (Action::OpenSale(asked), Event::SaleOpened(done)) => {
            let terms = asked.hold_ms == done.hold_ms && asked.opens_at == done.opens_at && asked.closes_at == done.closes_at;
            same(terms && asked.retention_ms == done.retention_ms, "terms")?;
            same(asked.levels == done.levels && asked.total_cap == done.total_cap, "caps")
        }
        (Action::LoadCandidates(asked), Event::CandidatesLoaded(done)) => same(asked.candidates == done.candidates, "candidates"),
        (Action::Admit(asked), Event::CandidateAdmitted(done)) => {
            same(asked.candidate == done.candidate, "candidate")?;
            same(asked.level == done.level, "level")?;
            let Twin::Sale(sale) = twin else { return Ok(()) };
            let email = sale.candidates.get(&asked.candidate).and_then(|fact| fact.email);
            same(email.is_none() || email == asked.email, "e-mail address")
        }
        (Action::BeginPayment(asked), Event::PaymentBegun(done)) => same(asked.booking == done.booking, "booking"),
        (Action::AttachPayment(asked), Event::PaymentAttached(done)) => {
            same(asked.booking == done.booking && asked.payment == done.payment && asked.url == done.url, "payment")
        }
        (Action::ConfirmPayment(asked), Event::PaymentConfirmed(done)) => {
            same(asked.booking == done.booking && asked.payment == done.payment, "payment")
        }
        (Action::ReleaseBooking(asked), Event::BookingReleased(done)) => {
            same(asked.booking == done.booking && asked.reason == done.reason, "booking")?;
            if is_owner(twin, asked) { Ok(()) } else { Err(Violation::NotItsOwner { booking: asked.booking }) }
        }
        (Action::ExpireHolds(asked), Event::HoldsExpired(done)) => {
            same(done.holds.iter().all(|end| asked.bookings.contains(&end.booking)), "bookings")
        }
        (Action::SetSaleOpen(asked), Event::SaleOpenSet(done)) => same(asked.open == done.open, "doors"),
        (Action::SetCaps(asked), Event::CapsSet(done)) => {
            same(asked.levels == done.levels && asked.total_cap.is_none_or(|cap| cap == done.total_cap), "caps")
        }
        _ => Err(Violation::NotWhatWasAsked { what: "event" }),
    }
}

/// Whether the price of the order's last share is within its limit.
pub(super) fn limit_holds(twin: &Twin, asked: &PlaceOrder) -> bool {
    let (Twin::Market(market), Some(limit)) = (twin, asked.limit_price) else { return true };
    let Some(instrument) = market.instruments.get(&asked.instrument) else { return true };
    let last_share = match asked.side {
        Side::Buy => instrument.net.saturating_add(asked.quantity),
        Side::Sell => instrument.net.saturating_sub(asked.quantity).saturating_add(1),
    };
    let last_price = slow::price(instrument.base, instrument.slope, last_share);
    match asked.side {
        Side::Buy => last_price <= i128::from(limit),
        Side::Sell => last_price >= i128::from(limit),
    }
}

/// Whether the order's notional is within the slippage of what was expected.
pub(super) fn slippage_holds(twin: &Twin, asked: &PlaceOrder) -> bool {
    let (Twin::Market(market), Some(price), Some(bps)) = (twin, asked.expected_price, asked.max_slippage_bps) else { return true };
    let Some(instrument) = market.instruments.get(&asked.instrument) else { return true };
    let expected = i128::from(price).saturating_mul(i128::from(asked.quantity));
    let low = match asked.side {
        Side::Buy => instrument.net,
        Side::Sell => instrument.net.saturating_sub(asked.quantity),
    };
    let notional = slow::sum_of_prices(instrument.base, instrument.slope, low, asked.quantity);
    // Against the trader, in ten-thousandths of the unit: what it is worse by, and what it may be worse by.
    let worse = match asked.side {
        Side::Buy => notional.saturating_sub(expected),
        Side::Sell => expected.saturating_sub(notional),
    };
    worse.saturating_mul(10_000) <= expected.saturating_mul(i128::from(bps))
}

/// Whether the command names who owns the booking's seat now.
pub(super) fn is_owner(twin: &Twin, asked: &ReleaseBooking) -> bool {
    let Twin::Sale(sale) = twin else { return false };
    let Some(booking) = sale.bookings.get(&asked.booking) else { return false };
    match (&asked.owner, &booking.payment) {
        (BookingOwner::Intent { principal, key }, None) => booking.principal == *principal && booking.key == *key,
        (BookingOwner::Payment(payment), Some(owner)) => payment == owner,
        _ => false,
    }
}

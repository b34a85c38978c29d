//! Whether a *no* is true: each code says something of the state, and it has to be so.

use super::asked::{is_owner, limit_holds, slippage_holds};
use crate::limits::{AMOUNT_MAX, AT_MS_MAX, BPS, HOLDING_MAX, ISSUANCE_MAX, NOTIONAL_MAX};
use crate::model::slow;
use crate::model::twin::{MarketTwin, SaleTwin, Twin, TwinBooking, TwinInstrument};
use crate::{Action, BookingState, Command, InstrumentState, MarketMode, Name, PlaceOrder, Position, Rejection, Side};

/// Whether what the rejection tells is so, for an intent that is not remembered.
pub(super) fn is_true(twin: &Twin, command: &Command, at_ms: i64, rejection: &Rejection) -> bool {
    match rejection {
        // The auditor remembers the key if anyone does.
        Rejection::FingerprintMismatch { .. } => false,
        Rejection::InstantOutOfRange => !(0..=AT_MS_MAX).contains(&at_ms),
        Rejection::IntentExpired { expires_at } => command.intent.expires_at == Some(*expires_at) && *expires_at <= at_ms,
        Rejection::IntentExpiryTooFar { expires_at_max } => {
            let retention_ms = match (&command.action, twin) {
                (Action::OpenMarket(open), Twin::Unopened) => open.retention_ms,
                (Action::OpenSale(open), Twin::Unopened) => open.retention_ms,
                _ => twin.retention_ms(),
            };
            let end = at_ms.saturating_add(retention_ms);
            *expires_at_max == end && command.intent.expires_at.is_some_and(|expires_at| expires_at > end)
        }
        Rejection::UnknownMarket | Rejection::UnknownSale => matches!(twin, Twin::Unopened),
        Rejection::MarketExists => matches!((twin, &command.action), (Twin::Market(_), Action::OpenMarket(_))),
        Rejection::SaleExists => matches!((twin, &command.action), (Twin::Sale(_), Action::OpenSale(_))),
        // Neither an auditor nor a workload makes enough of anything for these, and the last one is an alarm.
        Rejection::IntentsFull
        | Rejection::AccountsFull
        | Rejection::InstrumentsFull
        | Rejection::CandidatesFull
        | Rejection::BookingsFull
        | Rejection::InvariantBroken { .. } => false,
        Rejection::WrongShardKind => match twin {
            Twin::Unopened => matches!(command.action, Action::OpenMarket(_) | Action::OpenSale(_)),
            Twin::Market(_) => !is_market(&command.action),
            Twin::Sale(_) => is_market(&command.action),
        },
        // What a setting may be is told with it; that it was outside is the command's own matter.
        Rejection::SettingOutOfRange { min, max, .. } => min <= max,
        rejection => match twin {
            Twin::Unopened => false,
            Twin::Market(market) => is_true_of_market(twin, market, &command.action, rejection),
            Twin::Sale(sale) => is_true_of_sale(twin, sale, &command.action, at_ms, rejection),
        },
    }
}

const fn is_market(action: &Action) -> bool {
    matches!(
        action,
        Action::OpenMarket(_)
            | Action::ListInstrument(_)
            | Action::OpenAccount(_)
            | Action::PlaceOrder(_)
            | Action::Reprice(_)
            | Action::Freeze(_)
            | Action::Unfreeze(_)
            | Action::SetMode(_)
            | Action::SettleInstrument(_)
            | Action::PayHolders(_)
    )
}

fn instrument_of(action: &Action) -> Option<&Name> {
    match action {
        Action::ListInstrument(action) => Some(&action.instrument),
        Action::PlaceOrder(action) => Some(&action.instrument),
        Action::Reprice(action) => Some(&action.instrument),
        Action::Freeze(action) => Some(&action.instrument),
        Action::Unfreeze(action) => Some(&action.instrument),
        Action::SettleInstrument(action) => Some(&action.instrument),
        Action::PayHolders(action) => Some(&action.instrument),
        _ => None,
    }
}

fn is_true_of_market(twin: &Twin, market: &MarketTwin, action: &Action, rejection: &Rejection) -> bool {
    let instrument = instrument_of(action).and_then(|name| market.instruments.get(name));
    let state = instrument.map(|instrument| instrument.state);
    match (rejection, action) {
        (Rejection::NoChange, Action::SetMode(asked)) => market.mode == asked.mode,
        (Rejection::NoChange, Action::Freeze(_)) => state == Some(InstrumentState::Frozen),
        (Rejection::NoChange, Action::Unfreeze(_)) => state == Some(InstrumentState::Active),
        (Rejection::NoChange, Action::Reprice(asked)) => instrument.is_some_and(|instrument| instrument.base == asked.base),
        (Rejection::UnknownInstrument, _) => instrument.is_none(),
        (Rejection::InstrumentExists, Action::ListInstrument(_)) => instrument.is_some(),
        (Rejection::InstrumentSettled { price }, _) => {
            instrument.is_some_and(|instrument| instrument.state == InstrumentState::Settled && instrument.settled_price == *price)
        }
        (Rejection::InstrumentNotSettled, Action::PayHolders(_)) => state.is_some_and(|state| state != InstrumentState::Settled),
        (Rejection::AccountExists, Action::OpenAccount(asked)) => market.accounts.contains_key(&asked.account),
        (Rejection::IssuanceExceeded { remaining }, Action::OpenAccount(asked)) => {
            i128::from(*remaining) == i128::from(ISSUANCE_MAX).saturating_add(i128::from(market.issuance))
                && asked.opening_balance > *remaining
        }
        (Rejection::HouseLossExceeded { loss, house_loss_max }, Action::Reprice(_) | Action::SettleInstrument(_)) => {
            *house_loss_max == market.limits.house_loss_max && loss > house_loss_max
        }
        (Rejection::AmountTooLarge, Action::Reprice(_) | Action::SettleInstrument(_)) => true,
        (Rejection::NothingDue, Action::PayHolders(asked)) => !asked
            .holders
            .iter()
            .any(|holder| market.accounts.get(holder).is_some_and(|account| account.holdings.contains_key(&asked.instrument))),
        (rejection, Action::PlaceOrder(asked)) => match (rejection, market.accounts.get(&asked.account), instrument) {
            (Rejection::MarketClosed { mode }, ..) => *mode == market.mode && *mode != MarketMode::Open,
            (Rejection::UnknownAccount, account, _) => account.is_none(),
            (Rejection::InstrumentFrozen, ..) => state == Some(InstrumentState::Frozen),
            (Rejection::QuantityOutOfRange { quantity_max }, ..) => {
                *quantity_max == market.limits.quantity_max && !(1..=*quantity_max).contains(&asked.quantity)
            }
            (Rejection::PriceGuardInvalid, ..) => !guards_fit(asked),
            (rejection, Some(_), Some(instrument)) => is_true_of_order(twin, market, asked, instrument, rejection),
            _ => false,
        },
        _ => false,
    }
}

fn guards_fit(asked: &PlaceOrder) -> bool {
    let prices = [asked.limit_price, asked.expected_price];
    let amounts = prices.iter().flatten().all(|price| (0..=AMOUNT_MAX).contains(price));
    amounts
        && asked.max_slippage_bps.is_none_or(|bps| (0..=BPS).contains(&bps))
        && asked.expected_price.is_some() == asked.max_slippage_bps.is_some()
}

fn is_true_of_order(twin: &Twin, market: &MarketTwin, asked: &PlaceOrder, instrument: &TwinInstrument, rejection: &Rejection) -> bool {
    let Some(account) = market.accounts.get(&asked.account) else { return false };
    let held = account.holdings.get(&asked.instrument).map_or(0, |holding| holding.shares);
    let low = match asked.side {
        Side::Buy => instrument.net,
        Side::Sell => instrument.net.saturating_sub(asked.quantity),
    };
    let notional = slow::sum_of_prices(instrument.base, instrument.slope, low, asked.quantity);
    let total = notional.saturating_add(slow::fee(notional, market.fee_bps));
    let net_after = instrument.net.saturating_add(asked.quantity);
    match rejection {
        Rejection::AmountTooLarge => {
            let top = instrument.net.max(low.saturating_add(asked.quantity));
            notional > i128::from(NOTIONAL_MAX) || slow::price(instrument.base, instrument.slope, top) > i128::from(AMOUNT_MAX)
        }
        Rejection::LimitPriceExceeded { quote } => i128::from(quote.notional) == notional && !limit_holds(twin, asked),
        Rejection::SlippageExceeded { quote } => i128::from(quote.notional) == notional && !slippage_holds(twin, asked),
        Rejection::InsufficientHolding { holding } => asked.side == Side::Sell && *holding == held && held < asked.quantity,
        Rejection::HoldingTooLarge { holding_max } => {
            asked.side == Side::Buy && *holding_max == market.limits.holding_max && net_after > (*holding_max).min(HOLDING_MAX)
        }
        Rejection::InsufficientBalance { balance, required } => {
            asked.side == Side::Buy && *balance == account.balance && i128::from(*required) == total && balance < required
        }
        _ => false,
    }
}

fn booking_of(action: &Action) -> Option<Position> {
    match action {
        Action::BeginPayment(action) => Some(action.booking),
        Action::AttachPayment(action) => Some(action.booking),
        Action::ConfirmPayment(action) => Some(action.booking),
        Action::ReleaseBooking(action) => Some(action.booking),
        _ => None,
    }
}

fn is_true_of_sale(twin: &Twin, sale: &SaleTwin, action: &Action, at_ms: i64, rejection: &Rejection) -> bool {
    let level = |name: &Name| sale.levels.iter().find(|level| level.level == *name);
    let booking = booking_of(action).and_then(|id| sale.bookings.get(&id));
    let in_state = |state: BookingState| booking.is_some_and(|booking| booking.state == state);
    match (rejection, action) {
        (Rejection::NoChange, Action::SetSaleOpen(asked)) => sale.open == asked.open,
        (Rejection::NoChange, Action::AttachPayment(asked)) => booking.is_some_and(|booking| booking.url.as_ref() == Some(&asked.url)),
        (Rejection::NoChange, Action::SetCaps(asked)) => asked.total_cap.is_none_or(|cap| cap == sale.total_cap),
        (Rejection::NothingDue, Action::ExpireHolds(asked)) => {
            let is_due = |booking: &TwinBooking| {
                matches!(booking.state, BookingState::Admitted | BookingState::Paying) && booking.hold_expires_at <= at_ms
            };
            !asked.bookings.iter().any(|id| sale.bookings.get(id).is_some_and(is_due))
        }
        (Rejection::UnknownLevel, Action::Admit(asked)) => level(&asked.level).is_none(),
        (Rejection::UnknownLevel, Action::SetCaps(asked)) => asked.levels.iter().any(|change| level(&change.level).is_none()),
        (Rejection::UnknownLevel, Action::LoadCandidates(asked)) => asked.candidates.iter().any(|fact| {
            let highest = u64::BITS.saturating_sub(fact.levels.leading_zeros());
            highest as usize > sale.levels.len()
        }),
        (Rejection::CapBelowLive { level, live }, Action::SetCaps(asked)) => {
            let cap = match level {
                None => asked.total_cap,
                Some(name) => asked.levels.iter().find(|change| change.level == *name).and_then(|change| change.cap),
            };
            *live == sale.live(level.as_ref()) && cap.is_some_and(|cap| cap < *live)
        }
        (Rejection::UnknownBooking, _) => booking_of(action).is_some() && booking.is_none(),
        (Rejection::AlreadyPaid, _) => in_state(BookingState::Paid),
        (Rejection::AlreadyReleased, _) => in_state(BookingState::Released),
        (Rejection::BookingNotPayable { state }, _) => in_state(*state),
        (Rejection::HoldExpired { hold_expires_at }, Action::BeginPayment(_)) => {
            *hold_expires_at <= at_ms && booking.is_some_and(|booking| booking.hold_expires_at == *hold_expires_at)
        }
        (Rejection::NotOwner, Action::ReleaseBooking(asked)) => !is_owner(twin, asked),
        (Rejection::NotOwner, Action::AttachPayment(asked)) => {
            booking.is_some_and(|booking| booking.payment.as_ref() != Some(&asked.payment))
        }
        (Rejection::NotOwner, Action::ConfirmPayment(asked)) => {
            booking.is_some_and(|booking| booking.payment.as_ref() != Some(&asked.payment))
        }
        (Rejection::AlreadyBooked { booking }, Action::Admit(asked)) => {
            let live = sale.live_booking_of(&asked.candidate);
            live.is_some_and(|(id, live)| id == booking.booking && live.payment == booking.payment && live.url == booking.url)
        }
        (Rejection::SaleClosed, Action::Admit(_)) => !sale.open,
        (Rejection::SaleNotStarted { opens_at }, Action::Admit(_)) => *opens_at == sale.opens_at && at_ms < *opens_at,
        (Rejection::SaleEnded { closed_at }, Action::Admit(_)) => *closed_at == sale.closes_at && at_ms >= *closed_at,
        (Rejection::UnknownCandidate, Action::Admit(asked)) => !sale.candidates.contains_key(&asked.candidate),
        (Rejection::EmailMismatch, Action::Admit(asked)) => {
            let email = sale.candidates.get(&asked.candidate).and_then(|fact| fact.email);
            email.is_some() && email != asked.email
        }
        (Rejection::LevelNotAllowed, Action::Admit(asked)) => {
            let number = sale.levels.iter().zip(0_u32..).find(|(level, _)| level.level == asked.level).map(|(_, number)| number);
            let allowed = sale.candidates.get(&asked.candidate).map_or(0, |fact| fact.levels);
            number.is_some_and(|number| allowed.checked_shr(number).unwrap_or(0) % 2 == 0)
        }
        (Rejection::LevelFull { cap }, Action::Admit(asked)) => {
            level(&asked.level).is_some_and(|level| level.cap == Some(*cap)) && sale.live(Some(&asked.level)) >= *cap
        }
        (Rejection::SaleFull { cap }, Action::Admit(_)) => *cap == sale.total_cap && sale.live(None) >= *cap,
        _ => false,
    }
}

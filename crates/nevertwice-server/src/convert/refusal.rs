//! What the core's rejections say to people: what was wrong, that nothing was done, and what to do.

use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::{Action, Position, Rejection};

use super::quote;
use crate::refusal::Refusal;

/// A rejection as the wire shows it, with the figures of this time.
pub(crate) fn refuse(rejection: &Rejection, position: Position) -> Refusal {
    let (wrong, next) = describe(rejection);
    let refusal = figures(Refusal::new(ErrorCode::from(rejection), wrong, next), rejection);
    // A shard without an entry has no history, and so no position in it.
    if position.seq == 0 { refusal } else { refusal.at(position) }
}

/// What to do next where a figure of the command would be too large; none if the usual advice fits, to ask for fewer shares.
pub(crate) const fn smaller(action: &Action) -> Option<&'static str> {
    match action {
        Action::Reprice(_) => Some("Choose a smaller base"),
        Action::SettleInstrument(_) => Some("Choose a smaller price"),
        _ => None,
    }
}

fn figures(refusal: Refusal, rejection: &Rejection) -> Refusal {
    match rejection {
        Rejection::FingerprintMismatch { position } => refusal.figure("position", position.to_string()),
        Rejection::IntentExpired { expires_at } => refusal.figure("expires_at", expires_at),
        Rejection::IntentExpiryTooFar { expires_at_max } => refusal.figure("expires_at_max", expires_at_max),
        Rejection::SettingOutOfRange { setting, min, max } => refusal.figure("setting", setting).figure("min", min).figure("max", max),
        Rejection::MarketClosed { mode } => refusal.figure("mode", wire::MarketMode::from(*mode)),
        Rejection::IssuanceExceeded { remaining } => refusal.figure("remaining", remaining),
        Rejection::InstrumentSettled { price } => refusal.figure("price", price),
        Rejection::QuantityOutOfRange { quantity_max } => refusal.figure("quantity_max", quantity_max),
        Rejection::LimitPriceExceeded { quote: fresh } | Rejection::SlippageExceeded { quote: fresh } => {
            refusal.figure("quote", quote(fresh))
        }
        Rejection::InsufficientHolding { holding } => refusal.figure("holding", holding),
        Rejection::HoldingTooLarge { holding_max } => refusal.figure("holding_max", holding_max),
        Rejection::InsufficientBalance { balance, required } => refusal.figure("balance", balance).figure("required", required),
        Rejection::HouseLossExceeded { loss, house_loss_max } => refusal.figure("loss", loss).figure("house_loss_max", house_loss_max),
        Rejection::AlreadyBooked { booking } => refusal.figure("booking", wire::Booking::from(booking.as_ref())),
        Rejection::SaleNotStarted { opens_at } => refusal.figure("opens_at", opens_at),
        Rejection::SaleEnded { closed_at } => refusal.figure("closed_at", closed_at),
        Rejection::LevelFull { cap } | Rejection::SaleFull { cap } => refusal.figure("cap", cap),
        Rejection::CapBelowLive { level, live } => match level {
            Some(level) => refusal.figure("level", level.as_str()).figure("live", live),
            None => refusal.figure("live", live),
        },
        Rejection::HoldExpired { hold_expires_at } => refusal.figure("hold_expires_at", hold_expires_at),
        Rejection::BookingNotPayable { state } => refusal.figure("state", wire::BookingState::from(*state)),
        Rejection::InvariantBroken { what } => refusal.figure("what", what),
        _ => refusal,
    }
}

/// What was wrong, and what to do next; sentences without their full stop.
fn describe(rejection: &Rejection) -> (String, &'static str) {
    use Rejection as R;
    let (wrong, next) = match rejection {
        R::FingerprintMismatch { position } => {
            return (
                format!("The key was used for something else, which happened at position {position}"),
                "Draw a new key for what you mean now, or send again exactly what you sent first",
            );
        }
        R::IntentExpired { .. } => (
            "The intent's time has run out, and nothing is known of its key",
            "It never happened and never will; to mean it again, draw a new key",
        ),
        R::IntentExpiryTooFar { .. } => {
            ("The intent would outlive the memory of its key", "Send an earlier Idempotency-Expires, at most `expires_at_max`, or none")
        }
        R::IntentsFull => ("The shard remembers as many intents as it may", "Ask again with the same key once some have ended"),
        R::InstantOutOfRange => {
            ("The server's clock shows an instant outside the range that it accepts", "Tell the operator to set the clock")
        }
        R::UnknownMarket => ("There is no such market", "Check its name, or open it first"),
        R::MarketExists => ("A market of that name is open already", "Use it, or choose another name"),
        R::UnknownSale => ("There is no such sale", "Check its name, or open it first"),
        R::SaleExists => ("A sale of that name exists already", "Use it, or choose another name"),
        R::WrongShardKind => {
            ("The command belongs to the other kind of shard", "Send it to a market if it is about trade, to a sale if it is about seats")
        }
        R::SettingOutOfRange { setting, min, max } => {
            return (format!("`{setting}` must be from {min} to {max}"), "Correct it, and send the request again");
        }
        R::NoChange => ("It is so already", "There is nothing to do"),
        R::MarketClosed { .. } => {
            ("The market's mode does not allow this order", "Wait until the mode allows it; in `reduce_only` you can sell")
        }
        R::UnknownAccount => ("There is no such account", "Check its name; accounts exist only once they were opened"),
        R::AccountExists => ("An account of that name is open already", "Use it, or choose another name"),
        R::AccountsFull => ("The market has as many accounts as it may", "Open another market"),
        R::IssuanceExceeded { remaining } => {
            return (format!("More would be issued than a market may issue; {remaining} remain"), "Open the account with less");
        }
        R::UnknownInstrument => ("There is no such instrument", "Check its name, or list it first"),
        R::InstrumentExists => ("An instrument of that name is listed already", "Use it, or choose another name"),
        R::InstrumentsFull => ("The market has as many instruments as it may", "Open another market"),
        R::InstrumentSettled { price } => {
            return (
                format!("The instrument is settled at {price} and does not trade any more"),
                "Its holders are paid by the server itself",
            );
        }
        R::InstrumentFrozen => ("The instrument is frozen", "Wait until it trades again"),
        R::InstrumentNotSettled => ("The instrument is not settled, so nobody is paid", "Settle it first"),
        R::QuantityOutOfRange { quantity_max } => {
            return (format!("The quantity is not a whole number from 1 to {quantity_max}"), "Correct it, or split the order");
        }
        R::PriceGuardInvalid => (
            "A price guard is out of range, or one of `expected_price` and `max_slippage_bps` came without the other",
            "Send both or neither; prices are from 0 to 9007199254740991, slippage from 0 to 10000 basis points",
        ),
        R::AmountTooLarge => ("A figure would be larger than an amount can be", "Ask for fewer shares"),
        R::LimitPriceExceeded { .. } => (
            "The price of the last share is beyond the limit",
            "The fresh `quote` says what it would be now; move the limit, or ask for fewer shares",
        ),
        R::SlippageExceeded { .. } => (
            "The notional is further from the expected price than the slippage allows",
            "The fresh `quote` says what it would be now; order again at it if it suits you",
        ),
        R::InsufficientHolding { holding } => {
            return (format!("The account holds {holding} shares and would sell more"), "Sell what it holds, or less");
        }
        R::HoldingTooLarge { holding_max } => {
            return (format!("More than {holding_max} shares would be held"), "Ask for fewer shares");
        }
        R::InsufficientBalance { balance, required } => {
            return (format!("The order moves {required} and the account has {balance}"), "Ask for fewer shares");
        }
        R::HouseLossExceeded { loss, house_loss_max } => {
            return (
                format!("It could cost the house {loss}, and the house may lose {house_loss_max}"),
                "Choose a price nearer to the present one, or move there in steps while holders sell",
            );
        }
        R::NothingDue => ("None of those named is due", "There is nothing to do"),
        R::AlreadyBooked { booking } => {
            return (
                format!("The candidate has seat {} already, booked with another key", booking.seat),
                "Go on with the booking that exists: it stands in `figures.booking`, with its payment",
            );
        }
        R::SaleClosed => ("The sale's doors are closed", "Wait until they are opened"),
        R::SaleNotStarted { .. } => ("The sale's window has not begun", "Come back at `opens_at`"),
        R::SaleEnded { .. } => ("The sale's window is over", "It can't be booked any more"),
        R::UnknownCandidate => ("The candidate is not on the list", "Check the code for typing mistakes"),
        R::EmailMismatch => ("The e-mail address is not the one on the list", "Send the address to which the code was sent"),
        R::CandidatesFull => ("The sale has as many candidates as it may", "Open another sale"),
        R::UnknownLevel => ("The sale has no such level", "Choose one of the sale's levels"),
        R::LevelNotAllowed => ("The candidate may not book that level", "Choose another level"),
        R::LevelFull { .. } => ("The level has no seat left", "Choose another level, or come back: a seat that is not paid is given back"),
        R::SaleFull { .. } => ("The sale has no seat left", "Come back: a seat that is not paid is given back"),
        R::BookingsFull => ("The sale remembers as many bookings as it may", "Tell the operator"),
        R::CapBelowLive { level, live } => {
            let what = level.as_ref().map_or_else(|| "the sale".to_owned(), |level| format!("level `{level}`"));
            return (format!("{what} has {live} live bookings, more than the new cap"), "Choose a cap of at least that many");
        }
        R::UnknownBooking => ("There is no such booking", "Take its id from the answer to the booking"),
        R::NotOwner => (
            "The booking belongs to another payment or intent",
            "Name the payment that the booking shows, or, while it shows none, the key that booked",
        ),
        R::HoldExpired { .. } => ("The hold's time is over, so no payment may begin", "Book again with a new key"),
        R::BookingNotPayable { state } => {
            return (format!("The booking is {}, which does not allow it", state.word()), "Look at the booking's present state");
        }
        R::AlreadyPaid => ("The booking is paid", "There is nothing to do; a paid seat is not released"),
        R::AlreadyReleased => {
            ("The booking is released", "If it was paid all the same, the money has to be given back; to book again, draw a new key")
        }
        R::InvariantBroken { .. } => ("A counter would have fallen below zero", "Tell the operator: somebody has to look"),
    };
    (wrong.to_owned(), next)
}

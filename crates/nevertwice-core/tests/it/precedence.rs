//! The order of checks: of two that would refuse, the one that is declared first answers.

use nevertwice_core::limits::{AMOUNT_MAX, NOTIONAL_MAX};
use nevertwice_core::*;

use crate::support::{RETENTION_MS, START_MS, Shard, candidate, intent, limits, name, order};

/// The command is answered by `first`, is one that `second` would refuse too, and `first` is declared before `second`.
fn check(shard: &mut Shard, first: &str, second: &str, action: impl Into<Action>) {
    let answered = shard.refuse(action).code();
    assert_eq!(answered, first, "{first} comes before {second}");
    let place = |code: &str| Rejection::CODES.iter().position(|known| *known == code).expect("a known code");
    assert!(place(first) < place(second), "{first} is declared before {second}");
}

/// `i` has a price of 105, 95 of 100 shares sold; `dear` costs a whole notional; `frozen` and `settled` are that.
fn market() -> Shard {
    let mut market = Shard::market(0, limits(200, 100, 0));
    for (instrument, base, slope) in [("i", 10, 1), ("dear", NOTIONAL_MAX, 0), ("frozen", 10, 1), ("settled", 10, 1)] {
        market.list(instrument, base, slope);
    }
    market.open("rich", 1_000_000);
    market.open("poor", 1);
    market.accept(order("rich", Side::Buy, "i", 95));
    market.accept(Freeze { instrument: name("frozen") });
    market.accept(SettleInstrument { instrument: name("settled"), price: 0 });
    market
}

#[test]
fn checks_of_an_order_come_in_the_declared_order() {
    let mut market = market();
    let buy = |instrument, quantity| order("poor", Side::Buy, instrument, quantity);
    let wrong_guard = PlaceOrder { limit_price: Some(-1), ..buy("i", 201) };
    let slipped = |order: PlaceOrder| PlaceOrder { expected_price: Some(0), max_slippage_bps: Some(0), ..order };
    let limited = |order: PlaceOrder| PlaceOrder { limit_price: Some(0), ..order };

    check(&mut market, "unknown_account", "unknown_instrument", order("nobody", Side::Buy, "none", 1));
    check(&mut market, "unknown_instrument", "quantity_out_of_range", buy("none", 0));
    check(&mut market, "instrument_frozen", "quantity_out_of_range", buy("frozen", 0));
    check(&mut market, "instrument_settled", "quantity_out_of_range", buy("settled", 0));
    check(&mut market, "quantity_out_of_range", "price_guard_invalid", wrong_guard.clone());
    check(&mut market, "price_guard_invalid", "amount_too_large", PlaceOrder { limit_price: Some(AMOUNT_MAX + 1), ..buy("dear", 2) });
    check(&mut market, "amount_too_large", "limit_price_exceeded", limited(buy("dear", 2)));
    check(&mut market, "limit_price_exceeded", "slippage_exceeded", slipped(limited(buy("i", 1))));
    check(&mut market, "slippage_exceeded", "holding_too_large", slipped(buy("i", 6)));
    check(&mut market, "holding_too_large", "insufficient_balance", buy("i", 6));

    let sell = |quantity| order("poor", Side::Sell, "i", quantity);
    check(&mut market, "limit_price_exceeded", "insufficient_holding", PlaceOrder { limit_price: Some(AMOUNT_MAX), ..sell(1) });
    let slipped = PlaceOrder { expected_price: Some(AMOUNT_MAX), max_slippage_bps: Some(0), ..sell(1) };
    check(&mut market, "slippage_exceeded", "insufficient_holding", slipped);

    market.accept(SetMode { mode: MarketMode::Halted });
    check(&mut market, "market_closed", "unknown_account", order("nobody", Side::Buy, "i", 1));
    check(&mut market, "market_closed", "instrument_frozen", buy("frozen", 1));
    check(&mut market, "market_closed", "quantity_out_of_range", wrong_guard);
}

#[test]
fn limit_and_slippage_are_checked_before_the_holding() {
    let mut market = market();
    let beyond = PlaceOrder { limit_price: Some(100), ..order("rich", Side::Buy, "i", 6) };
    let refused = market.refuse(beyond);
    let Rejection::LimitPriceExceeded { quote } = refused else { panic!("{refused:?}") };
    assert_eq!(quote.net_after, 101);
    // Within its limit the order still takes the net too far, and no such quote is given.
    assert_eq!(market.refuse(order("rich", Side::Buy, "i", 6)), Rejection::HoldingTooLarge { holding_max: 100 });
    let quote = Query::Quote { instrument: name("i"), side: Side::Buy, quantity: 6 };
    assert_eq!(market.state.read(&quote), Err(Rejection::HoldingTooLarge { holding_max: 100 }));
}

#[test]
fn the_intent_is_looked_at_before_everything_else() {
    let mut market = market();
    let place = order("poor", Side::Buy, "none", 0);
    let mut command = Command::new(intent("late", 1), place.clone());
    command.intent.expires_at = Some(market.at_ms);
    assert_eq!(market.send(&command), Decision::Rejected(Rejection::IntentExpired { expires_at: market.at_ms }));
    command.intent.expires_at = Some(market.at_ms + RETENTION_MS + 1);
    let expires_at_max = market.at_ms + RETENTION_MS;
    assert_eq!(market.send(&command), Decision::Rejected(Rejection::IntentExpiryTooFar { expires_at_max }));

    let mut used = Command::new(intent("used", 2), SetMode { mode: MarketMode::Halted });
    let Decision::Accepted(entry) = market.send(&used) else { panic!("it is a change") };
    used.intent.fingerprint = [9; 32];
    used.intent.expires_at = Some(0);
    assert_eq!(market.send(&used), Decision::Rejected(Rejection::FingerprintMismatch { position: entry.position }));
}

#[test]
fn a_wrong_clock_is_told_before_an_intents_end() {
    let mut market = market();
    let mut command = Command::new(intent("late", 1), SetMode { mode: MarketMode::Halted });
    command.intent.expires_at = Some(market.at_ms + 1);
    market.at_ms = nevertwice_core::limits::AT_MS_MAX + 1;
    assert_eq!(market.send(&command), Decision::Rejected(Rejection::InstantOutOfRange));
    market.at_ms = START_MS;
    // A clock that runs behind, even below zero, is answered at the shard's own time.
    command.intent.expires_at = Some(START_MS + 1);
    market.at_ms = i64::MIN;
    assert!(matches!(market.send(&command), Decision::Accepted(entry) if entry.at_ms == START_MS));
}

#[test]
fn settings_are_checked_before_what_they_are_for() {
    let mut market = market();
    check(&mut market, "setting_out_of_range", "instrument_exists", ListInstrument { instrument: name("i"), base: 0, slope: 0 });
    let class = AccountClass::Player;
    check(&mut market, "setting_out_of_range", "account_exists", OpenAccount { account: name("rich"), class, opening_balance: -1 });
    check(&mut market, "setting_out_of_range", "unknown_instrument", Reprice { instrument: name("none"), base: -1 });
    check(&mut market, "setting_out_of_range", "instrument_settled", Reprice { instrument: name("settled"), base: AMOUNT_MAX + 1 });
    check(&mut market, "setting_out_of_range", "instrument_settled", SettleInstrument { instrument: name("settled"), price: -1 });
    check(&mut market, "setting_out_of_range", "unknown_instrument", PayHolders { instrument: name("none"), holders: vec![] });
    check(&mut market, "instrument_settled", "no_change", Reprice { instrument: name("settled"), base: 10 });
    check(&mut market, "instrument_not_settled", "nothing_due", PayHolders { instrument: name("i"), holders: vec![name("poor")] });
}

#[test]
fn checks_of_an_admission_come_in_the_declared_order() {
    let mut sale = Shard::sale();
    let admit = |id, level: &str| Admit { candidate: candidate(id), email: None, level: name(level) };
    let fact = |id, email, levels| CandidateFact { candidate: candidate(id), email, levels };
    sale.accept(LoadCandidates { candidates: vec![fact(30, Some([1; 32]), 0b001), fact(31, None, 0b010)] });

    check(&mut sale, "unknown_candidate", "unknown_level", admit(99, "nowhere"));
    check(&mut sale, "email_mismatch", "unknown_level", admit(30, "nowhere"));
    check(&mut sale, "email_mismatch", "level_not_allowed", admit(30, "b"));
    sale.admit(1, "a");
    sale.admit(2, "a");
    check(&mut sale, "already_booked", "level_full", admit(1, "a"));
    check(&mut sale, "already_booked", "unknown_level", admit(1, "nowhere"));
    check(&mut sale, "level_not_allowed", "level_full", admit(31, "a"));
    for id in 3..=5 {
        sale.admit(id, "b");
    }
    check(&mut sale, "level_full", "sale_full", admit(6, "a"));
    check(&mut sale, "level_full", "sale_full", admit(6, "none"));
    assert_eq!(sale.refuse(admit(6, "b")), Rejection::SaleFull { cap: 5 });

    sale.at_ms = START_MS + 100_000;
    check(&mut sale, "sale_ended", "unknown_candidate", admit(99, "a"));
    sale.accept(SetSaleOpen { open: false });
    check(&mut sale, "sale_closed", "sale_ended", admit(6, "b"));
    check(&mut sale, "already_booked", "sale_closed", admit(1, "a"));
}

#[test]
fn closed_doors_come_before_the_window() {
    let mut sale = Shard::new(ShardId::sale(name("s")));
    sale.accept(OpenSale {
        levels: vec![LevelCap { level: name("a"), cap: None }],
        total_cap: 1,
        hold_ms: 1,
        opens_at: START_MS + 10,
        closes_at: START_MS + 20,
        retention_ms: RETENTION_MS,
    });
    let admit = || Admit { candidate: candidate(99), email: None, level: name("a") };
    check(&mut sale, "sale_closed", "sale_not_started", admit());
    sale.accept(SetSaleOpen { open: true });
    check(&mut sale, "sale_not_started", "unknown_candidate", admit());
}

#[test]
fn the_owner_is_checked_before_the_booking_s_state() {
    let mut sale = Shard::sale();
    let shard = sale.state.shard().clone();
    let booking = sale.admit(1, "a").position;
    let payment = PaymentId::of(&shard, booking).expect("a payment id");
    let stranger = PaymentId::new("stranger").expect("a payment id");
    let attach = |payment: &PaymentId| AttachPayment {
        booking,
        payment: payment.clone(),
        url: PaymentUrl::new("https://pay.example/1").expect("a url"),
    };
    check(&mut sale, "not_owner", "booking_not_payable", attach(&payment));
    sale.accept(BeginPayment { booking });
    sale.accept(ConfirmPayment { booking, payment: payment.clone() });
    check(&mut sale, "not_owner", "already_paid", attach(&stranger));
    check(&mut sale, "not_owner", "already_paid", ConfirmPayment { booking, payment: stranger.clone() });
    assert_eq!(sale.refuse(attach(&payment)), Rejection::AlreadyPaid);
    sale.at_ms += 1_000_000;
    check(&mut sale, "already_paid", "hold_expired", BeginPayment { booking });
}

#[test]
fn caps_are_checked_as_a_whole() {
    let mut sale = Shard::sale();
    sale.admit(1, "a");
    let caps = |levels: &[(&str, i64)]| SetCaps {
        levels: levels.iter().map(|(level, cap)| LevelCap { level: name(level), cap: Some(*cap) }).collect(),
        total_cap: None,
    };
    check(&mut sale, "unknown_level", "cap_below_live", caps(&[("a", 0), ("nowhere", 1)]));
    check(&mut sale, "setting_out_of_range", "unknown_level", caps(&[("nowhere", 1), ("a", -1)]));
    // A level named twice would be checked against one cap and set to another.
    check(&mut sale, "setting_out_of_range", "no_change", caps(&[("a", 7), ("a", 2)]));
    assert_eq!(sale.refuse(caps(&[("a", 0)])), Rejection::CapBelowLive { level: Some(name("a")), live: 1 });
    assert_eq!(sale.refuse(SetCaps { levels: vec![], total_cap: Some(0) }), Rejection::CapBelowLive { level: None, live: 1 });
    sale.accept(caps(&[("a", 1)]));
    assert_eq!(sale.refuse(caps(&[("a", 1)])), Rejection::NoChange);
}

#[test]
fn a_shard_that_is_not_open_says_so() {
    let mut market = Shard::new(ShardId::market(name("m")));
    assert_eq!(market.refuse(SetMode { mode: MarketMode::Halted }), Rejection::UnknownMarket);
    assert_eq!(market.refuse(SetSaleOpen { open: true }), Rejection::UnknownMarket);
    let sale = OpenSale { levels: vec![], total_cap: 0, hold_ms: 1, opens_at: 0, closes_at: 0, retention_ms: RETENTION_MS };
    assert_eq!(market.refuse(sale.clone()), Rejection::WrongShardKind);
    let mut other = Shard::new(ShardId::sale(name("s")));
    assert_eq!(other.refuse(SetSaleOpen { open: true }), Rejection::UnknownSale);
    let refused = other.refuse(sale);
    assert!(matches!(refused, Rejection::SettingOutOfRange { setting: "levels", .. }), "{refused:?}");
}

#[test]
fn codes_are_unique_and_all_of_a_kind() {
    let mut codes = Rejection::CODES.to_vec();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Rejection::CODES.len());
    assert!(codes.iter().all(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
}

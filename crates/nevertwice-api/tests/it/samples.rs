//! One of every event and record, with fixed figures: what the fixtures were made of.

use nevertwice_core::{
    AccountClass, AccountOpened, AccountRecord, BookingRecord, BookingReleased, BookingState, CandidateAdmitted, CandidateFact,
    CandidateId, CandidateRecord, CandidatesLoaded, CapsSet, Entry, Event, HoldEnd, HoldersPaid, HoldingRecord, HoldsExpired,
    IdempotencyKey, InstrumentFrozen, InstrumentListed, InstrumentRecord, InstrumentRepriced, InstrumentSettled, InstrumentState,
    InstrumentUnfrozen, Intent, IntentRecord, LevelCap, LevelRecord, MarketLimits, MarketMode, MarketOpened, MarketRecord, ModeSet, Name,
    OrderFilled, PaymentAttached, PaymentBegun, PaymentConfirmed, PaymentId, PaymentUrl, Payout, Position, Principal, Record,
    ReleaseReason, SaleOpenSet, SaleOpened, SaleRecord, ShardId, ShardRecord, Side,
};

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a sample's name is one")
}

fn position(epoch: u32, seq: u64) -> Position {
    Position { epoch, seq }
}

fn payment() -> PaymentId {
    PaymentId::new("final.2-7").expect("a sample's payment id is one")
}

fn url() -> PaymentUrl {
    PaymentUrl::new("https://pay.example/s/final.2-7").expect("a sample's URL is one")
}

fn limits() -> MarketLimits {
    MarketLimits { quantity_max: 1_000, holding_max: 94_906_265, house_loss_max: 5_000_000 }
}

pub(crate) fn intent() -> Intent {
    Intent {
        principal: Principal::new("user-17").expect("a sample's principal is one"),
        key: IdempotencyKey::new("8e03978e-40d5-43e8-bc93-6894a57f9324").expect("a sample's key is one"),
        fingerprint: core::array::from_fn(|at| at as u8),
        expires_at: Some(1_784_000_060_000),
    }
}

pub(crate) fn filled() -> OrderFilled {
    OrderFilled {
        account: name("alice"),
        instrument: name("ARG-10"),
        side: Side::Buy,
        quantity: 3,
        notional: 30_603,
        fee: 154,
        price_before: 10_200,
        price_after: 10_203,
        net: 103,
        balance: 969_243,
        holding: 3,
        cost: 30_757,
        marked_profit: -148,
        marked_score: -148,
    }
}

pub(crate) fn events() -> Vec<Event> {
    let candidate = CandidateId(core::array::from_fn(|at| 255 - at as u8));
    vec![
        Event::MarketOpened(MarketOpened { decimals: 2, fee_bps: 50, limits: limits(), mode: MarketMode::Open, retention_ms: 86_400_000 }),
        Event::InstrumentListed(InstrumentListed { instrument: name("ARG-10"), base: 10_000, slope: 2 }),
        Event::AccountOpened(AccountOpened { account: name("alice"), class: AccountClass::Player, opening_balance: 1_000_000 }),
        Event::OrderFilled(filled()),
        Event::InstrumentRepriced(InstrumentRepriced {
            instrument: name("ARG-10"),
            base_before: 10_000,
            base: 10_500,
            price_before: 10_206,
            price_after: 10_706,
            house_loss: 51_500,
        }),
        Event::InstrumentFrozen(InstrumentFrozen { instrument: name("ARG-10") }),
        Event::InstrumentUnfrozen(InstrumentUnfrozen { instrument: name("ARG-10") }),
        Event::ModeSet(ModeSet { mode_before: MarketMode::Open, mode: MarketMode::ReduceOnly }),
        Event::InstrumentSettled(InstrumentSettled { instrument: name("ARG-10"), price: 12_000, net: 103, house_loss: -7 }),
        Event::HoldersPaid(HoldersPaid {
            instrument: name("ARG-10"),
            payouts: vec![Payout { account: name("alice"), shares: 3, amount: 36_000, balance: 1_005_243, marked_score: 0 }],
            net: 100,
        }),
        Event::SaleOpened(SaleOpened {
            levels: vec![LevelCap { level: name("north"), cap: Some(2) }, LevelCap { level: name("south"), cap: None }],
            total_cap: 20_700,
            hold_ms: 600_000,
            opens_at: 1_784_000_000_000,
            closes_at: 1_784_003_600_000,
            retention_ms: 86_400_000,
        }),
        Event::CandidatesLoaded(CandidatesLoaded {
            candidates: vec![
                CandidateFact { candidate, email: Some([7; 32]), levels: 3 },
                CandidateFact { candidate: CandidateId([1; 32]), email: None, levels: 1 },
            ],
        }),
        Event::CandidateAdmitted(CandidateAdmitted {
            candidate,
            level: name("north"),
            seat: 1,
            hold_expires_at: 1_784_000_600_000,
            level_live: 1,
            live: 1,
        }),
        Event::PaymentBegun(PaymentBegun { booking: position(2, 7), payment: payment() }),
        Event::PaymentAttached(PaymentAttached { booking: position(2, 7), payment: payment(), url: url() }),
        Event::PaymentConfirmed(PaymentConfirmed { booking: position(2, 7), payment: payment() }),
        Event::BookingReleased(BookingReleased { booking: position(2, 7), seat: 1, reason: ReleaseReason::Cancelled }),
        Event::HoldsExpired(HoldsExpired {
            holds: vec![
                HoldEnd { booking: position(2, 7), seat: 1, state: BookingState::Released },
                HoldEnd { booking: position(2, 9), seat: 2, state: BookingState::Closing },
            ],
        }),
        Event::SaleOpenSet(SaleOpenSet { open: true }),
        Event::CapsSet(CapsSet { levels: vec![LevelCap { level: name("south"), cap: Some(0) }], total_cap: 10 }),
    ]
}

pub(crate) fn entries() -> Vec<Entry> {
    events()
        .into_iter()
        .zip(1..)
        .map(|(event, seq)| Entry {
            shard: if matches!(&event, Event::SaleOpened(_)) || seq > 10 {
                ShardId::sale(name("final"))
            } else {
                ShardId::market(name("wc"))
            },
            position: position(2, seq),
            at_ms: 1_784_000_000_123,
            intent: intent(),
            events: vec![event],
        })
        .collect()
}

pub(crate) fn records() -> Vec<Record> {
    let candidate = CandidateId([9; 32]);
    vec![
        Record::Shard(ShardRecord {
            shard: ShardId::market(name("wc")),
            position: position(2, 17),
            at_ms: 1_784_000_000_123,
            retention_ms: 86_400_000,
            adoptions: vec![position(1, 1), position(2, 9)],
        }),
        Record::Market(MarketRecord {
            decimals: 2,
            fee_bps: 50,
            limits: limits(),
            mode: MarketMode::Halted,
            fees: 154,
            issuance: -1_000_000,
            house_loss: -7,
        }),
        Record::Instrument(InstrumentRecord {
            instrument: name("ARG-10"),
            listed: 0,
            base: 10_000,
            slope: 2,
            state: InstrumentState::Settled,
            settled_price: 12_000,
            net: 103,
            cash: 1_040_712,
        }),
        Record::Account(AccountRecord { account: name("alice"), class: AccountClass::Bot, balance: 969_243, marked_score: -148 }),
        Record::Holding(HoldingRecord { account: name("alice"), instrument: name("ARG-10"), shares: 3, cost: 30_757, marked_profit: -148 }),
        Record::Sale(SaleRecord {
            open: true,
            opens_at: 1_784_000_000_000,
            closes_at: 1_784_003_600_000,
            hold_ms: 600_000,
            total_cap: 20_700,
            live: 1,
            seats: 2,
        }),
        Record::Level(LevelRecord { level: name("north"), number: 0, cap: None, live: 1 }),
        Record::Candidate(CandidateRecord { candidate, email: None, levels: 1 }),
        Record::Booking(BookingRecord {
            booking: position(2, 7),
            candidate,
            level: name("north"),
            seat: 2,
            state: BookingState::Paying,
            principal: intent().principal,
            key: intent().key,
            hold_expires_at: 1_784_000_600_000,
            payment: Some(payment()),
            url: Some(url()),
        }),
        Record::Intent(IntentRecord {
            intent: intent(),
            position: position(2, 4),
            at_ms: 1_784_000_000_123,
            events: vec![Event::OrderFilled(filled())],
        }),
    ]
}

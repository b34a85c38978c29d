//! One of every event and record, with fixed figures: what the fixtures were made of.

use nevertwice_core::{
    AccountClass, AccountOpened, AccountRecord, Before, BookingBefore, BookingRecord, BookingReleased, BookingState, CallerName,
    CallerRole, CandidateAdmitted, CandidateFact, CandidateId, CandidateRecord, CandidatesBefore, CandidatesLoaded, CapsBefore, CapsSet,
    Entry, Event, HoldEnd, HoldersPaid, HoldingRecord, HoldsExpired, IdempotencyKey, InstrumentBefore, InstrumentFrozen, InstrumentListed,
    InstrumentRecord, InstrumentRepriced, InstrumentSettled, InstrumentState, InstrumentUnfrozen, Intent, IntentRecord, KnownCandidate,
    LevelCap, LevelRecord, MarketLimits, MarketMode, MarketOpened, MarketRecord, ModeSet, Name, OrderFilled, Origin, PaymentAttached,
    PaymentBegun, PaymentConfirmed, PaymentId, PaymentUrl, Payout, PeerAddress, Position, Principal, Record, ReleaseReason, SaleOpenSet,
    SaleOpened, SaleRecord, ShardId, ShardRecord, Side, TraceContext,
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
            origin: None,
            before: None,
        })
        .collect()
}

fn trace() -> TraceContext {
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().expect("a sample's trace is one")
}

fn caller(text: &str) -> CallerName {
    CallerName::new(text).expect("a sample's caller is one")
}

/// Entries that tell where they came from: each kind of what a command finds, and each member there and absent.
pub(crate) fn entries_with_origin() -> Vec<Entry> {
    let by_operator = Origin {
        caller: caller("night-shift"),
        role: CallerRole::Operator,
        address: Some(PeerAddress::new("[2001:db8::7]:50123").expect("a sample's address is one")),
        trace: Some(trace()),
    };
    let untraced = Origin { trace: None, ..by_operator.clone() };
    let by_service = Origin { caller: caller("shop"), role: CallerRole::Service, address: None, trace: Some(trace()) };
    let by_itself = Origin { caller: caller("sub:user-17"), role: CallerRole::Principal, ..by_service.clone() };
    let booking = |state| Some(Before::Booking(BookingBefore { state }));
    let instrument = |state, base, price, house_loss| Some(Before::Instrument(InstrumentBefore { state, base, price, house_loss }));
    // By the number of the event among the samples.
    let told = [
        (8, untraced.clone(), None),
        (4, by_service, None),
        (5, by_operator.clone(), instrument(InstrumentState::Active, 10_000, 10_206, 0)),
        (9, untraced.clone(), instrument(InstrumentState::Frozen, 10_500, 10_706, 51_500)),
        (20, untraced, Some(Before::Caps(CapsBefore { levels: vec![LevelCap { level: name("south"), cap: None }], total_cap: 20_700 }))),
        (
            12,
            by_operator.clone(),
            Some(Before::Candidates(CandidatesBefore { known: vec![Some(KnownCandidate { email: Some([7; 32]), levels: 1 }), None] })),
        ),
        (16, by_operator, booking(BookingState::Closing)),
        (17, by_itself, booking(BookingState::Admitted)),
    ];
    let entries = entries();
    told.into_iter()
        .map(|(number, origin, before)| Entry {
            origin: Some(Box::new(origin)),
            before: before.map(Box::new),
            ..entries[number - 1].clone()
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

//! A small honest server in memory: what it tells goes into a record, what it did into a final state.

use std::collections::BTreeMap;

use nevertwice_bots::record::{
    AccountState, Asked, Attempt, BookingStage, BookingState, Effect, InstrumentState, IntentId, LevelState, MarketState, Position, Record,
    SaleState, Side, Told,
};
use nevertwice_bots::seed::Seed;

const OPENING: i64 = 1_000_000;
const BASE: i64 = 100;

/// Two accounts, two instruments with a slope of 1 and no base but 100, and a sale of two levels.
pub(crate) struct World {
    pub(crate) record: Record,
    pub(crate) market: MarketState,
    pub(crate) sale: SaleState,
    seq: u64,
    now_us: u64,
}

pub(crate) fn intent(key: &str) -> IntentId {
    IntentId { principal: "p".into(), key: key.into() }
}

pub(crate) fn order(account: &str, instrument: &str, side: Side, quantity: i64) -> Asked {
    Asked::Order { account: account.into(), instrument: instrument.into(), side, quantity }
}

impl World {
    pub(crate) fn new() -> Self {
        let account = || AccountState { opening_balance: OPENING, balance: OPENING, holdings: BTreeMap::new() };
        let instrument = || InstrumentState { net: 0, cash: 0, price: BASE };
        let level = |cap| LevelState { cap, live: 0 };
        Self {
            record: Record::new(),
            market: MarketState {
                accounts: [("ann".to_owned(), account()), ("bob".to_owned(), account())].into(),
                instruments: [("X-1".to_owned(), instrument()), ("X-2".to_owned(), instrument())].into(),
                fees: 0,
                issuance: -2 * OPENING,
            },
            sale: SaleState {
                levels: [("a".to_owned(), level(Some(2))), ("b".to_owned(), level(None))].into(),
                total_cap: 3,
                live: 0,
                bookings: BTreeMap::new(),
            },
            seq: 0,
            now_us: 0,
        }
    }

    /// A world with a few hundred honest orders and a full, partly paid and released sale.
    pub(crate) fn busy() -> Self {
        let mut world = Self::new();
        let mut seed = Seed::new(7);
        for number in 0..300 {
            let account = if seed.chance(500) { "ann" } else { "bob" };
            let instrument = if seed.chance(500) { "X-1" } else { "X-2" };
            let quantity = seed.between(1, 9).try_into().expect("small");
            let held = world.market.accounts[account].holdings.get(instrument).copied().unwrap_or(0);
            let side = if held >= quantity && seed.chance(500) { Side::Sell } else { Side::Buy };
            world.trade(&format!("o{number}"), account, instrument, side, quantity);
        }
        for (candidate, level) in [("C1", "a"), ("C2", "a"), ("C3", "b")] {
            world.admit(candidate, candidate, level);
        }
        world.end("C1", BookingStage::Released);
        world.admit("C1-again", "C1", "b");
        world.end("C2", BookingStage::Paid);
        world
    }

    pub(crate) fn position(&mut self) -> Position {
        self.seq += 1;
        Position { epoch: 1, seq: self.seq }
    }

    /// Notes an attempt at the next instant.
    pub(crate) fn tell(&mut self, key: &str, asked: Asked, told: Told) {
        self.now_us += 10;
        let attempt = Attempt { sent_at_us: self.now_us, ended_at_us: self.now_us + 5, told };
        self.record.note(intent(key), asked, attempt);
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, us: u64) {
        self.now_us += us;
    }

    /// Does an order without telling anybody.
    pub(crate) fn fill(&mut self, account: &str, instrument: &str, side: Side, quantity: i64) -> Effect {
        let held = self.market.instruments.get_mut(instrument).expect("listed");
        let shares = side.signed(quantity);
        let (low, high) = (held.net.min(held.net + shares), held.net.max(held.net + shares));
        let total: i64 = (low + 1..=high).map(|share| BASE + share).sum();
        let price_before = BASE + held.net;
        held.net += shares;
        held.cash += side.signed(total);
        held.price = BASE + held.net;
        let price_after = held.price;
        let trader = self.market.accounts.get_mut(account).expect("opened");
        trader.balance -= side.signed(total);
        let holding = trader.holdings.entry(instrument.to_owned()).or_default();
        *holding += shares;
        let (balance, holding) = (trader.balance, *holding);
        trader.holdings.retain(|_, shares| *shares != 0);
        Effect::Filled { total, balance, holding, price_before, price_after }
    }

    pub(crate) fn trade(&mut self, key: &str, account: &str, instrument: &str, side: Side, quantity: i64) -> Effect {
        let effect = self.fill(account, instrument, side, quantity);
        let position = self.position();
        let told = Told::Yes { position, replayed: false, effect: effect.clone(), digest: 0 };
        self.tell(key, order(account, instrument, side, quantity), told);
        effect
    }

    /// Takes the lowest free seat without telling anybody.
    pub(crate) fn book(&mut self, candidate: &str, level: &str) -> (Position, u64) {
        let taken: Vec<u64> = self.sale.bookings.values().filter(|booking| booking.stage.is_live()).map(|booking| booking.seat).collect();
        let seat = (1..).find(|seat| !taken.contains(seat)).expect("a free seat");
        let position = self.position();
        let stage = BookingStage::Admitted;
        let booking = BookingState { candidate: candidate.into(), level: level.into(), seat, stage };
        self.sale.bookings.insert(position, booking);
        self.sale.live += 1;
        self.sale.levels.get_mut(level).expect("a level").live += 1;
        (position, seat)
    }

    pub(crate) fn admit(&mut self, key: &str, candidate: &str, level: &str) -> Position {
        let (position, seat) = self.book(candidate, level);
        let asked = Asked::Admission { candidate: candidate.into(), level: level.into() };
        let effect = Effect::Admitted { level: level.into(), seat };
        self.tell(key, asked, Told::Yes { position, replayed: false, effect, digest: 0 });
        position
    }

    /// The booking that an intent was told.
    pub(crate) fn booking_of(&self, key: &str) -> Position {
        self.record.get(&intent(key)).and_then(|notes| notes.yes()).expect("told yes").0
    }

    /// Ends a booking without telling anybody.
    pub(crate) fn set_stage(&mut self, booking: Position, stage: BookingStage) {
        let state = self.sale.bookings.get_mut(&booking).expect("booked");
        if state.stage.is_live() && !stage.is_live() {
            self.sale.live -= 1;
            self.sale.levels.get_mut(&state.level).expect("a level").live -= 1;
        }
        state.stage = stage;
    }

    pub(crate) fn end(&mut self, key: &str, stage: BookingStage) {
        let booking = self.booking_of(key);
        self.set_stage(booking, stage);
        let asked = match stage {
            BookingStage::Released => Asked::Release { booking },
            _ => Asked::ConfirmPayment { booking },
        };
        let position = self.position();
        self.tell(&format!("{key}-end"), asked, Told::Yes { position, replayed: false, effect: Effect::Done, digest: 0 });
    }
}

//! Scans: everything once, however much comes meanwhile, and never more at a time than a piece may have.

use std::collections::BTreeSet;

use nevertwice_core::limits::{PAGE_MAX, SCAN_ROWS_MAX};
use nevertwice_core::model::fingerprint_of;
use nevertwice_core::*;
use proptest::prelude::*;

use crate::support::{HOLD_MS, RETENTION_MS, START_MS, intent, limits, name, order, records_of};

/// A shard without an audit, which would take longer with every booking.
struct Plain {
    state: State,
    number: u64,
}

impl Plain {
    fn new(shard: ShardId, seed: (u64, u64)) -> Self {
        Self { state: State::new(shard, 1, seed), number: 0 }
    }

    fn accept(&mut self, action: impl Into<Action>) -> Position {
        self.number += 1;
        let command = Command::new(intent(&format!("k-{}", self.number), self.number), action);
        let Decision::Accepted(entry) = self.state.decide(&command, START_MS) else { panic!("{command:?} is in order") };
        self.state.apply(&entry).expect("it fits");
        entry.position
    }

    fn sale(seed: (u64, u64)) -> Self {
        let mut sale = Self::new(ShardId::sale(name("s")), seed);
        sale.accept(OpenSale {
            levels: vec![LevelCap { level: name("a"), cap: None }],
            total_cap: 1_000_000,
            hold_ms: HOLD_MS,
            opens_at: START_MS,
            closes_at: START_MS + 1,
            retention_ms: RETENTION_MS,
        });
        sale.accept(SetSaleOpen { open: true });
        sale
    }

    /// Admits so many more.
    fn book(&mut self, more: usize) -> Vec<Position> {
        let ids: Vec<_> = (0..more as u64).map(|number| CandidateId(fingerprint_of(self.number * 100_000 + number))).collect();
        for some in ids.chunks(256) {
            let candidates = some.iter().map(|id| CandidateFact { candidate: *id, email: None, levels: 1 });
            self.accept(LoadCandidates { candidates: candidates.collect() });
        }
        ids.into_iter().map(|candidate| self.accept(Admit { candidate, email: None, level: name("a") })).collect()
    }

    fn bookings(&self, cursor: ScanCursor) -> (Vec<Position>, Option<ScanCursor>) {
        match self.state.read(&Query::Bookings { cursor }) {
            Ok(View::Bookings(bookings, next)) => (bookings.into_iter().map(|booking| booking.booking).collect(), next),
            other => panic!("{other:?}"),
        }
    }

    fn market(seed: (u64, u64)) -> Self {
        let mut market = Self::new(ShardId::market(name("m")), seed);
        market.accept(OpenMarket {
            decimals: 0,
            fee_bps: 0,
            limits: limits(9, 90_000, 0),
            mode: MarketMode::Open,
            retention_ms: RETENTION_MS,
        });
        market.accept(ListInstrument { instrument: name("i"), base: 1, slope: 0 });
        market
    }

    /// Opens so many more accounts, of which every `n`-th holds a share; tells those.
    fn hold(&mut self, more: usize, n: usize) -> Vec<Name> {
        let mut holders = Vec::new();
        for number in 0..more {
            let account = format!("a-{}", self.number);
            self.accept(OpenAccount { account: name(&account), class: AccountClass::Player, opening_balance: 10 });
            if number % n == 0 {
                self.accept(order(&account, Side::Buy, "i", 1));
                holders.push(name(&account));
            }
        }
        holders
    }

    fn holders(&self, cursor: ScanCursor) -> (Vec<Name>, Option<ScanCursor>) {
        match self.state.read(&Query::Holders { instrument: name("i"), cursor }) {
            Ok(View::Holders(page)) => (page.holders.into_iter().map(|holding| holding.account).collect(), page.next),
            other => panic!("{other:?}"),
        }
    }
}

/// Scans while `grow` adds more between two pieces: what was there at the beginning is seen, and nothing twice.
fn check<T: Ord + Clone + std::fmt::Debug>(
    plain: &mut Plain,
    at_first: &[T],
    growth: &[usize],
    piece: impl Fn(&Plain, ScanCursor) -> (Vec<T>, Option<ScanCursor>),
    grow: impl Fn(&mut Plain, usize),
) -> Result<(), TestCaseError> {
    let mut growth = growth.iter().copied();
    let (mut seen, mut cursor) = (BTreeSet::new(), Some(ScanCursor::default()));
    while let Some(from) = cursor {
        let (shown, next) = piece(plain, from);
        prop_assert!(shown.len() <= PAGE_MAX, "{} at once", shown.len());
        for item in shown {
            prop_assert!(seen.insert(item.clone()), "{item:?} twice");
        }
        grow(plain, growth.next().unwrap_or(0));
        cursor = next;
    }
    let missed: Vec<_> = at_first.iter().filter(|item| !seen.contains(*item)).collect();
    prop_assert!(missed.is_empty(), "missed {missed:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_scan_of_bookings_sees_all_that_were_there(
        seed in any::<(u64, u64)>(),
        first in 0_usize..2_000,
        growth in proptest::collection::vec(0_usize..600, 0..12),
    ) {
        let mut sale = Plain::sale(seed);
        let at_first = sale.book(first);
        check(&mut sale, &at_first, &growth, Plain::bookings, |sale, more| drop(sale.book(more)))?;
    }

    #[test]
    fn a_scan_of_holders_sees_all_that_were_there(
        seed in any::<(u64, u64)>(),
        (first, n) in (0_usize..6_000, 1_usize..40),
        growth in proptest::collection::vec(0_usize..600, 0..12),
    ) {
        let mut market = Plain::market(seed);
        let at_first = market.hold(first, n);
        check(&mut market, &at_first, &growth, Plain::holders, |market, more| drop(market.hold(more, n)))?;
    }

    /// Somebody who scans a state can go on in another that was imported from it: after a restart from a snapshot, for instance.
    #[test]
    fn a_scan_goes_on_in_an_imported_state(seeds in any::<[(u64, u64); 2]>(), first in 0_usize..1_500) {
        let mut sale = Plain::sale(seeds[0]);
        let at_first = sale.book(first);
        let (mut seen, next) = sale.bookings(ScanCursor::default());
        sale.state = State::import(seeds[1], records_of(&sale.state)).expect("a state makes its own records");
        let mut cursor = next;
        while let Some(from) = cursor {
            let (shown, next) = sale.bookings(from);
            seen.extend(shown);
            cursor = next;
        }
        prop_assert_eq!(seen, at_first);
    }
}

/// What a piece looks at is bounded as well as what it returns: a scan that finds nothing still ends its pieces.
#[test]
fn a_piece_looks_at_no_more_rows_than_it_may() {
    let mut sale = Plain::sale((1, 2));
    sale.book(2 * SCAN_ROWS_MAX + 1);
    let due = |at_ms| {
        let (mut pieces, mut found, mut cursor) = (0, 0, Some(ScanCursor::default()));
        while let Some(from) = cursor {
            let Ok(View::DueHolds(due, next)) = sale.state.read(&Query::DueHolds { at_ms, cursor: from }) else { panic!("a sale") };
            assert!(due.bookings.len() <= PAGE_MAX, "{} at once", due.bookings.len());
            (pieces, found, cursor) = (pieces + 1, found + due.bookings.len(), next);
        }
        (pieces, found)
    };
    assert_eq!(due(START_MS), (3, 0));
    let all = 2 * SCAN_ROWS_MAX + 1;
    assert_eq!(due(START_MS + HOLD_MS), (all.div_ceil(PAGE_MAX), all));
    // A cursor from elsewhere leads nowhere, and nowhere else.
    assert_eq!(sale.bookings(ScanCursor(u32::MAX)), (vec![], None));
}

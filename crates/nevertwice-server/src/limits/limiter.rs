//! All bounds of callers together.

use std::net::IpAddr;

use nevertwice_api::ErrorCode;
use nevertwice_core::Principal;

use super::cells::{Cells, Seed};
use super::in_flight::{InFlight, InFlightTable};
use super::rate::{Rate, RateTable, Wait};
use super::turns::{Turn, Turns, TurnsOptions, Waiter};
use crate::access::{Caller, Role};
use crate::refusal::Refusal;

/// The bounds of one kind of caller; absent where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) rate: Option<Rate>,
    pub(crate) in_flight_max: Option<u32>,
}

/// All bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimiterOptions {
    pub(crate) address: Bounds,
    pub(crate) credential: Bounds,
    pub(crate) principal: Bounds,
    pub(crate) turns: TurnsOptions,
}

/// What is bounded.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Address,
    Credential,
    Principal,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Credential => "key",
            Self::Principal => "principal",
        }
    }
}

/// The tables of one kind of caller.
#[derive(Default)]
struct Tables {
    rate: Option<RateTable>,
    in_flight: Option<InFlightTable>,
}

impl Tables {
    fn new(bounds: Bounds) -> Self {
        let in_flight = bounds.in_flight_max.map(InFlightTable::new);
        Self { rate: bounds.rate.map(RateTable::new), in_flight }
    }

    const fn are_none(&self) -> bool {
        self.rate.is_none() && self.in_flight.is_none()
    }

    fn take(&self, kind: Kind, cells: Cells, count: u32, now_ms: i64) -> Result<(), Refusal> {
        let Some(rate) = &self.rate else { return Ok(()) };
        let now = u64::try_from(now_ms).unwrap_or(0).saturating_mul(1_000_000);
        rate.take(cells, count, now).map_err(|wait| rate_limited(kind, wait))
    }

    fn enter(&self, kind: Kind, cells: Cells) -> Result<Option<InFlight<'_>>, Refusal> {
        let Some(in_flight) = &self.in_flight else { return Ok(None) };
        in_flight.enter(cells).map(Some).ok_or_else(|| in_flight_limited(kind, in_flight.max()))
    }
}

/// All bounds of callers together.
pub(crate) struct Limiter {
    seed: Seed,
    address: Tables,
    credential: Tables,
    principal: Tables,
    turns: Turns,
}

/// A request that was let in, until it is dropped.
pub(crate) struct Entered<'a> {
    _in_flight: [Option<InFlight<'a>>; 3],
    _turn: Turn<'a>,
}

impl Limiter {
    pub(crate) fn new(options: LimiterOptions) -> Self {
        Self {
            seed: Seed::default(),
            address: Tables::new(options.address),
            credential: Tables::new(options.credential),
            principal: Tables::new(options.principal),
            turns: Turns::new(options.turns),
        }
    }

    /// How many requests are under way, and how many wait for their turn.
    pub(crate) fn counts(&self) -> (u32, u32) {
        self.turns.counts()
    }

    /// Whether an address asks too often. Asked before anything else, so that what is refused afterwards counts as well.
    pub(crate) fn take_address(&self, address: IpAddr, now_ms: i64) -> Result<(), Refusal> {
        if self.address.rate.is_none() {
            return Ok(());
        }
        self.address.take(Kind::Address, self.seed.cells(address), 1, now_ms)
    }

    /// Lets a request in: it asks not too often, not too much at once, and it is its turn. Operators are bounded by the
    /// server's own maximum alone.
    pub(crate) async fn enter(&self, caller: &Caller, now_ms: i64) -> Result<Entered<'_>, Refusal> {
        let in_flight = if caller.role == Role::Operator { [None, None, None] } else { self.bound(caller, now_ms)? };
        let turn = self.turns.enter(caller.role == Role::Operator, || self.waiter(caller)).await.ok_or_else(too_many)?;
        Ok(Entered { _in_flight: in_flight, _turn: turn })
    }

    /// Counts lines of a batch beyond its first against their credential.
    pub(crate) fn take_lines(&self, caller: &Caller, lines: usize, now_ms: i64) -> Result<(), Refusal> {
        if caller.role == Role::Operator || self.credential.rate.is_none() {
            return Ok(());
        }
        let count = u32::try_from(lines.saturating_sub(1)).unwrap_or(u32::MAX);
        self.credential.take(Kind::Credential, self.seed.cells(caller.name.as_str()), count, now_ms)
    }

    /// Counts one line of a batch against the principal for whom it is.
    pub(crate) fn take_line(&self, caller: &Caller, principal: &Principal, now_ms: i64) -> Result<(), Refusal> {
        if caller.role == Role::Operator || self.principal.rate.is_none() {
            return Ok(());
        }
        self.principal.take(Kind::Principal, self.seed.cells(principal.as_str()), 1, now_ms)
    }

    fn bound(&self, caller: &Caller, now_ms: i64) -> Result<[Option<InFlight<'_>>; 3], Refusal> {
        let mut in_flight = [None, None, None];
        let [of_address, of_credential, of_principal] = &mut in_flight;
        if self.address.in_flight.is_some() {
            *of_address = self.address.enter(Kind::Address, self.seed.cells(caller.peer))?;
        }
        // Nobody has neither a credential nor a principal.
        if caller.role == Role::Nobody {
            return Ok(in_flight);
        }
        if !self.credential.are_none() {
            let cells = self.seed.cells(caller.name.as_str());
            *of_credential = self.credential.enter(Kind::Credential, cells)?;
            self.credential.take(Kind::Credential, cells, 1, now_ms)?;
        }
        if caller.is_on_behalf && !self.principal.are_none() {
            let cells = self.seed.cells(caller.principal.as_str());
            *of_principal = self.principal.enter(Kind::Principal, cells)?;
            self.principal.take(Kind::Principal, cells, 1, now_ms)?;
        }
        Ok(in_flight)
    }

    fn waiter(&self, caller: &Caller) -> Waiter {
        let number = if caller.is_on_behalf { self.seed.number(caller.principal.as_str()) } else { self.seed.number(caller.peer) };
        Waiter { credential: self.seed.number(caller.name.as_str()), caller: number }
    }
}

fn rate_limited(kind: Kind, Wait(nanoseconds): Wait) -> Refusal {
    let wait_ms = nanoseconds.div_ceil(1_000_000).max(1);
    Refusal::new(
        ErrorCode::RateLimited,
        format!("This {} asks more often than it may", kind.word()),
        "Ask again with the same key after the time that `Retry-After` names, and less often",
    )
    .figure("limit", kind.word())
    .figure("retry_after_ms", wait_ms)
    .retry_after(wait_ms.div_ceil(1_000))
}

fn in_flight_limited(kind: Kind, max: u32) -> Refusal {
    Refusal::new(
        ErrorCode::InFlightLimited,
        format!("This {} has {max} requests under way, as many as it may", kind.word()),
        "Ask again with the same key once some of them are answered, and fewer at once",
    )
    .figure("limit", kind.word())
    .figure("in_flight_max", max)
}

fn too_many() -> Refusal {
    Refusal::new(
        ErrorCode::Overloaded,
        "The server has as many requests under way as it may, and this one's turn did not come in time",
        "Ask again with the same key in a moment",
    )
}

//! Reads the final state over HTTP, whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use nevertwice_api::wire;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::DemoError;
use super::setup::OPENING_BALANCE;
use super::shared::Shared;
use super::wire::{MARKET, SALE, get};
use crate::http::{Client, Outcome};
use crate::record::{AccountState, BookingStage, BookingState, InstrumentState, LevelState, MarketState, Position, SaleState};

/// Connections that read accounts.
const CONNECTIONS: usize = 16;

/// Reads one thing.
async fn read<T: DeserializeOwned>(client: &mut Client, shared: &Shared, path: String) -> Result<T, DemoError> {
    let said = match client.send(&get(shared, path.clone())).await {
        Outcome::Reply(reply) if reply.is_success() => match reply.json::<wire::Read<T>>() {
            Ok(read) => return Ok(read.result),
            Err(error) => error.to_string(),
        },
        Outcome::Reply(reply) => format!("status {}, {}", reply.status, String::from_utf8_lossy(&reply.body)),
        other => format!("{other:?}"),
    };
    Err(DemoError::Read { path, said })
}

/// The market: its own figures, every instrument, every account with all its holdings.
pub(super) async fn market(shared: &Arc<Shared>, accounts: &[String]) -> Result<MarketState, DemoError> {
    let mut client = shared.client();
    let own: wire::Market = read(&mut client, shared, format!("/v1/markets/{MARKET}")).await?;
    let mut state = MarketState { fees: own.fees, issuance: own.issuance, ..MarketState::default() };
    let mut from = Some(0);
    while let Some(page) = from {
        let path = format!("/v1/markets/{MARKET}/instruments?from={page}");
        let read: wire::InstrumentPage = read(&mut client, shared, path).await?;
        for wire::Instrument { instrument, net, cash, price, .. } in read.instruments {
            state.instruments.insert(instrument, InstrumentState { net, cash, price });
        }
        from = read.next;
    }
    let mut readers = JoinSet::new();
    for share in accounts.chunks(accounts.len().div_ceil(CONNECTIONS).max(1)) {
        let (shared, share) = (shared.clone(), share.to_vec());
        readers.spawn(async move {
            let mut client = shared.client();
            let mut read = Vec::with_capacity(share.len());
            for name in share {
                let account = account(&mut client, &shared, &name).await?;
                read.push((name, account));
            }
            Ok::<_, DemoError>(read)
        });
    }
    while let Some(read) = readers.join_next().await {
        state.accounts.extend(read.map_err(|error| DemoError::Crowd(error.to_string()))??);
    }
    if own.accounts != accounts.len() as u64 {
        let said = format!("{} accounts, and {} were opened", own.accounts, accounts.len());
        return Err(DemoError::Read { path: format!("/v1/markets/{MARKET}"), said });
    }
    Ok(state)
}

async fn account(client: &mut Client, shared: &Shared, name: &str) -> Result<AccountState, DemoError> {
    let path = format!("/v1/markets/{MARKET}/accounts/{name}");
    let own: wire::Account = read(client, shared, path.clone()).await?;
    let mut holdings = BTreeMap::new();
    let mut from = Some(0);
    while let Some(page) = from {
        let read: wire::HoldingPage = read(client, shared, format!("{path}/holdings?from={page}")).await?;
        holdings.extend(read.holdings.into_iter().map(|holding| (holding.instrument, holding.shares)));
        from = read.next;
    }
    holdings.retain(|_, shares| *shares != 0);
    Ok(AccountState { opening_balance: OPENING_BALANCE, balance: own.balance, holdings })
}

/// The sale: its own figures and every booking, ended ones included.
pub(super) async fn sale(shared: &Arc<Shared>) -> Result<SaleState, DemoError> {
    let mut client = shared.client();
    let own: wire::Sale = read(&mut client, shared, format!("/v1/sales/{SALE}")).await?;
    let levels = own.levels.into_iter().map(|level| (level.level, LevelState { cap: level.cap, live: level.live }));
    let mut state = SaleState { levels: levels.collect(), total_cap: own.total_cap, live: own.live, bookings: BTreeMap::new() };
    let mut cursor = Some(0);
    while let Some(page) = cursor {
        let path = format!("/v1/sales/{SALE}/bookings?cursor={page}");
        let read: wire::BookingPage = read(&mut client, shared, path.clone()).await?;
        for booking in read.bookings {
            let id: Position = booking.booking.parse().map_err(|error| DemoError::Read { path: path.clone(), said: format!("{error}") })?;
            let stage = match booking.state {
                wire::BookingState::Admitted => BookingStage::Admitted,
                wire::BookingState::Paying => BookingStage::Paying,
                wire::BookingState::Closing => BookingStage::Closing,
                wire::BookingState::Paid => BookingStage::Paid,
                wire::BookingState::Released => BookingStage::Released,
            };
            let seat = booking.seat.into();
            let state_of = BookingState { candidate: booking.reference, level: booking.level, seat, stage };
            state.bookings.insert(id, state_of);
        }
        cursor = read.next;
    }
    Ok(state)
}

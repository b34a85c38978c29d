//! Sales: wire to core, and core to wire.

use nevertwice_api::ErrorCode;
use nevertwice_api::person::SaleKey;
use nevertwice_api::wire;
use nevertwice_core::{self as core, Code, Entry, Event, Name};

use super::FromEntry;
use super::market::{Listed, from_entry};
use crate::body;
use crate::call::read_name;
use crate::refusal::Refusal;

/// The longest e-mail address (RFC 5321).
const EMAIL_BYTES_MAX: usize = 254;

/// Levels and caps as the core takes them.
pub(crate) fn level_caps(levels: &[wire::LevelCap]) -> Result<Vec<core::LevelCap>, Refusal> {
    levels.iter().map(|level| Ok(core::LevelCap { level: read_name("level", &level.level)?, cap: level.cap })).collect()
}

fn show_caps(levels: &[core::LevelCap]) -> Vec<wire::LevelCap> {
    levels.iter().map(|level| wire::LevelCap { level: level.level.to_string(), cap: level.cap }).collect()
}

/// A candidate's code.
pub(crate) fn code(text: &str) -> Result<Code, Refusal> {
    Code::new(text).map_err(|error| {
        let mut wrong = error.to_string();
        wrong.replace_range(..1, "T");
        Refusal::new(ErrorCode::CodeInvalid, wrong, "Send the code as it was given out: 1 to 64 visible ASCII characters")
    })
}

/// The digest of an e-mail address, if there is one.
pub(crate) fn email(key: &SaleKey, address: Option<&str>) -> Result<Option<[u8; 32]>, Refusal> {
    match address.map(str::trim) {
        None => Ok(None),
        Some("") => Err(body::invalid("email", "it is empty; leave it out where there is none")),
        Some(address) if address.len() > EMAIL_BYTES_MAX => {
            Err(body::invalid("email", format_args!("it is longer than {EMAIL_BYTES_MAX} bytes")))
        }
        Some(address) => Ok(Some(key.email(address))),
    }
}

/// Candidates as the core takes them: digests instead of codes and addresses, numbers instead of levels.
pub(crate) fn candidates(
    key: &SaleKey,
    levels: &[core::LevelView],
    lines: &[wire::CandidateLine],
) -> Result<Vec<core::CandidateFact>, Refusal> {
    let all = u64::MAX.checked_shr(u64::BITS.saturating_sub(u32::try_from(levels.len()).unwrap_or(u64::BITS))).unwrap_or(0);
    lines
        .iter()
        .enumerate()
        .map(|(number, line)| candidate(key, levels, all, line).map_err(|refusal| refusal.figure("candidate", number)))
        .collect()
}

fn candidate(key: &SaleKey, levels: &[core::LevelView], all: u64, line: &wire::CandidateLine) -> Result<core::CandidateFact, Refusal> {
    let allowed = match &line.levels {
        None => all,
        Some(allowed) => allowed.iter().try_fold(0u64, |bits, name| {
            let name: Name = read_name("level", name)?;
            match levels.iter().position(|level| level.level == name) {
                Some(number) => Ok(bits | 1u64.checked_shl(u32::try_from(number).unwrap_or(u32::MAX)).unwrap_or(0)),
                None => Err(Refusal::new(
                    ErrorCode::UnknownLevel,
                    format!("The sale has no level `{name}`"),
                    "Name levels that the sale was opened with",
                )),
            }
        })?,
    };
    Ok(core::CandidateFact { candidate: key.candidate(&code(&line.code)?), email: email(key, line.email.as_deref())?, levels: allowed })
}

impl Listed for (&Name, &core::SaleView) {
    type Wire = wire::Sale;
    fn show(&self) -> wire::Sale {
        let (sale, view) = self;
        let levels = view.levels.iter();
        wire::Sale {
            sale: sale.to_string(),
            open: view.open,
            opens_at: view.opens_at,
            closes_at: view.closes_at,
            hold_ms: view.hold_ms,
            total_cap: view.total_cap,
            live: view.live,
            levels: levels.map(|level| wire::LevelState { level: level.level.to_string(), cap: level.cap, live: level.live }).collect(),
            candidates: view.candidates as u64,
            bookings: view.bookings as u64,
        }
    }
}

from_entry!(SaleOpened, Event::SaleOpened(event), entry => {
    sale: entry.shard.name.to_string(),
    levels: show_caps(&event.levels),
    total_cap: event.total_cap,
    hold_ms: event.hold_ms,
    opens_at: event.opens_at,
    closes_at: event.closes_at,
    retention_ms: event.retention_ms,
});

from_entry!(CandidatesLoaded, Event::CandidatesLoaded(event), entry => {
    loaded: event.candidates.len() as u64,
});

from_entry!(SaleOpenSet, Event::SaleOpenSet(event), entry => {
    open: event.open,
});

from_entry!(CapsSet, Event::CapsSet(event), entry => {
    levels: show_caps(&event.levels),
    total_cap: event.total_cap,
});

from_entry!(Confirmed, Event::PaymentConfirmed(event), entry => {
    booking: event.booking.to_string(),
    payment: event.payment.to_string(),
});

from_entry!(Released, Event::BookingReleased(event), entry => {
    booking: event.booking.to_string(),
    seat: event.seat,
    reason: event.reason.word().to_owned(),
});

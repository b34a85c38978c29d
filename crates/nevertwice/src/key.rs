//! `nevertwice key`: makes, lists and revokes API keys. They live in a file of digests, which a running server reads again.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand, ValueEnum};
use comfy_table::Table;
use nevertwice_core::ShardId;
use nevertwice_server::config::{Sources, environment, load};
use nevertwice_server::{KeyId, KeyRecord, KeyRole, WantedKey, instant_of, instant_text, list_keys, make_key, revoke_key, shard_of};

use crate::output::report;

/// Makes and revokes API keys.
#[derive(Subcommand, Debug)]
pub(crate) enum KeyCommand {
    /// Makes a key, and shows it once: on standard output, and nowhere else.
    Make(MakeArgs),
    /// Shows all keys: what they may do, and whether they are taken. Never the keys themselves.
    List(ListArgs),
    /// Revokes a key. A running server stops taking it as soon as it reads the file again.
    Revoke(RevokeArgs),
}

/// Where the keys are.
#[derive(Args, Debug)]
struct Place {
    /// The keys file; if absent, the setting `keys_file` of `--config` or the environment.
    #[arg(long, value_name = "FILE")]
    keys_file: Option<PathBuf>,
    /// The server's TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// What key to make.
#[derive(Args, Debug)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    place: Place,
    /// What it may do.
    #[arg(long, value_enum)]
    role: Role,
    /// By which it is known in logs and lists: 1 to 32 small letters, digits and hyphens.
    #[arg(long, value_parser = read_id)]
    id: KeyId,
    /// For which shard it is, written `market/NAME` or `sale/NAME`; may be given several times. All if absent.
    #[arg(long = "shard", value_name = "SHARD", value_parser = read_shard)]
    shards: Vec<ShardId>,
    /// When it ends: after a time such as `90d`, `12h`, `30m`, or at an instant such as `2027-01-01T00:00:00Z`. Never if absent.
    #[arg(long, value_name = "WHEN", value_parser = read_end)]
    expires: Option<End>,
}

/// What to list.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    place: Place,
}

/// What to revoke.
#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    #[command(flatten)]
    place: Place,
    /// The id of the key.
    id: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Role {
    /// Everything.
    Operator,
    /// Acts for any principal.
    Service,
    /// Reads, and changes nothing.
    Reader,
}

/// When a key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    After { ms: i64 },
    At { ms: i64 },
}

impl KeyCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        match self {
            Self::Make(arguments) => arguments.run(),
            Self::List(arguments) => arguments.run(),
            Self::Revoke(arguments) => arguments.run(),
        }
    }
}

impl Place {
    fn file(&self) -> Result<PathBuf, Box<dyn Error>> {
        if let Some(file) = &self.keys_file {
            return Ok(file.clone());
        }
        let sources = Sources { file: self.config.clone(), environment: environment(std::env::vars_os())?, flags: Vec::new() };
        let file = load(&sources)?.keys_file;
        file.ok_or_else(|| "it is not said where the keys are; nothing was done: name a file with --keys-file, or set `keys_file`".into())
    }
}

impl MakeArgs {
    fn run(self) -> Result<ExitCode, Box<dyn Error>> {
        let file = self.place.file()?;
        let now_ms = now_ms()?;
        let role = match self.role {
            Role::Operator => KeyRole::Operator,
            Role::Service => KeyRole::Service,
            Role::Reader => KeyRole::Reader,
        };
        let expires_at = match self.expires {
            None => None,
            // Whole seconds: that is what the file shows.
            Some(End::After { ms }) => Some(now_ms.saturating_add(ms) / 1_000 * 1_000),
            Some(End::At { ms }) => Some(ms),
        };
        let shards = (!self.shards.is_empty()).then_some(self.shards);
        let key = make_key(&file, WantedKey { id: self.id.clone(), role, shards, expires_at }, now_ms)?;
        let mut out = std::io::stdout();
        writeln!(out, "{}", key.reveal()).and_then(|()| out.flush()).map_err(|error| {
            format!("the key could not be shown, and can't be shown again: {error}; revoke `{}` and make another under another id", self.id)
        })?;
        if out.is_terminal() {
            eprintln!("Keep it now: it is not shown again, and {} holds only its digest.", file.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ListArgs {
    fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let keys = list_keys(&self.place.file()?)?;
        let now_ms = now_ms()?;
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(["id", "role", "shards", "made", "ends", "state"]);
        for key in &keys {
            let shards = match &key.shards {
                None => "all".to_owned(),
                Some(shards) => shards.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            };
            let instant = |at_ms: i64| instant_text(at_ms).unwrap_or_else(|| at_ms.to_string());
            let ends = key.expires_at.map_or_else(|| "never".to_owned(), instant);
            table.add_row([key.id.to_string(), key.role.word().to_owned(), shards, instant(key.created_at), ends, state(key, now_ms)]);
        }
        report(|out| Ok(writeln!(out, "{}", table.trim_fmt())?))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn state(key: &KeyRecord, now_ms: i64) -> String {
    match (key.revoked_at, key.expires_at) {
        (Some(revoked_at), _) => format!("revoked {}", instant_text(revoked_at).unwrap_or_default()),
        (None, Some(expires_at)) if expires_at <= now_ms => "expired".to_owned(),
        _ => "taken".to_owned(),
    }
}

impl RevokeArgs {
    fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let file = self.place.file()?;
        revoke_key(&file, &self.id, now_ms()?)?;
        report(|out| {
            let (id, file) = (&self.id, file.display());
            Ok(writeln!(out, "`{id}` is revoked in {file}; a running server sees it at its next look at the file, or at SIGHUP")?)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn now_ms() -> Result<i64, Box<dyn Error>> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| "the clock shows a time before 1970; nothing was done")?;
    Ok(i64::try_from(since_1970.as_millis())?)
}

fn read_id(text: &str) -> Result<KeyId, String> {
    KeyId::new(text).map_err(str::to_owned)
}

fn read_shard(text: &str) -> Result<ShardId, String> {
    shard_of(text).ok_or_else(|| "it is not written market/NAME or sale/NAME".to_owned())
}

fn read_end(text: &str) -> Result<End, String> {
    let unit_ms = match text.as_bytes().last() {
        Some(b's') => 1_000,
        Some(b'm') => 60_000,
        Some(b'h') => 3_600_000,
        Some(b'd') => 86_400_000,
        _ => 0,
    };
    let count = text.get(..text.len().saturating_sub(1)).and_then(|digits| digits.parse::<u32>().ok()).filter(|_| unit_ms > 0);
    match (count, instant_of(text)) {
        (Some(count), _) if count > 0 => Ok(End::After { ms: i64::from(count).saturating_mul(unit_ms) }),
        (_, Some(ms)) => Ok(End::At { ms }),
        _ => Err("it is neither a time such as 90d, 12h or 30m, nor an instant such as 2027-01-01T00:00:00Z".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_or_an_instant() {
        assert_eq!(read_end("90d"), Ok(End::After { ms: 90 * 86_400_000 }));
        assert_eq!(read_end("1h"), Ok(End::After { ms: 3_600_000 }));
        assert_eq!(read_end("2m"), Ok(End::After { ms: 120_000 }));
        assert_eq!(read_end("5s"), Ok(End::After { ms: 5_000 }));
        assert_eq!(read_end("2027-01-01T00:00:00Z"), Ok(End::At { ms: 1_798_761_600_000 }));
        assert_eq!(read_end("2027-01-01"), Ok(End::At { ms: 1_798_761_600_000 }));
        for text in ["", "d", "0d", "-1d", "1.5h", "90", "90D", "soon", "1w", "é"] {
            assert!(read_end(text).is_err(), "{text}");
        }
    }
}

//! Why a start is refused, by what lies in the data folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use nevertwice_api::{Backend as _, Levels, NoObserver, Request};
use nevertwice_core::{Command as Asked, IdempotencyKey, Intent, MarketLimits, MarketMode, Name, OpenMarket, Principal, ShardId};
use nevertwice_server::config::Config;
use nevertwice_server::open_local;
use nevertwice_testkit::clock::ManualClock;
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::{MARKET, Serving};

/// Far ahead of any clock that runs this.
const IN_2200_MS: i64 = 7_258_118_400_000;

fn refused(data: &Path, code: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    let output = command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).stdout(Stdio::piped()).ran();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains(&format!("({code})")), "{code}: {told}");
    assert!(output.stdout.is_empty(), "nothing was served");
}

/// The first file whose name begins like that.
fn first(data: &Path, begin: &str) -> PathBuf {
    let files = fs::read_dir(data).expect("it can be listed").map(|file| file.expect("a file").path());
    let is_such = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin));
    files.filter(is_such).min().unwrap_or_else(|| panic!("no file begins with {begin}"))
}

#[test]
#[cfg(unix)]
fn a_folder_that_is_damaged_is_not_served() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let serving = Serving::start(&data, &[]);
    assert_eq!(serving.ask("POST /v1/markets", MARKET).0, 201);
    assert!(serving.signal("-TERM").status.success());
    // In the first frame of each.
    for (begin, at, code) in [("journal-", 4_096 + 70, "journal_damaged"), ("audit-", 16, "history_damaged")] {
        let file = first(&data, begin);
        let good = fs::read(&file).expect("it can be read");
        let mut bad = good.clone();
        bad[at..at + 16].fill(0xA5);
        fs::write(&file, bad).expect("it can be written");
        refused(&data, code);
        fs::write(&file, good).expect("it can be written");
    }
    let serving = Serving::start(&data, &[]);
    assert_eq!(serving.get("/v1/markets/wc").0, 200);
}

#[test]
fn a_folder_from_the_future_is_not_served() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let config = Config { data: data.clone(), ..Config::default() };
    let (backend, _) = open_local(&config, Arc::new(ManualClock::new(IN_2200_MS)), Arc::new(NoObserver)).expect("it opens");
    let intent = Intent {
        principal: Principal::new("operator").expect("a principal"),
        key: IdempotencyKey::new("open").expect("a key"),
        fingerprint: [0; 32],
        expires_at: None,
    };
    let limits = MarketLimits { quantity_max: 9, holding_max: 9, house_loss_max: 0 };
    let open = OpenMarket { decimals: 0, fee_bps: 0, limits, mode: MarketMode::Open, retention_ms: 86_400_000 };
    let shard = ShardId::market(Name::new("wc").expect("a name"));
    let answer = backend.submit(Request { shard, command: Asked::new(intent, open), levels: Levels::NONE });
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(answer).expect("it is decided");
    backend.stop();
    drop(backend);
    fs::write(folder.path().join("data.key"), "07".repeat(32)).expect("it can be written");
    refused(&data, "clock_behind");
}

//! `nevertwice serve --ledger` and `nevertwice migrate` as processes.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nevertwice_testkit::postgres::Postgres;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::{MARKET, Serving};

fn nevertwice(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(arguments).env_remove("NEVERTWICE_LEDGER").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn what_was_told_to_be_in_the_ledger_is_there_after_a_kill() {
    let folder = TempDir::new().expect("a folder can be made");
    let (data, file) = (folder.path().join("data"), folder.path().join("ledger.db"));
    let ledger = format!("sqlite:{}", file.display());
    let with = ["--ledger", &ledger, "--set", "level=ledgered"];
    let serving = Serving::start(&data, &with);
    let (status, first) = serving.ask("POST /v1/markets", MARKET);
    assert_eq!((status, &first["levels"]), (201, &json!(["decided", "replicated", "journaled", "ledgered"])), "{first}");
    serving.kill();
    let serving = Serving::start(&data, &with);
    let (status, again) = serving.ask("POST /v1/markets", MARKET);
    assert_eq!((status, &again["result"], &again["replayed"]), (200, &first["result"], &Value::Bool(true)));
    let stopped = serving.signal("-TERM");
    assert!(stopped.status.success(), "{stopped:?}");
}

#[test]
fn a_ledger_that_cannot_be_used_does_not_start() {
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let data = data.to_str().expect("a path is text");
    for (more, told) in [
        (&["--ledger", "sqlite:/nowhere-at-all/ledger.db"][..], "ledger_unusable"),
        (&["--ledger", "postgres://nobody@127.0.0.1:1/ledger"], "ledger_unusable"),
        (&["--ledger", "mysql://localhost/ledger"], "(configuration_invalid)"),
        (&["--ledger", "postgres://me:s3cret@localhost/ledger"], "everybody on this machine"),
        (&["--set", "level=ledgered"], "needs a `ledger`"),
        (&["--ledger", "sqlite:ledger.db", "--set", "ledger_wait_ms=20000"], "at most `answer_deadline_ms`"),
    ] {
        let output = nevertwice(&["serve", "--listen", "127.0.0.1:0", "--data", data]).args(more).ran();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(told), "{more:?}: {stderr}");
        assert!(output.stdout.is_empty() && !stderr.contains("s3cret"), "{more:?}: {stderr}");
    }
    let output = nevertwice(&["migrate"]).ran();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no `ledger`"), "{output:?}");
    let file = folder.path().join("ledger.db");
    let address = format!("sqlite:{}", file.display());
    let doctor = |ledger: &str| {
        let output = nevertwice(&["doctor", "--data", data, "--ledger", ledger]).ran();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(doctor(&address).contains("is not there yet") && !file.exists(), "it only looks");
    assert!(doctor("postgres://nobody@127.0.0.1:1/ledger").contains("[ledger_unusable]"));
    for _ in 0..2 {
        let output = nevertwice(&["migrate", "--ledger", &format!("sqlite:{}", file.display())]).ran();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("of this version"), "{output:?}");
    }
    assert!(doctor(&address).contains("its tables are of this version"));
}

/// A server that decides at `ledgered` while its Postgres is killed, comes back, and the server itself is killed.
#[test]
fn killed_under_load_with_its_database_it_forgets_nothing_and_does_nothing_twice() {
    let mut postgres = Postgres::start(&[]);
    let address = postgres.new_database();
    let folder = TempDir::new().expect("a folder can be made");
    let data = folder.path().join("data");
    let with = ["--ledger", &address, "--set", "level=ledgered", "--set", "ledger_wait_ms=1000"];
    let serving = Serving::start(&data, &with);
    let market =
        r#"{"market":"wc","decimals":2,"fee_bps":0,"limits":{"quantity_max":9,"holding_max":1000000,"house_loss_max":0},"mode":"open"}"#;
    assert_eq!(serving.command("/v1/markets", "open", market).expect("an answer").0, 201);
    let listed = serving.command("/v1/markets/wc/instruments", "list", r#"{"instrument":"ARG","base":1,"slope":0}"#);
    assert_eq!(listed.expect("an answer").0, 201);
    let account = serving.command("/v1/markets/wc/accounts", "ann", r#"{"account":"ann","opening_balance":1000000}"#);
    assert_eq!(account.expect("an answer").0, 201);
    let order = r#"{"account":"ann","instrument":"ARG","side":"buy","quantity":1}"#;
    let under_way = AtomicU64::new(0);
    let buy = |serving: &Serving, key: &str| {
        under_way.fetch_add(1, Ordering::SeqCst);
        let answer = serving.command("/v1/markets/wc/orders", key, order);
        under_way.fetch_sub(1, Ordering::SeqCst);
        answer
    };
    // Four clients, each with three hundred orders; what is in doubt is asked again until the answer is clear.
    let patience = Duration::from_secs(120);
    let yes: Vec<(String, Value)> = std::thread::scope(|scope| {
        let client = |client: u32| {
            let (serving, buy) = (&serving, &buy);
            move || {
                let mut told = Vec::new();
                for number in 0..300 {
                    let (key, since) = (format!("{client}-{number}"), Instant::now());
                    loop {
                        match buy(serving, &key) {
                            Some((200 | 201, answer)) => break told.push((key, answer["result"].clone())),
                            Some((503, _)) | None => assert!(since.elapsed() < patience, "{key} stays in doubt"),
                            Some(other) => panic!("{key}: {other:?}"),
                        }
                    }
                }
                told
            }
        };
        let clients: Vec<_> = (0..4).map(|number| scope.spawn(client(number))).collect();
        let mut struck = 0;
        for _ in 0..3 {
            while under_way.load(Ordering::SeqCst) == 0 && !clients.iter().all(|client| client.is_finished()) {
                std::thread::yield_now();
            }
            let orders = under_way.load(Ordering::SeqCst);
            println!("Postgres is killed with {orders} orders under way");
            struck += u32::from(orders > 0);
            postgres.kill();
            postgres.resume();
        }
        assert!(struck > 0, "nothing was ever under way");
        clients.into_iter().flat_map(|client| client.join().expect("it does not panic")).collect()
    });
    serving.kill();
    assert_eq!(yes.len(), 1_200);
    let name = address.split('?').next().and_then(|path| path.rsplit_once('/')).expect("a path").1.to_owned();
    let count = |sql: &str| postgres.psql(&name, sql).parse::<u64>().expect("a number");
    assert_eq!(count("SELECT COUNT(*) FROM nevertwice_entries"), 1_203, "each order once, and what made the market");
    assert_eq!(count("SELECT COUNT(DISTINCT key) FROM nevertwice_intents"), 1_203);
    assert_eq!(count("SELECT MAX(seq) FROM nevertwice_entries"), 1_203);
    let serving = Serving::start(&data, &with);
    for (key, result) in yes {
        let (status, again) = buy(&serving, &key).expect("an answer");
        assert_eq!((status, &again["result"]), (200, &result), "{key}");
    }
    let (_, holding) = serving.get("/v1/markets/wc/accounts/ann");
    assert_eq!(holding["result"]["balance"], json!(1_000_000 - 1_200), "{holding}");
}

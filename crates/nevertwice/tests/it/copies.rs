//! Backup and restore as processes: the folder is destroyed under load, and what a backup held is there again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::Serving;

const WORKERS: usize = 4;

fn nevertwice(arguments: &[&str], paths: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(arguments);
    for (flag, path) in paths {
        command.arg(flag).arg(path);
    }
    command.ran()
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The key, the body and the account of an order: the same in every attempt.
fn order(worker: usize, number: usize) -> (String, String) {
    let side = if number % 3 == 2 { "sell" } else { "buy" };
    let body = json!({"account": format!("a{worker}"), "instrument": "ARG", "side": side, "quantity": 1 + number % 2});
    (format!("order-{worker}-{number}"), body.to_string())
}

fn open_market(serving: &Serving) {
    let limits = json!({"quantity_max": 100, "holding_max": 1_000_000, "house_loss_max": 0});
    let market = json!({"market": "wc", "decimals": 2, "fee_bps": 50, "limits": limits, "mode": "open"});
    let mut commands = vec![("/v1/markets".to_owned(), "open".to_owned(), market)];
    commands.push(("/v1/markets/wc/instruments".to_owned(), "list".to_owned(), json!({"instrument": "ARG", "base": 100, "slope": 1})));
    for worker in 0..WORKERS {
        let account = json!({"account": format!("a{worker}"), "opening_balance": 100_000_000});
        commands.push(("/v1/markets/wc/accounts".to_owned(), format!("account-{worker}"), account));
    }
    for (path, key, body) in commands {
        assert_eq!(serving.command(&path, &key, &body.to_string()).expect("an answer").0, 201, "{path} {key}");
    }
}

/// What each key was told, by key.
type Told = BTreeMap<String, Value>;

/// Keeps placing orders until told to stop, and returns what was answered, in order.
fn load(serving: &Serving, worker: usize, stop: &AtomicBool, answered: &AtomicUsize) -> Told {
    let mut told = Told::new();
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        let (key, body) = order(worker, number);
        // Once the server is killed nobody answers.
        let Some((status, answer)) = serving.command("/v1/markets/wc/orders", &key, &body) else { break };
        assert_eq!(status, 201, "{answer}");
        told.insert(key, answer["result"].clone());
        answered.fetch_add(1, Ordering::SeqCst);
        number += 1;
    }
    told
}

/// What the audit tells, in order.
fn facts(arguments: &[&str], paths: &[(&str, &Path)]) -> Vec<Value> {
    let output = nevertwice(arguments, paths);
    assert!(output.status.success() && output.stderr.is_empty(), "it is whole: {}", told(&output));
    let lines = String::from_utf8(output.stdout).expect("it is text");
    lines.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Lets so many more orders be answered.
fn let_pass(answered: &AtomicUsize, more: usize) {
    let from = answered.load(Ordering::SeqCst);
    while answered.load(Ordering::SeqCst) < from + more {
        std::thread::yield_now();
    }
}

fn seq(position: &Value) -> u64 {
    position.as_str().and_then(|position| position.split_once('-')?.1.parse().ok()).expect("a position")
}

#[test]
#[cfg(unix)]
fn the_folder_is_destroyed_under_load_and_what_the_backup_held_is_there_again() {
    let folder = TempDir::new().expect("a folder can be made");
    let [data, backup, restored] = ["data", "backup", "restored"].map(|name| folder.path().join(name));
    let serving = Arc::new(Serving::start(&data, &["--set", "snapshot_bytes=40000"]));
    open_market(&serving);
    let url = format!("http://{}", serving.address);
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let (serving, stop, answered) = (Arc::clone(&serving), Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || load(&serving, worker, &stop, &answered))
        })
        .collect();
    for _ in 0..3 {
        let_pass(&answered, 40);
        let output = nevertwice(&["backup", "--server", &url], &[("--to", &backup)]);
        assert!(output.status.success(), "{}", self::told(&output));
    }
    let last = nevertwice(&["backup", "--server", &url], &[("--to", &backup)]);
    let last = self::told(&last);
    assert!(last.contains("with what operators did, from the first batch on"), "{last}");
    let audit = facts(&["audit", "--json", "--server", &url], &[]);
    let_pass(&answered, 40);
    serving.kill();
    std::fs::remove_dir_all(&data).expect("the folder can be destroyed");
    stop.store(true, Ordering::SeqCst);
    let told: Told = workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends well")).collect();
    println!("{} orders were answered, with {WORKERS} under way when the folder was destroyed", told.len());

    // The backup says where it ends; it is what is restored, and it verifies.
    let shard = last.lines().find_map(|line| line.strip_prefix("market/wc at ")).expect("it names the shard").to_owned();
    let (position, hash) = shard.split_once(": hash ").expect("a position and a hash");
    let dry = nevertwice(&["restore", "--to-position", "latest", "--dry-run"], &[("--from", &backup)]);
    assert!(self::told(&dry).contains(&shard) && self::told(&dry).contains("nothing was written"), "{}", self::told(&dry));
    let output = nevertwice(&["restore", "--to-position", "latest"], &[("--from", &backup), ("--data", &restored)]);
    assert!(output.status.success() && self::told(&output).contains(&shard), "{}", self::told(&output));
    let (mut found, expected) = (facts(&["audit", "--json"], &[("--data", &restored)]), audit.len());
    let restoring = found.pop().expect("the restore is told");
    assert_eq!((found, &restoring["command"]), (audit, &json!("restore_backup")), "who did what before is not gone");
    assert!(self::told(&output).contains(&format!("{expected} things that operators did")), "{}", self::told(&output));
    let again = nevertwice(&["restore", "--to-position", "latest"], &[("--from", &backup), ("--data", &restored)]);
    assert!(!again.status.success() && self::told(&again).contains("data_folder_invalid"), "{}", self::told(&again));
    let verified = nevertwice(&["verify"], &[("--data", &restored)]);
    assert!(verified.status.success() && self::told(&verified).contains(hash), "{}", self::told(&verified));
    let served = nevertwice(&["serve", "--listen", "127.0.0.1:0"], &[("--data", &backup)]);
    assert!(!served.status.success() && self::told(&served).contains("is a backup"), "{}", self::told(&served));

    // Without the person key nothing starts, nor with another; with it the server goes on in an epoch that was never used.
    std::fs::write(folder.path().join("restored.key"), "0".repeat(64)).expect("a file can be written");
    let another = nevertwice(&["serve", "--listen", "127.0.0.1:0"], &[("--data", &restored)]);
    assert!(!another.status.success() && self::told(&another).contains("is not the one"), "{}", self::told(&another));
    std::fs::copy(folder.path().join("data.key"), folder.path().join("restored.key")).expect("the key is there");
    let serving = Serving::start(&restored, &[]);
    let end: u64 = position.split_once('-').expect("a position").1.parse().expect("a seq");
    let (mut replayed, mut missing) = (0, 0);
    for worker in 0..WORKERS {
        for number in 0.. {
            let (key, body) = order(worker, number);
            let Some(first) = told.get(&key) else { break };
            let (status, answer) = serving.command("/v1/markets/wc/orders", &key, &body).expect("an answer");
            let was_in = seq(&first["position"]) <= end;
            assert_eq!(answer["replayed"], was_in, "{key}: {answer}");
            if was_in {
                assert_eq!((status, &answer["result"]), (200, first), "{key}");
                replayed += 1;
            } else {
                // It is missing, and is decided now, once, at a position that nobody was told before.
                assert_eq!(status, 201, "{answer}");
                let epoch = |position: &Value| position.as_str().and_then(|text| text.split_once('-')).map(|pair| pair.0.to_owned());
                assert_ne!(epoch(&answer["result"]["position"]), epoch(&first["position"]));
                let unknown = serving.get(&format!("/v1/markets/wc/acks/{}", first["position"].as_str().expect("a position")));
                assert_eq!((unknown.0, unknown.1["code"].as_str()), (404, Some("position_unknown")), "{unknown:?}");
                missing += 1;
            }
        }
    }
    assert!(replayed >= 120 && missing >= 40, "{replayed} replayed, {missing} missing");
    drop(serving);
    let verified = nevertwice(&["verify"], &[("--data", &restored)]);
    assert!(verified.status.success(), "nothing happened twice: {}", self::told(&verified));
}

/// A server at an address, where one was before.
fn serve_at(address: &str, data: &Path) -> Serving {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["serve", "--listen", address, "--data"]).arg(data);
    command.env_remove("NEVERTWICE_OPERATOR_KEY").stdout(Stdio::piped()).stderr(Stdio::null());
    Serving::started(command)
}

/// A standby of a server, in a process of its own.
fn stand_by(primary: &Serving, data: &Path) -> Serving {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["standby", "--listen", "127.0.0.1:0", "--from", &format!("http://{}", primary.address), "--data"]).arg(data);
    command.env_remove("NEVERTWICE_OPERATOR_KEY").stdout(Stdio::piped()).stderr(Stdio::null());
    Serving::started(command)
}

fn batch(serving: &Serving) -> u64 {
    serving.get("/v1/standby").1["batch"].as_u64().expect("a batch")
}

/// Waits until the standby has what the server has now.
fn caught_up(standby: &Serving, primary: &Serving) {
    let durable = primary.get("/v1/journal").1["batch"].as_u64().expect("a batch");
    while batch(standby) < durable {
        std::thread::yield_now();
    }
}

#[test]
#[cfg(unix)]
fn a_standby_survives_kills_on_both_sides_and_what_it_had_is_replayed_once_it_is_promoted() {
    let folder = TempDir::new().expect("a folder can be made");
    let [data, other] = ["data", "other"].map(|name| folder.path().join(name));
    let primary = Serving::start(&data, &["--set", "snapshot_bytes=100000"]);
    open_market(&primary);
    // The right person key belongs to it.
    let key = folder.path().join("other.key");
    for (text, wrong) in [(None, "is missing"), (Some("0".repeat(64)), "is not the one")] {
        if let Some(text) = text {
            std::fs::write(&key, text).expect("a file can be written");
        }
        let url = format!("http://{}", primary.address);
        let refused = nevertwice(&["standby", "--listen", "127.0.0.1:0", "--from", &url], &[("--data", &other)]);
        assert!(!refused.status.success() && told(&refused).contains(wrong), "{}", told(&refused));
    }
    std::fs::copy(folder.path().join("data.key"), &key).expect("the key is there");
    let standby = stand_by(&primary, &other);
    let two = nevertwice(&["verify"], &[("--data", &other)]);
    assert!(!two.status.success() && told(&two).contains("data_folder_in_use"), "{}", told(&two));

    // The standby is killed under load, and goes on; so is the server, and it is followed again.
    let (primary, stop, answered) = (Arc::new(primary), Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let work = |primary: &Arc<Serving>, from: usize| -> Vec<_> {
        let worker = |worker| {
            let (serving, stop, answered) = (Arc::clone(primary), Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || load(&serving, from + worker, &stop, &answered))
        };
        (0..2).map(worker).collect()
    };
    let workers = work(&primary, 0);
    let_pass(&answered, 60);
    standby.kill();
    let_pass(&answered, 60);
    drop(standby);
    let standby = stand_by(&primary, &other);
    let_pass(&answered, 60);
    primary.kill();
    let mut told: Told = workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends well")).collect();
    let address = primary.address.clone();
    drop(primary);
    let primary = Arc::new(serve_at(&address, &data));
    let workers = work(&primary, 2);
    let_pass(&answered, 60);
    caught_up(&standby, &primary);
    let_pass(&answered, 60);
    let audit = facts(&["audit", "--json", "--server", &format!("http://{}", primary.address)], &[]);
    // The server is lost for good, under load.
    let at = batch(&standby);
    primary.kill();
    told.extend(workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends well")));
    std::fs::remove_dir_all(&data).expect("the folder can be destroyed");
    println!("{} orders were answered, with 2 under way when the server was lost", told.len());

    let refused = standby.command("/v1/markets/wc/orders", "order-0-0", &order(0, 0).1).expect("an answer");
    assert_eq!((refused.0, refused.1["code"].as_str()), (503, Some("standby_follows")));
    let promote = nevertwice(&["promote", "--standby", &format!("http://{}", standby.address)], &[]);
    assert!(promote.status.success() && self::told(&promote).contains("is promoted"), "{}", self::told(&promote));
    let again = nevertwice(&["promote", "--standby", &format!("http://{}", standby.address)], &[]);
    assert!(self::told(&again).contains("had been promoted before"), "{}", self::told(&again));
    let had = self::told(&again);
    let end = had.lines().find_map(|line| line.strip_prefix("market/wc at ")).expect("it names the shard");
    let end: u64 = end.split_once('-').expect("a position").1.parse().expect("a seq");
    assert!(at > 60 && end > 200, "{at} {end}");
    // Who did what is there, with who promoted it.
    let url = format!("http://{}", standby.address);
    let mut found = facts(&["audit", "--json", "--server", &url], &[]);
    let promotion = found.pop().expect("the promotion is told");
    assert_eq!((found, &promotion["command"], &promotion["key"]), (audit, &json!("promote_standby"), &json!("promote")));
    assert_eq!(
        (&promotion["origin"]["name"], &promotion["after"]["epoch"].as_u64().map(|epoch| epoch % 1_000)),
        (&json!("local"), &Some(0))
    );
    let shown = self::told(&nevertwice(&["audit", "--server", &url], &[]));
    assert!(shown.contains("the folder promote_standby by local (operator) from 127.0.0.1 as"), "{shown}");
    let (mut replayed, mut missing) = (0, 0);
    for (key, first) in &told {
        let mut parts = key.split('-').skip(1).map(|part| part.parse().expect("a number"));
        let (worker, number) = (parts.next().expect("a worker"), parts.next().expect("a number"));
        let (status, answer) = standby.command("/v1/markets/wc/orders", key, &order(worker, number).1).expect("an answer");
        if seq(&first["position"]) <= end {
            assert_eq!((status, &answer["result"]), (200, first), "{key}");
            replayed += 1;
        } else {
            assert_eq!((status, &answer["replayed"]), (201, &Value::Bool(false)), "{key}");
            missing += 1;
        }
    }
    println!("{replayed} were replayed, {missing} had not come over");
    assert!(replayed >= 200, "{replayed} replayed, {missing} missing");
    assert!(standby.signal("-TERM").status.success());
    let verified = nevertwice(&["verify"], &[("--data", &other)]);
    assert!(verified.status.success(), "nothing happened twice: {}", self::told(&verified));
    let none = nevertwice(&["promote", "--standby", "http://127.0.0.1:1"], &[]);
    assert!(!none.status.success() && self::told(&none).contains("no answer"), "{}", self::told(&none));
}

#[test]
fn a_stopped_folder_is_backed_up_and_what_is_asked_badly_does_nothing() {
    let folder = TempDir::new().expect("a folder can be made");
    let [data, backup, restored] = ["data", "backup", "restored"].map(|name| folder.path().join(name));
    let serving = Serving::start(&data, &[]);
    open_market(&serving);
    let running = nevertwice(&["backup"], &[("--data", &data), ("--to", &backup)]);
    assert!(!running.status.success() && told(&running).contains("data_folder_in_use"), "{}", told(&running));
    serving.kill();
    let stopped = nevertwice(&["backup"], &[("--data", &data), ("--to", &backup)]);
    assert!(stopped.status.success(), "{}", told(&stopped));
    let key = folder.path().join("key");
    std::fs::write(&key, "not a key\n").expect("a file can be written");
    for (arguments, paths, told_of) in [
        (&["backup", "--server", "http://127.0.0.1:1"][..], &[("--to", backup.as_path())][..], "source_unusable"),
        (&["backup", "--server", "http://127.0.0.1:1"], &[("--to", &backup), ("--api-key-file", &key)], "holds no key"),
        (&["backup", "--server", "ftp://127.0.0.1:1"], &[("--to", &backup)], "https://HOST"),
        (&["backup"], &[("--to", &backup)], "--server"),
        (&["backup"], &[("--data", &backup), ("--to", &data)], "data_folder_invalid"),
        (&["backup"], &[("--data", &data), ("--to", &data)], "data_folder_invalid"),
        (&["restore", "--to-position", "latest"], &[("--from", &data), ("--data", &restored)], "backup_invalid"),
        (&["restore", "--to-position", "batch:999"], &[("--from", &backup), ("--data", &restored)], "position_unknown"),
        (&["restore", "--to-position", "1-3"], &[("--from", &backup), ("--data", &restored)], "--shard"),
        (&["restore", "--to-position", "latest", "--shard", "market/wc"], &[("--from", &backup), ("--data", &restored)], "position"),
        (&["restore", "--to-position", "1-99", "--shard", "market/wc"], &[("--from", &backup), ("--data", &restored)], "position_unknown"),
        (&["restore", "--to-position", "1-9", "--shard", "wc"], &[("--from", &backup), ("--data", &restored)], "market/NAME"),
    ] {
        let output = nevertwice(arguments, paths);
        assert!(!output.status.success() && told(&output).contains(told_of), "{arguments:?}: {}", told(&output));
    }
    let restore = ["restore", "--to", "1-3", "--shard", "market/wc"];
    let output = nevertwice(&restore, &[("--from", &backup), ("--data", &restored)]);
    assert!(output.status.success() && told(&output).contains("market/wc at 1-3"), "{}", told(&output));
}

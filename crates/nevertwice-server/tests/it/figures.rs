//! What the metrics tell of decisions, of the clock and of the machine.

use std::sync::Arc;

use nevertwice_server::{DiskSpace, Machine, Readings};
use serde_json::json;

use crate::house::{House, Plan};

#[tokio::test]
async fn what_is_rare_is_shown_before_it_happens() {
    let house = House::open().await.with_market().await;
    let text = house.get("/metrics").await.text;
    for name in ["replayed_total", "unknown_outcomes_total", "overloaded_total", "clock_steps_back_total", "poisoned", "storage_full"] {
        assert!(text.lines().any(|line| line == format!("nevertwice_{name} 0")), "{name}: {text}");
    }
    let order = json!({"account": "ann", "instrument": "ARG", "side": "buy", "quantity": 1});
    let accepted = house.metric("nevertwice_accepted_total").await;
    for _ in 0..3 {
        house.post("/v1/markets/wc/orders", "k", order.clone()).await.result();
    }
    let line = format!("{}\n", json!({"key": "k", "order": order}));
    let lines = crate::client::Ask::new("POST", "/v1/markets/wc/orders/batch").header("content-type", "application/x-ndjson").body(line);
    assert_eq!(house.send(lines).await.status, 200);
    assert_eq!(house.metric("nevertwice_accepted_total").await, accepted + 1.0);
    assert_eq!(house.metric("nevertwice_replayed_total").await, 3.0);
}

#[tokio::test]
async fn a_clock_that_runs_backwards_is_seen() {
    let house = House::open().await.with_market().await;
    let seen = async || (house.metric("nevertwice_clock_behind_seconds").await, house.metric("nevertwice_clock_steps_back_total").await);
    assert_eq!(seen().await, (0.0, 0.0));
    house.later(-60_000);
    assert_eq!(seen().await, (60.0, 1.0));
    house.later(20_000);
    assert_eq!(seen().await, (40.0, 1.0), "it catches up");
    house.later(-5_000);
    assert_eq!(seen().await, (45.0, 2.0), "and is set back again");
    house.later(45_000);
    assert_eq!(seen().await, (0.0, 2.0));
}

struct Known(Readings);

impl Machine for Known {
    fn read(&self) -> Readings {
        self.0
    }
}

#[tokio::test]
async fn the_machine_is_shown_as_far_as_it_tells() {
    let disk = DiskSpace { free_bytes: 5_000_000_000, size_bytes: 9_000_000_000 };
    let readings = Readings { disk: Some(disk), open_files: Some(17), open_files_max: None, resident_bytes: Some(1 << 20) };
    let house = House::with(Plan { machine: Some(Arc::new(Known(readings))), ..Plan::default() }).await;
    assert_eq!(house.metric("nevertwice_disk_free_bytes").await, 5e9);
    assert_eq!(house.metric("nevertwice_disk_size_bytes").await, 9e9);
    assert_eq!(house.metric("process_open_fds").await, 17.0);
    assert_eq!(house.metric("process_resident_memory_bytes").await, 1_048_576.0);
    assert!(!house.get("/metrics").await.text.contains("process_max_fds"), "what is not known is not shown");
    let house = House::open().await;
    assert!(house.metric("nevertwice_disk_free_bytes").await > 0.0 && house.metric("process_open_fds").await > 0.0);
}

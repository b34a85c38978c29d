//! The demonstration in small, over real HTTP: an honest server passes, one that loses or doubles an effect fails.

use std::time::Duration;

use nevertwice_bots::demo::{Demo, DemoError, Options, run};
use nevertwice_bots::report::text;

use crate::server::{Plant, Server};

fn small(server: &Server, seed: u64) -> Options {
    Options::small(server.base_url(), seed)
}

async fn demo(plant: Plant) -> Demo {
    let server = Server::start(plant).await;
    let options = small(&server, 11);
    let kill = async || {
        server.kill().await;
        Ok(())
    };
    run(options, kill).await.expect("the demonstration runs to its end")
}

fn check<'a>(demo: &'a Demo, name: &str) -> &'a str {
    let check = demo.report.checks.iter().find(|check| check.name == name);
    &check.unwrap_or_else(|| panic!("no check {name}")).found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_honest_server_passes() {
    let demo = demo(Plant::Nothing).await;
    let lines = text(&demo.report);
    assert!(demo.report.passes(), "{lines}");
    let [market, sale] = demo.report.jobs.as_slice() else { panic!("two jobs") };
    println!("{lines}");
    // The faults really happened, and were met by replays.
    assert!(market.lost_on_purpose > 75 && market.overlapping > 30 && market.replays > 40, "{lines}");
    assert!(sale.lost_on_purpose > 75 && sale.overlapping > 30 && sale.replays > 40, "{lines}");
    for code in ["level_full", "already_booked", "unknown_candidate", "email_mismatch", "level_not_allowed"] {
        assert!(sale.rejections.contains_key(code), "nobody was told {code}:\n{lines}");
    }
    for code in ["limit_price_exceeded", "insufficient_holding"] {
        assert!(market.rejections.contains_key(code), "nobody was told {code}:\n{lines}");
    }
    assert_ne!(check(&demo, "under way at the kill"), "0");
    assert_eq!(check(&demo, "goals accounted for"), "308 of 308");
    assert!((340..=350).contains(&demo.sale.live), "seats that come back are taken again: {}", demo.sale.live);
}

async fn fails(plant: Plant, kind: &str) {
    let demo = demo(plant).await;
    let lines = text(&demo.report);
    assert!(!demo.report.passes(), "{lines}");
    assert_ne!(check(&demo, kind), "0", "{lines}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_fill_fails() {
    fails(Plant::LoseFill, "lost").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_booking_fails() {
    fails(Plant::LoseBooking, "lost").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubled_fill_fails() {
    fails(Plant::DoubleFill, "doubled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_doubled_booking_fails() {
    fails(Plant::DoubleBooking, "doubled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_the_way_is_said() {
    let server = Server::start(Plant::Nothing).await;
    let broken = run(small(&server, 1), async || Err("no child".to_owned())).await;
    assert_eq!(broken.err(), Some(DemoError::Restart("no child".into())));
    // The server is not empty any more.
    let again = run(small(&server, 1), async || Ok(())).await;
    assert!(matches!(again, Err(DemoError::Setup { .. })), "{:?}", again.err());
    let gone = Server::start(Plant::Nothing).await;
    let patience = Duration::from_millis(700);
    let silent = run(Options { patience, ..small(&gone, 1) }, async || {
        gone.stop().await;
        Ok(())
    });
    assert_eq!(silent.await.err(), Some(DemoError::Silent(patience)));
    let nowhere = Options { base_url: "http://127.0.0.1:1".into(), ..small(&server, 1) };
    assert!(matches!(run(nowhere, async || Ok(())).await, Err(DemoError::Setup { .. })));
    let unusable = Options { base_url: "localhost".into(), ..small(&server, 1) };
    assert!(matches!(run(unusable, async || Ok(())).await, Err(DemoError::Target(_))));
}

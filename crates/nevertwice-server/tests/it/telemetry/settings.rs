//! The settings of traces: what is refused, and the headers that nobody gets to see.

use std::fs;

use nevertwice_server::config::{Secret, Sources, load};
use nevertwice_server::{Config, Parts, Server, check_otlp_files};
use tempfile::TempDir;

use super::collector::{Collector, Mood};
use crate::client::Ask;
use crate::house::{House, eventually};

const HEADER: &str = "Bearer collector-Hv63-0123456789";

#[tokio::test]
async fn the_collector_s_headers_are_sent_to_it_and_shown_to_nobody() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("headers");
    fs::write(&file, format!("authorization: {HEADER}\nx-scope: shop\n")).expect("it can be written");
    for change in [
        (|config: &mut Config, _| config.otlp_headers = Some(Secret::new(format!("Authorization: {HEADER}")))) as fn(&mut Config, _),
        |config, file| config.otlp_headers_file = Some(file),
    ] {
        // One that refuses makes the server speak of it.
        for mood in [Mood::Fine, Mood::Refusing] {
            let collector = Collector::start(mood).await;
            let mut printed = String::new();
            let house = House::configured(|config| {
                collector.configure(config);
                change(config, file.clone());
                printed = format!("{config:?} {:?}", check_otlp_files(config));
            })
            .await
            .with_market()
            .await;
            let heads = eventually("the collector was asked", async || Some(collector.heads()).filter(|heads| !heads.is_empty())).await;
            assert!(heads[0].contains(&format!("\r\nauthorization: {HEADER}")), "{heads:?}");
            let shown = house.get("/metrics").await.text + &house.send(Ask::get("/v1/audit")).await.text + &printed;
            house.close().await;
            assert!(!shown.contains("Hv63") && !crate::secrets::log().contains("Hv63"));
        }
    }
}

#[tokio::test]
async fn settings_of_traces_that_can_not_be_meant_are_refused() {
    let folder = TempDir::new().expect("a folder can be made");
    let (no_header, gone) = (folder.path().join("no-header"), folder.path().join("gone"));
    fs::write(&no_header, "hush-hush-0123456789").expect("it can be written");
    let endpoint = || Some("https://collector.example".to_owned());
    let cases: Vec<(Config, &str)> = vec![
        (Config { otlp_endpoint: Some("collector:4317".to_owned()), ..Config::default() }, "`otlp_endpoint` is no address"),
        (Config { otlp_endpoint: Some("http://hush@collector".to_owned()), ..Config::default() }, "`otlp_endpoint` is no address"),
        (Config { otlp_headers: Some(Secret::new("a: hush")), ..Config::default() }, "`otlp_endpoint` is missing"),
        (Config { otlp_ca_file: Some(gone.clone()), ..Config::default() }, "`otlp_endpoint` is missing"),
        (Config { otlp_endpoint: Some("http://a".to_owned()), otlp_ca_file: Some(gone.clone()), ..Config::default() }, "over https://"),
        (Config { otlp_endpoint: endpoint(), otlp_sample_ratio: 1.5, ..Config::default() }, "from 0 to 1"),
        (Config { otlp_endpoint: endpoint(), otlp_sample_ratio: f64::NAN, ..Config::default() }, "from 0 to 1"),
        (Config { otlp_endpoint: endpoint(), otlp_service_name: String::new(), ..Config::default() }, "`otlp_service_name`"),
        (Config { otlp_endpoint: endpoint(), otlp_queue_max: 0, ..Config::default() }, "`otlp_queue_max`"),
        (Config { otlp_endpoint: endpoint(), otlp_flush_ms: 1, ..Config::default() }, "`otlp_flush_ms`"),
        (Config { otlp_endpoint: endpoint(), otlp_timeout_ms: 0, ..Config::default() }, "`otlp_timeout_ms`"),
        (
            Config {
                otlp_endpoint: endpoint(),
                otlp_headers: Some(Secret::new("a: hush")),
                otlp_headers_file: Some(gone.clone()),
                ..Config::default()
            },
            "set one of them",
        ),
        (Config { otlp_endpoint: endpoint(), otlp_headers: Some(Secret::new("hush")), ..Config::default() }, "`otlp_headers`: line 1"),
        (Config { otlp_endpoint: endpoint(), otlp_headers_file: Some(no_header), ..Config::default() }, "no-header: line 1"),
        (Config { otlp_endpoint: endpoint(), otlp_headers_file: Some(gone.clone()), ..Config::default() }, "gone"),
        (Config { otlp_endpoint: endpoint(), otlp_ca_file: Some(gone), ..Config::default() }, "gone"),
    ];
    let house = House::open().await;
    for (config, told) in cases {
        let config = Config { listen: ([127, 0, 0, 1], 0).into(), ..config };
        let refused = Server::bind(&config, Parts::new(house.backend.clone(), [7; 32])).await.expect_err(told);
        assert_eq!(refused.code.code(), "configuration_invalid", "{refused}");
        assert!(refused.detail.contains(told) && !refused.detail.contains("hush"), "{told}: {refused}");
    }
}

#[test]
fn settings_of_traces_come_from_where_all_others_do() {
    let environment = [
        ("NEVERTWICE_OTLP_ENDPOINT", "http://collector:4318"),
        ("NEVERTWICE_OTLP_HEADERS", "authorization: Bearer hush"),
        ("NEVERTWICE_OTLP_SAMPLE_RATIO", "0.25"),
    ];
    let environment = environment.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let config = load(&Sources { environment, ..Sources::default() }).expect("they are taken");
    assert_eq!((config.otlp_endpoint.as_deref(), config.otlp_sample_ratio), (Some("http://collector:4318"), 0.25));
    assert_eq!(config.otlp_headers.map(|secret| secret.reveal().to_owned()).as_deref(), Some("authorization: Bearer hush"));
    assert_eq!(check_otlp_files(&Config::default()), Ok(None));
    let plain = Config { otlp_endpoint: Some("http://a".to_owned()), otlp_headers: Some(Secret::new("a: b")), ..Config::default() };
    assert_eq!(check_otlp_files(&plain), Ok(Some(true)), "secrets go where others can read them");
}

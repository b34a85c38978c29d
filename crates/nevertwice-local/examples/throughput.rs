//! Independent callers against the backend on a real disk, each waiting for its own answer:
//! `cargo run --release -p nevertwice-local --example throughput -- FOLDER [IN_FLIGHT]...`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nevertwice_api::{Backend, GroupReport, Levels, Observer, Request};
use nevertwice_core::{
    AccountClass, Action, Command, Decision, IdempotencyKey, Intent, ListInstrument, MarketLimits, MarketMode, Name, OpenAccount,
    OpenMarket, PlaceOrder, Principal, ShardId, Side,
};
use nevertwice_local::clock::SystemClock;
use nevertwice_local::storage::FileStorage;
use nevertwice_local::{LocalBackend, LocalOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ACCOUNTS: u64 = 1_000;
const SECONDS: u64 = 5;

#[derive(Default)]
struct Figures {
    groups: AtomicU64,
    items: AtomicU64,
    bytes: AtomicU64,
    decide_ns: AtomicU64,
    sync_ns: AtomicU64,
    /// Syncs that took over 1, 2 and 5 ms.
    slow: [AtomicU64; 3],
}

impl Observer for Figures {
    fn group(&self, report: GroupReport) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.items.fetch_add(report.items as u64, Ordering::Relaxed);
        self.bytes.fetch_add(report.bytes as u64, Ordering::Relaxed);
        self.decide_ns.fetch_add(report.decide.as_nanos() as u64, Ordering::Relaxed);
        self.sync_ns.fetch_add(report.sync.as_nanos() as u64, Ordering::Relaxed);
        for (count, ms) in self.slow.iter().zip([1, 2, 5]) {
            count.fetch_add(u64::from(report.sync > Duration::from_millis(ms)), Ordering::Relaxed);
        }
    }
    fn snapshot(&self, records: u64, took: Duration) {
        println!("  a snapshot of {records} records took {took:?}");
    }
    fn poisoned(&self) {
        println!("  poisoned");
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a good name")
}

fn request(key: String, action: impl Into<Action>) -> Request {
    let intent = Intent {
        principal: Principal::new("bench").expect("a good principal"),
        key: IdempotencyKey::new(&key).expect("a good key"),
        fingerprint: [7; 32],
        expires_at: None,
    };
    Request { shard: ShardId::market(name("cup")), command: Command { intent, action: action.into() }, levels: Levels::NONE }
}

fn order(task: u64, number: u64) -> Request {
    let order = PlaceOrder {
        account: name(&format!("a{}", (task * 7919 + number) % ACCOUNTS)),
        instrument: name("hot"),
        side: if number.is_multiple_of(2) { Side::Buy } else { Side::Sell },
        quantity: 1,
        limit_price: None,
        expected_price: None,
        max_slippage_bps: None,
    };
    request(format!("{task}-{number}"), order)
}

async fn open_market(backend: &LocalBackend) {
    let limits = MarketLimits { quantity_max: 1_000, holding_max: 90_000_000, house_loss_max: 0 };
    let open = OpenMarket { decimals: 2, fee_bps: 10, limits, mode: MarketMode::Open, retention_ms: 86_400_000 };
    let mut requests = vec![
        request("open".to_owned(), open),
        request("list".to_owned(), ListInstrument { instrument: name("hot"), base: 1_000_000, slope: 1 }),
    ];
    for account in 0..ACCOUNTS {
        let open = OpenAccount { account: name(&format!("a{account}")), class: AccountClass::Bot, opening_balance: 1 << 40 };
        requests.push(request(format!("account-{account}"), open));
    }
    for request in requests {
        let answer = backend.submit(request).await.expect("it is ready");
        assert!(matches!(answer.decision, Decision::Accepted(_)), "{answer:?}");
    }
}

/// The processor time of this process so far, from Linux's own account in hundredths of a second; 0 elsewhere.
fn processor_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<f64>().ok()).sum();
    ticks * 10_000.0
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("name a folder"));
    let chosen: Vec<u64> = std::env::args().skip(2).filter_map(|number| number.parse().ok()).collect();
    let chosen = if chosen.is_empty() { vec![64, 1024] } else { chosen };
    for in_flight in chosen {
        let path = folder.join(in_flight.to_string());
        let _ = std::fs::remove_dir_all(&path);
        let storage = FileStorage::create(&path).expect("a folder");
        let figures = Arc::new(Figures::default());
        let observer = Arc::clone(&figures) as Arc<dyn Observer>;
        let options = LocalOptions::default();
        let (backend, _) = LocalBackend::open(Arc::new(storage.clone()), Arc::new(SystemClock), observer, &options).expect("it opens");
        let backend = Arc::new(backend);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        runtime.block_on(open_market(&backend));
        let before = (figures.groups.load(Ordering::Relaxed), figures.items.load(Ordering::Relaxed));
        let before_us = processor_us();
        let begun = Instant::now();
        let tasks: Vec<_> = (0..in_flight)
            .map(|task| {
                let backend = Arc::clone(&backend);
                runtime.spawn(async move {
                    let mut latencies = Vec::with_capacity(20_000);
                    let mut accepted = 0_u64;
                    let mut number = 0;
                    while begun.elapsed() < Duration::from_secs(SECONDS) {
                        let sent = Instant::now();
                        let answer = backend.submit(order(task, number)).await.expect("an answer");
                        latencies.push(sent.elapsed().as_micros() as u32);
                        accepted += u64::from(matches!(answer.decision, Decision::Accepted(_)));
                        number += 1;
                    }
                    (latencies, accepted)
                })
            })
            .collect();
        let (mut latencies, mut accepted) = (Vec::new(), 0);
        for task in tasks {
            let (more, yes) = runtime.block_on(task).expect("no panic");
            latencies.extend(more);
            accepted += yes;
        }
        let took = begun.elapsed();
        latencies.sort_unstable();
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
        let groups = figures.groups.load(Ordering::Relaxed) - before.0;
        let items = figures.items.load(Ordering::Relaxed) - before.1;
        println!(
            "{in_flight} in flight: {:.0} decisions/s ({:.0} accepted/s), p50 {} us, p99 {} us, max {} us",
            latencies.len() as f64 / took.as_secs_f64(),
            accepted as f64 / took.as_secs_f64(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
        println!(
            "  {groups} syncs, {:.1} items each, {:.0} us a sync, {:.2} us a decision, {} bytes an entry",
            items as f64 / groups as f64,
            figures.sync_ns.load(Ordering::Relaxed) as f64 / groups as f64 / 1_000.0,
            figures.decide_ns.load(Ordering::Relaxed) as f64 / items as f64 / 1_000.0,
            figures.bytes.load(Ordering::Relaxed) / items
        );
        backend.stop();
        drop(backend);
        println!("  syncs over 1, 2 and 5 ms: {:?}", figures.slow);
        println!("  {:.2} us of processor time a decision", (processor_us() - before_us) / latencies.len() as f64);
        let begun = Instant::now();
        let (_, report) = LocalBackend::open(Arc::new(storage), Arc::new(SystemClock), Arc::new(nevertwice_api::NoObserver), &options)
            .expect("it opens again");
        println!("  recovery of {} entries took {:?} ({:?} with the start)", report.entries, report.took, begun.elapsed());
    }
}

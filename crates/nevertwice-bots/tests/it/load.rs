//! Load is measured from when a request was due, and counts what it got.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nevertwice_bots::http::{Request, Target};
use nevertwice_bots::load::{Answer, Plan, RawRequester, Requester, Template, closed, open};
use nevertwice_testkit::stub::{Act, Stub};

/// Takes a fixed time; once, a long one.
struct Slow {
    usual: Duration,
    stall: Option<(u64, Duration)>,
    asked: Arc<AtomicU64>,
}

impl Requester for Slow {
    async fn one(&mut self, number: u64) -> Answer {
        self.asked.fetch_add(1, Ordering::Relaxed);
        match self.stall {
            Some((at, stall)) if at == number => tokio::time::sleep(stall).await,
            _ => tokio::time::sleep(self.usual).await,
        }
        if number == 3 { Answer::Broken } else { Answer::Status(if number.is_multiple_of(2) { 200 } else { 409 }) }
    }
}

const SHORT: Plan = Plan { warm_up: Duration::ZERO, measured: Duration::from_millis(400) };

fn slow(count: usize, stall: Option<(u64, Duration)>) -> (Vec<Slow>, Arc<AtomicU64>) {
    let asked = Arc::<AtomicU64>::default();
    let one = |_| Slow { usual: Duration::from_millis(1), stall, asked: asked.clone() };
    ((0..count).map(one).collect(), asked)
}

#[tokio::test]
async fn a_closed_loop_counts_everything_it_asked() {
    let (requesters, asked) = slow(4, None);
    let measured = closed(requesters, SHORT).await;
    let counted = measured.by_status.values().sum::<u64>() + measured.broken;
    assert_eq!(counted, asked.load(Ordering::Relaxed));
    assert_eq!((measured.broken, measured.by_status.len()), (1, 2));
    assert_eq!(measured.failed(), measured.by_status[&409] + 1);
    assert!(measured.per_second() > 100.0 && measured.latency.percentile_us(50.0) >= 1000);
}

/// One requester that stalls for 200 ms: everything that came due meanwhile waited, and its latency says so.
#[tokio::test]
async fn an_open_loop_omits_nothing() {
    let (requesters, asked) = slow(1, Some((20, Duration::from_millis(200))));
    let measured = open(requesters, 200.0, SHORT).await;
    assert_eq!(asked.load(Ordering::Relaxed), 80, "400 ms at 200 a second");
    assert_eq!(measured.latency.count() + measured.broken, 80);
    assert_eq!(measured.unsent, 0);
    let late = measured.latency.count_between_us(20_000, 10_000_000);
    assert!(late > 25, "of 40 due within the stall only {late} were charged for it");
}

#[tokio::test]
async fn raw_requests_reach_a_server() {
    let stub = Stub::start(&[Act::AnswerOnce, Act::Answer]).await;
    let target = Target::parse(&stub.base_url()).expect("an address");
    let request = Request::post("/x", &serde_json::json!({"n": "<<n:8>>"})).expect("JSON").header("idempotency-key", "<<n:8>>");
    let template = Template::new(&request, &target);
    // Two slots of one name: the first is found, so the key changes and the body does not.
    let template = template.expect("a template");
    let slot = template.slot("n").expect("a slot");
    let requester = RawRequester::new(target, template, move |template, number| template.set(slot, number));
    let measured = closed(vec![requester], SHORT).await;
    assert!(measured.by_status[&200] > 10 && measured.broken <= 1, "{measured:?}");
    let fifth = |text: &str| text.contains("idempotency-key: 00000005\r\n") && text.ends_with("{\"n\":\"00000000\"}");
    assert!(stub.seen().iter().any(|(_, text)| fifth(text)), "{:?}", stub.seen().get(..9));
}

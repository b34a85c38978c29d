//! Payments, and what may go wrong with a gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nevertwice_api::BoxFuture;
use nevertwice_core::PaymentUrl;
use nevertwice_server::{Closed, GatewayError, PaymentGateway, PaymentStatus, Session};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::client::{Ask, send_and_reset};
use crate::house::{House, Plan, START_MS, eventually, path_of};

/// A gateway that fails as long as it is told to.
#[derive(Default)]
struct Moody {
    fails: AtomicBool,
    paid: AtomicBool,
    created: AtomicUsize,
    silent: AtomicBool,
}

impl PaymentGateway for Moody {
    fn create(&self, session: Session) -> BoxFuture<'static, Result<PaymentUrl, GatewayError>> {
        self.created.fetch_add(1, Ordering::SeqCst);
        let fails = self.fails.load(Ordering::SeqCst);
        Box::pin(async move {
            if fails {
                Err(GatewayError("it is out for lunch".to_owned()))
            } else {
                Ok(PaymentUrl::new(&format!("https://pay.example/{}", session.payment)).expect("a URL"))
            }
        })
    }

    fn status(&self, _session: Session) -> BoxFuture<'static, Result<PaymentStatus, GatewayError>> {
        let (silent, paid) = (self.silent.load(Ordering::SeqCst), self.paid.load(Ordering::SeqCst));
        Box::pin(async move {
            match (silent, paid) {
                (true, _) => Err(GatewayError("it says nothing".to_owned())),
                (_, true) => Ok(PaymentStatus::Paid),
                (_, false) => Ok(PaymentStatus::Open),
            }
        })
    }

    fn close(&self, _session: Session) -> BoxFuture<'static, Result<Closed, GatewayError>> {
        let (fails, paid) = (self.fails.load(Ordering::SeqCst), self.paid.load(Ordering::SeqCst));
        Box::pin(async move {
            match (fails, paid) {
                (true, _) => Err(GatewayError("it is out for lunch".to_owned())),
                (_, true) => Ok(Closed::Paid),
                (_, false) => Ok(Closed::Unpaid),
            }
        })
    }
}

async fn with_gateway() -> (House, Arc<Moody>) {
    let gateway = Arc::new(Moody::default());
    let plan = Plan { gateway: Some(Arc::clone(&gateway) as Arc<dyn PaymentGateway>), ..Plan::default() };
    (House::with(plan).await.with_sale().await, gateway)
}

#[tokio::test]
async fn a_replay_goes_on_where_the_gateway_failed() {
    let (house, gateway) = with_gateway().await;
    gateway.fails.store(true, Ordering::SeqCst);
    let failed = house.book("a", "A1", "north").await;
    assert_eq!((failed.status, failed.code().as_str()), (502, "gateway_failed"));
    let booking = failed.json()["figures"]["booking"].clone();
    assert_eq!((&booking["state"], booking.get("payment_url")), (&json!("paying"), None), "{booking}");
    gateway.fails.store(false, Ordering::SeqCst);
    let replay = house.book("a", "A1", "north").await;
    assert_eq!(replay.status, 200);
    let replay = replay.json();
    assert_eq!(replay["state"]["payment"], booking["payment"]);
    assert!(replay["state"]["payment_url"].as_str().is_some_and(|url| url.starts_with("https://pay.example/")));
    // What is known is not asked for again.
    let asked = gateway.created.load(Ordering::SeqCst);
    house.book("a", "A1", "north").await.result();
    assert_eq!(gateway.created.load(Ordering::SeqCst), asked);
}

#[tokio::test]
async fn a_rival_with_another_key_goes_on_as_well() {
    let (house, gateway) = with_gateway().await;
    gateway.fails.store(true, Ordering::SeqCst);
    assert_eq!(house.book("a", "A1", "north").await.code(), "gateway_failed");
    gateway.fails.store(false, Ordering::SeqCst);
    let rival = house.book("b", "A1", "north").await;
    assert_eq!(rival.code(), "already_booked");
    assert!(rival.json()["figures"]["booking"]["payment_url"].is_string());
}

#[tokio::test]
async fn no_seat_is_given_back_whose_payment_may_still_be_made() {
    let (house, gateway) = with_gateway().await;
    let booked = house.book("a", "A1", "north").await.json();
    let release = format!("/v1/sales/final/bookings/{}/release", booked["result"]["booking"].as_str().expect("an id"));
    let owner = json!({"payment": booked["state"]["payment"]});
    gateway.fails.store(true, Ordering::SeqCst);
    assert_eq!(house.post(&release, "r", owner.clone()).await.code(), "gateway_failed");
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paying");
    gateway.fails.store(false, Ordering::SeqCst);
    gateway.paid.store(true, Ordering::SeqCst);
    assert_eq!(house.post(&release, "r", owner).await.code(), "already_paid");
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paid");
}

/// A gateway that closes a payment only once it is let.
struct Slow {
    asked: mpsc::UnboundedSender<()>,
    let_go: watch::Receiver<bool>,
}

impl PaymentGateway for Slow {
    fn create(&self, session: Session) -> BoxFuture<'static, Result<PaymentUrl, GatewayError>> {
        Box::pin(async move { Ok(PaymentUrl::new(&format!("https://pay.example/{}", session.payment)).expect("a URL")) })
    }

    fn status(&self, _session: Session) -> BoxFuture<'static, Result<PaymentStatus, GatewayError>> {
        Box::pin(async { Ok(PaymentStatus::Open) })
    }

    fn close(&self, _session: Session) -> BoxFuture<'static, Result<Closed, GatewayError>> {
        let (asked, mut let_go) = (self.asked.clone(), self.let_go.clone());
        Box::pin(async move {
            asked.send(()).expect("the test waits");
            let_go.wait_for(|let_go| *let_go).await.expect("the test waits");
            Ok(Closed::Unpaid)
        })
    }
}

#[tokio::test]
async fn a_release_goes_on_after_the_gateway_although_its_sender_hung_up() {
    let (asked, mut was_asked) = mpsc::unbounded_channel();
    let (let_go, may_go) = watch::channel(false);
    let plan = Plan { gateway: Some(Arc::new(Slow { asked, let_go: may_go })), ..Plan::default() };
    let house = House::with(plan).await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let at = format!("/v1/sales/final/bookings/{}/release", booked["result"]["booking"].as_str().expect("an id"));
    let release = Ask::post(at, "r", json!({"payment": booked["state"]["payment"]}).to_string());
    send_and_reset(house.addr, &release, was_asked.recv()).await;
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paying");
    let_go.send_replace(true);
    eventually("the seat is given back", async || (house.booking(&booked["result"]["booking"]).await["state"] == "released").then_some(()))
        .await;
    let replay = house.send(release).await;
    assert_eq!((replay.status, replay.header("idempotent-replayed")), (200, Some("true")));
    assert!(was_asked.is_empty(), "a replay closes no payment");
}

#[tokio::test]
async fn what_is_refused_or_a_replay_closes_no_payment() {
    let house = House::open().await.with_sale().await;
    let first = house.book("a", "A1", "north").await.json();
    let second = house.book("b", "B2", "north").await.json();
    let release = |booked: &Value| format!("/v1/sales/final/bookings/{}/release", booked["result"]["booking"].as_str().expect("an id"));
    let owner = |booked: &Value| json!({"payment": booked["state"]["payment"]}).to_string();
    house.send(Ask::post(release(&first), "r", owner(&first))).await.result();
    // The key did something else; the intent was given up.
    assert_eq!(house.send(Ask::post(release(&second), "r", owner(&second))).await.code(), "fingerprint_mismatch");
    let late = Ask::post(release(&second), "late", owner(&second)).header("idempotency-expires", START_MS.to_string());
    assert_eq!(house.send(late).await.code(), "intent_expired");
    let paid = house.send(Ask::new("POST", format!("{}/pay", path_of(&second["state"]["payment_url"])))).await;
    assert!(paid.status == 200 && paid.text.contains("is paid"), "{}", paid.text);
}

#[tokio::test]
async fn declined_can_be_tried_again_while_the_seat_is_held() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let url = path_of(&booked["state"]["payment_url"]);
    let declined = house.send(Ask::new("POST", format!("{url}/decline"))).await;
    assert!(declined.status == 200 && declined.text.contains("declined"), "{}", declined.text);
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paying");
    assert!(house.get(&url).await.text.contains("declined"));
    assert!(house.send(Ask::new("POST", format!("{url}/pay"))).await.text.contains("is paid"));
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paid");
}

#[tokio::test]
async fn paid_too_late_is_an_alarm_and_a_refund_and_never_a_seat() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let id = &booked["result"]["booking"];
    let url = path_of(&booked["state"]["payment_url"]);
    house.post(format!("/v1/sales/final/bookings/{}/release", id.as_str().expect("an id")), "r", json!({})).await.result();
    // A restart makes the sandbox forget that it had closed the payment: now it takes the money.
    let house = house.reopen(Plan::default()).await;
    for _ in 0..2 {
        let late = house.send(Ask::new("POST", format!("{url}/pay"))).await;
        assert!(late.status == 409 && late.text.contains("will be refunded"), "{}", late.text);
    }
    assert!(house.get(&url).await.text.contains("will be refunded"));
    assert_eq!(house.booking(id).await["state"], "released");
    // One payment, one refund, one alarm.
    assert_eq!(house.metric("nevertwice_late_payments_total").await, 1.0);
}

#[tokio::test]
async fn there_is_no_page_for_what_is_no_payment() {
    let house = House::open().await.with_sale().await;
    house.book("a", "A1", "north").await.result();
    for path in ["final/final.1-999", "final/final.1-1", "final/other.1-4", "nowhere/nowhere.1-1", "final/x%20y"] {
        for ask in [Ask::get(format!("/sandbox/payments/{path}")), Ask::new("POST", format!("/sandbox/payments/{path}/pay"))] {
            let answer = house.send(ask).await;
            assert!(answer.status == 404 && answer.text.contains("no such payment"), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_paid_seat_is_paid_after_a_restart() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let url = path_of(&booked["state"]["payment_url"]);
    house.send(Ask::new("POST", format!("{url}/pay"))).await;
    let house = house.reopen(Plan::default()).await;
    assert!(house.get(&url).await.text.contains("is paid"));
    assert!(house.send(Ask::new("POST", format!("{url}/pay"))).await.text.contains("is paid"));
    let replay = house.book("a", "A1", "north").await.json();
    assert_eq!((&replay["state"]["state"], &replay["result"]), (&json!("paid"), &booked["result"]));
}

#[tokio::test]
async fn with_another_gateway_there_is_no_sandbox_that_confirms() {
    let (house, _) = with_gateway().await;
    let booked = house.book("a", "A1", "north").await.json();
    let page = format!("/sandbox/payments/final/{}", booked["state"]["payment"].as_str().expect("a payment"));
    for ask in [Ask::get(&page), Ask::new("POST", format!("{page}/pay")), Ask::new("POST", format!("{page}/decline"))] {
        let answer = house.send(ask).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "route_unknown"));
    }
    assert_eq!(house.booking(&booked["result"]["booking"]).await["state"], "paying");
    assert_eq!(house.get("/v1/sales/final").await.result()["live"], 1);
}

/// The sandbox keeps what it was told in memory; what the booking says is not forgotten.
#[tokio::test]
async fn the_sandbox_forgets_a_declined_payment_at_a_restart_and_the_booking_nothing() {
    let house = House::open().await.with_sale().await;
    let (declined, paid) = (house.book("a", "A1", "north").await.json(), house.book("b", "B2", "north").await.json());
    let page = |booked: &Value| path_of(&booked["state"]["payment_url"]);
    house.send(Ask::new("POST", format!("{}/decline", page(&declined)))).await;
    house.send(Ask::new("POST", format!("{}/pay", page(&paid)))).await;
    assert!(house.get(page(&declined)).await.text.contains("was declined"));
    let house = house.reopen(Plan::default()).await;
    let shown = house.get(page(&declined)).await.text;
    assert!(shown.contains("Pay for your seat") && !shown.contains("was declined"), "{shown}");
    assert!(house.get(page(&paid)).await.text.contains("is paid"));
    assert_eq!(house.booking(&declined["result"]["booking"]).await["state"], "paying");
    // It can be declined, and paid, as before.
    assert!(house.send(Ask::new("POST", format!("{}/decline", page(&declined)))).await.text.contains("was declined"));
    assert!(house.send(Ask::new("POST", format!("{}/pay", page(&declined)))).await.text.contains("is paid"));
    assert_eq!(house.booking(&declined["result"]["booking"]).await["state"], "paid");
}

#[tokio::test]
async fn a_booking_of_which_the_gateway_says_nothing_is_overdue_from_the_end_of_its_grace_on() {
    let gateway = Arc::new(Moody::default());
    let mut plan = Plan { gateway: Some(Arc::clone(&gateway) as Arc<dyn PaymentGateway>), ..Plan::default() };
    plan.config.sweep_ms = 10;
    let house = House::with(plan).await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    gateway.silent.store(true, Ordering::SeqCst);
    house.later(600_000);
    let state = async || house.booking(&booked["result"]["booking"]).await["state"].clone();
    eventually("its hold has ended", async || (state().await == "closing").then_some(())).await;
    assert_eq!(house.metric("nevertwice_closings_overdue").await, 0.0, "it may still be paid");
    house.later(60_000);
    eventually("it is overdue", async || (house.metric("nevertwice_closings_overdue").await == 1.0).then_some(())).await;
    assert_eq!(state().await, "closing", "silence gives no seat back");
    gateway.silent.store(false, Ordering::SeqCst);
    eventually("it has ended", async || (house.metric("nevertwice_closings_overdue").await == 0.0).then_some(())).await;
    assert_eq!(state().await, "released");
}

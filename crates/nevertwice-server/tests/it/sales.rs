//! Sales over HTTP.

use serde_json::json;

use crate::client::Ask;
use crate::house::{House, Plan, path_of};

#[tokio::test]
async fn a_booking_from_admission_to_payment() {
    let house = House::open().await.with_sale().await;
    let answer = house.book("a", " a1 ", "north").await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let booked = answer.json();
    let (result, state) = (&booked["result"], &booked["state"]);
    assert_eq!((&result["seat"], &result["level"]), (&json!(1), &json!("north")));
    assert_eq!(result["reference"].as_str().map(str::len), Some(12));
    assert_eq!((&state["state"], &state["booking"]), (&json!("paying"), &result["booking"]));
    let page = house.get(path_of(&state["payment_url"])).await;
    assert!(page.status == 200 && page.text.contains("<form") && page.text.contains("/pay\""), "{}", page.text);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let paid = house.send(Ask::new("POST", format!("{}/pay", path_of(&state["payment_url"])))).await;
    assert!(paid.status == 200 && paid.text.contains("is paid"), "{}", paid.text);
    assert_eq!(house.booking(&result["booking"]).await["state"], "paid");
    // Paying again changes nothing, and neither does declining.
    for verb in ["pay", "decline"] {
        let again = house.send(Ask::new("POST", format!("{}/{verb}", path_of(&state["payment_url"])))).await;
        assert!(again.status == 200 && again.text.contains("is paid"), "{}", again.text);
    }
    let replay = house.book("a", " a1 ", "north").await;
    assert_eq!((replay.status, replay.header("idempotent-replayed")), (200, Some("true")));
    let replay = replay.json();
    assert_eq!(replay["result"].to_string(), booked["result"].to_string());
    assert_eq!(replay["state"]["state"], "paid");
}

#[tokio::test]
async fn another_key_for_the_same_person_leads_to_the_booking_that_exists() {
    let house = House::open().await.with_sale().await;
    let first = house.book("a", "A1", "north").await.json();
    let second = house.book("b", "A1", "south").await;
    assert_eq!((second.status, second.code().as_str()), (409, "already_booked"));
    assert_eq!(second.json()["figures"]["booking"], first["state"]);
    // The seat counts once, and the second key is still free.
    assert_eq!(house.get("/v1/sales/final").await.result()["live"], 1);
}

#[tokio::test]
async fn caps_hold_and_say_so() {
    let house = House::open().await.with_sale().await;
    for (key, code, level) in [("a", "A1", "north"), ("b", "B2", "north"), ("c", "C3", "north")] {
        let answer = house.book(key, code, level).await;
        if key == "c" {
            assert_eq!((answer.code().as_str(), &answer.json()["figures"]["cap"]), ("level_full", &json!(2)));
        } else {
            answer.result();
        }
    }
    assert_eq!(house.book("c", "C3", "south").await.result()["seat"], 3);
    let dee = json!({"code": "D4", "email": " DEE@example.org ", "level": "north"});
    assert_eq!(house.post("/v1/sales/final/caps", "up", json!({"levels": [{"level": "north", "cap": 3}]})).await.result()["total_cap"], 3);
    assert_eq!(house.post("/v1/sales/final/bookings", "d", dee.clone()).await.code(), "sale_full");
    let answer = house.post("/v1/sales/final/caps", "down", json!({"levels": [{"level": "north", "cap": 1}]})).await;
    assert_eq!((answer.code().as_str(), &answer.json()["figures"]["live"]), ("cap_below_live", &json!(2)));
    house.post("/v1/sales/final/caps", "total", json!({"total_cap": 4})).await.result();
    assert_eq!(house.post("/v1/sales/final/bookings", "d", dee).await.result()["seat"], 4);
    assert_eq!(house.metric("nevertwice_live_bookings{sale=\"final\",level=\"north\"}").await, 3.0);
}

#[tokio::test]
async fn the_doors_and_the_window() {
    let house = House::open().await.with_sale().await;
    let first = house.book("a", "A1", "north").await.json();
    house.post("/v1/sales/final/open", "close", json!({"open": false})).await.result();
    assert_eq!(house.book("b", "B2", "north").await.code(), "sale_closed");
    // Who has a booking passes the doors.
    assert_eq!(house.book("a", "A1", "north").await.json()["result"], first["result"]);
    assert_eq!(house.book("a2", "A1", "north").await.code(), "already_booked");
    house.post("/v1/sales/final/open", "reopen", json!({"open": true})).await.result();
    house.later(86_400_000);
    assert_eq!(house.book("b", "B2", "north").await.code(), "sale_ended");
}

#[tokio::test]
async fn a_program_that_fills_in_everything_gets_what_looks_like_a_seat() {
    let house = House::open().await.with_sale().await;
    let real = house.book("a", "A1", "north").await;
    let before = house.get("/v1/sales/final").await.json();
    let body = json!({"code": "B2", "level": "north", "website": "https://spam.example"});
    let fake = house.post("/v1/sales/final/bookings", "b", body).await;
    assert_eq!(fake.status, 201);
    let names = |answer: &crate::client::Answer| -> Vec<String> {
        answer.headers.iter().map(|(name, _)| name.clone()).filter(|name| name != "content-length").collect()
    };
    assert_eq!(names(&fake), names(&real));
    let (fake, real) = (fake.json(), real.json());
    let shape = |value: &serde_json::Value| -> Vec<(String, Vec<String>)> {
        let members = value.as_object().expect("an object").iter();
        members
            .map(|(name, value)| (name.clone(), value.as_object().map(|inner| inner.keys().cloned().collect()).unwrap_or_default()))
            .collect()
    };
    assert_eq!(shape(&fake), shape(&real));
    let seat = fake["result"]["seat"].as_u64().expect("a seat");
    assert!((1..=3).contains(&seat) && fake["state"]["state"] == "paying", "{fake}");
    assert_eq!(fake["levels"], real["levels"]);
    // Nothing happened but a count.
    assert_eq!(house.get("/v1/sales/final").await.json(), before);
    assert_eq!(house.metric("nevertwice_honeypot_hits_total").await, 1.0);
    assert_eq!(house.book("b", "B2", "north").await.status, 201);
    let empty = json!({"code": "C3", "level": "south", "website": ""});
    house.post("/v1/sales/final/bookings", "c", empty).await.result();
    assert_eq!(house.metric("nevertwice_honeypot_hits_total").await, 1.0);
}

/// A browser may fill in the hidden field for a person; who has a booking passes the doors all the same.
#[tokio::test]
async fn who_has_a_booking_gets_it_even_with_the_hidden_field_filled_in() {
    let house = House::open().await.with_sale().await;
    let first = house.book("a", "A1", "north").await.json();
    let filled = json!({"code": "A1", "level": "north", "website": "filled in by a browser"});
    let retry = house.post("/v1/sales/final/bookings", "a", filled.clone()).await;
    assert_eq!((retry.status, &retry.json()["result"]), (200, &first["result"]));
    assert_eq!(house.post("/v1/sales/final/bookings", "a2", filled).await.code(), "already_booked");
    assert_eq!(house.metric("nevertwice_honeypot_hits_total").await, 0.0);
}

#[tokio::test]
async fn a_program_s_retry_hears_what_it_was_told_before() {
    let house = House::open().await.with_sale().await;
    let real = (house.book("a", "A1", "north").await, house.book("a", "A1", "north").await);
    let filled = |code: &str| json!({"code": code, "level": "north", "website": "https://spam.example"});
    let tell = |code: &'static str| house.post("/v1/sales/final/bookings", "robot", filled(code));
    let fake = tell("B2").await;
    house.later(5_000);
    let again = tell("B2").await;
    let names = |answer: &crate::client::Answer| answer.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    for (fake, real) in [(&fake, &real.0), (&again, &real.1)] {
        assert_eq!((fake.status, names(fake)), (real.status, names(real)));
        assert_eq!(fake.json()["replayed"], real.json()["replayed"]);
        // As long as that of a person, figure by figure.
        for member in ["booking", "reference", "seat", "hold_expires_at", "position", "at_ms"] {
            let length = |answer: &crate::client::Answer| answer.json()["result"][member].to_string().len();
            assert_eq!(length(fake), length(real), "{member}: {fake:?}");
        }
    }
    assert_eq!((&again.json()["result"], &again.json()["state"]), (&fake.json()["result"], &fake.json()["state"]));
    assert_eq!(tell("C3").await.code(), "fingerprint_mismatch");
    house.post("/v1/sales/final/open", "shut", json!({"open": false})).await.result();
    assert_eq!(tell("B2").await.json()["result"], fake.json()["result"], "who has one passes the doors");
    assert_eq!(house.metric("nevertwice_honeypot_hits_total").await, 3.0);
}

#[tokio::test]
async fn what_a_program_is_told_is_nobodys_and_counts_as_nothing() {
    let house = House::open().await.with_sale().await;
    let body = json!({"code": "B2", "level": "north", "website": "https://spam.example"});
    let fake = house.post("/v1/sales/final/bookings", "robot", body.clone()).await.json();
    let again = house.post("/v1/sales/final/bookings", "robot", body).await.json();
    for member in ["booking", "position", "seat"] {
        assert_eq!(again["result"][member], fake["result"][member], "{member}");
    }
    assert_eq!((&again["state"]["payment_url"], &again["position"]), (&fake["state"]["payment_url"], &fake["position"]));
    let [booking, position] = [&fake["result"]["booking"], &fake["position"]].map(|text| text.as_str().expect("a position").to_owned());
    // The next people get none of what the program was told, and the program can't pay or end anything of theirs.
    for (key, code, level) in [("a", "A1", "north"), ("b", "B2", "north"), ("c", "C3", "south")] {
        let real = house.book(key, code, level).await.json();
        assert_ne!(real["result"]["booking"], booking);
        assert_ne!(real["state"]["payment"], fake["state"]["payment"]);
        let page = house.send(Ask::new("POST", format!("{}/pay", path_of(&fake["state"]["payment_url"])))).await;
        assert_eq!(page.status, 404);
        assert_eq!(house.booking(&real["result"]["booking"]).await["state"], "paying");
    }
    let counted = |outcome: &str| format!("nevertwice_requests_total{{endpoint=\"book\",outcome=\"{outcome}\"}}");
    assert_eq!(house.metric(&counted("feigned")).await, 2.0);
    assert_eq!(house.metric(&counted("accepted")).await, 3.0);
    // Nor does a restart make it anybody's.
    let house = house.reopen(Plan::default()).await;
    house.post("/v1/sales/final/open", "shut", json!({"open": false})).await.result();
    assert_eq!(house.get(format!("/v1/sales/final/bookings/{booking}")).await.code(), "unknown_booking");
    assert_eq!(house.get(format!("/v1/sales/final/acks/{position}")).await.code(), "position_unknown");
}

#[tokio::test]
async fn a_release_names_the_owner_and_gives_the_seat_back() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let release = format!("/v1/sales/final/bookings/{}/release", booked["result"]["booking"].as_str().expect("an id"));
    // Once a payment has begun, it owns the seat, and not the key any more.
    assert_eq!(house.post(&release, "r", json!({"booked_with": "a"})).await.code(), "not_owner");
    assert_eq!(house.post(&release, "r", json!({"payment": "final.9-9"})).await.code(), "not_owner");
    let both = json!({"payment": booked["state"]["payment"], "booked_with": "a"});
    assert_eq!(house.post(&release, "r", both).await.code(), "body_invalid");
    let owner = json!({"payment": booked["state"]["payment"]});
    let released = house.post(&release, "r", owner.clone()).await.result();
    assert_eq!((&released["reason"], &released["seat"]), (&json!("cancelled"), &json!(1)));
    let again = house.post(&release, "r", owner.clone()).await;
    assert_eq!((again.status, again.json()["result"].to_string()), (200, released.to_string()));
    assert_eq!(house.post(&release, "r2", owner).await.code(), "already_released");
    // The page of its payment does not take money any more.
    let url = path_of(&booked["state"]["payment_url"]);
    assert!(house.get(&url).await.text.contains("given back"));
    assert_eq!(house.send(Ask::new("POST", format!("{url}/pay"))).await.status, 409);
    // The same key tells that it has done its work; a new one books, and gets the lowest free seat.
    let replay = house.book("a", "A1", "north").await.json();
    assert_eq!((&replay["state"]["state"], &replay["replayed"]), (&json!("released"), &json!(true)));
    assert_eq!(replay["result"], booked["result"]);
    assert_eq!(house.book("a-new", "A1", "north").await.result()["seat"], 1);
}

#[tokio::test]
async fn an_operator_releases_without_naming_the_owner_but_never_what_is_paid() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let release = |id: &serde_json::Value| format!("/v1/sales/final/bookings/{}/release", id.as_str().expect("an id"));
    let released = house.post(release(&booked["result"]["booking"]), "r", json!({})).await.result();
    assert_eq!(released["reason"], "operator");
    let paid = house.book("b", "B2", "north").await.json();
    house.send(Ask::new("POST", format!("{}/pay", path_of(&paid["state"]["payment_url"])))).await;
    assert_eq!(house.post(release(&paid["result"]["booking"]), "r2", json!({})).await.code(), "already_paid");
    let confirm = release(&paid["result"]["booking"]).replace("release", "confirm");
    assert_eq!(house.post(confirm, "c", json!({"payment": paid["state"]["payment"]})).await.code(), "already_paid");
    let all = house.get("/v1/sales/final/bookings").await.result();
    assert!(all["bookings"].is_array());
}

#[tokio::test]
async fn another_spelling_of_the_same_code_and_address_is_a_replay() {
    let house = House::open().await.with_sale().await;
    let book = |code: &str, email: &str, level: &str| {
        let body = json!({"code": code, "email": email, "level": level});
        house.post("/v1/sales/final/bookings", "a", body)
    };
    let first = book(" d4", "dee@example.org", "north").await;
    let again = book("D4", " DEE@example.org", "north").await;
    assert_eq!((first.status, again.status), (201, 200), "{}", again.text);
    assert_eq!(again.json()["result"], first.json()["result"]);
    for other in [book("D4", "dee@example.org", "south"), book("A1", "dee@example.org", "north"), book("D4", "x@example.org", "north")] {
        assert_eq!(other.await.code(), "fingerprint_mismatch");
    }
    // A member that is not there is another one than a member that is.
    let without = house.book("a", "D4", "north").await;
    assert_eq!(without.code(), "fingerprint_mismatch");
    // But for the hidden field, which people don't see and browsers may send.
    let unseen = json!({"code": "D4", "email": "dee@example.org", "level": "north", "website": ""});
    assert_eq!(house.post("/v1/sales/final/bookings", "a", unseen).await.json()["result"], first.json()["result"]);
}

/// The steward comes by every `sweep_ms`; a hold that is shorter than four of them would end far too late.
#[tokio::test]
async fn a_hold_is_at_least_four_sweeps_long() {
    let short = |plan: &mut Plan, sweep_ms| plan.config.sweep_ms = sweep_ms;
    let mut plan = Plan::default();
    short(&mut plan, 5_000);
    let house = House::with(plan).await;
    let sale = |hold_ms: i64| json!({"sale": "final", "levels": [{"level": "n", "cap": 1}], "total_cap": 1, "hold_ms": hold_ms, "opens_at": 0, "closes_at": 1});
    for hold_ms in [i64::MIN, 0, 1, 19_999] {
        let answer = house.post("/v1/sales", "k", sale(hold_ms)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "setting_out_of_range"), "{answer:?}");
        let problem = answer.json();
        let figures = json!({"setting": "hold_ms", "min": 20_000, "max": 2_592_000_000_i64, "sweep_ms": 5_000});
        assert_eq!(problem["figures"], figures);
        let detail = problem["detail"].as_str().expect("a detail");
        assert!([&hold_ms.to_string(), "20000", "5000"].iter().all(|figure| detail.contains(*figure)), "{detail}");
    }
    assert_eq!(house.get("/v1/sales/final").await.code(), "unknown_sale");
    let opened = house.post("/v1/sales", "k", sale(20_000)).await;
    assert_eq!((opened.status, &opened.result()["hold_ms"]), (201, &json!(20_000)));
    // Under a longer sweep it is too short for a new sale; what was opened is replayed, and the key is for nothing else.
    let mut plan = Plan::default();
    short(&mut plan, 5_001);
    let house = house.reopen(plan).await;
    let replay = house.post("/v1/sales", "k", sale(20_000)).await;
    assert_eq!((replay.status, replay.result()), (200, opened.result()));
    assert_eq!(house.post("/v1/sales", "k", sale(19_999)).await.code(), "fingerprint_mismatch");
    assert_eq!(house.post("/v1/sales", "other", sale(20_000)).await.code(), "setting_out_of_range");
}

/// A null that somebody's code made of an id it lost is not the operator's word that nobody need be named.
#[tokio::test]
async fn a_release_that_names_null_is_refused() {
    let house = House::open().await.with_sale().await;
    let booked = house.book("a", "A1", "north").await.json();
    let (booking, payment) = (&booked["result"]["booking"], &booked["state"]["payment"]);
    let release = format!("/v1/sales/final/bookings/{}/release", booking.as_str().expect("a booking's id"));
    for body in [
        json!({"payment": null}),
        json!({"booked_with": null}),
        json!({"payment": null, "booked_with": null}),
        json!({"payment": payment, "booked_with": null}),
    ] {
        let answer = house.post(&release, "r", body.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "body_invalid"), "{body}: {answer:?}");
        let member = answer.json()["figures"]["member"].clone();
        assert!(body[member.as_str().expect("a member is named")].is_null(), "{body}: {answer:?}");
    }
    assert_eq!(house.booking(booking).await["state"], "paying");
    assert_eq!(house.post(&release, "r", json!({})).await.status, 200);
    let document = house.get("/openapi.json").await.json();
    let members = &document["components"]["schemas"]["Release"]["properties"];
    assert_eq!((&members["payment"]["type"], &members["booked_with"]["type"]), (&json!("string"), &json!("string")), "{members}");
}

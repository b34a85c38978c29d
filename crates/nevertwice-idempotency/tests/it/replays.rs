//! What is kept, what frees a key, and what a replay repeats.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use nevertwice_idempotency::{Generation, Oversize, Policy};

use crate::house::{House, respond};

#[tokio::test(start_paused = true)]
async fn a_replay_repeats_status_lines_and_bytes_and_not_what_belongs_to_the_moment() {
    let house = House::new(Policy::ietf(), |_, _| {
        Box::pin(async {
            let response = Response::builder()
                .status(201)
                .header("location", "/charges/7")
                .header("link", "</a>; rel=\"a,b\"")
                .header("link", "</c>; rel=c")
                .header("expires", "Thu, 01 Dec 1994 16:00:00 GMT")
                .header("set-cookie", "session=1")
                .header("www-authenticate", "Basic")
                .header("x-request-id", "17")
                .header("x-hop", "1")
                .header("connection", "x-hop");
            response.body(Body::from(vec![0, 159, 146, 150])).expect("it is a response")
        })
    });
    let first = house.post("k", "{}").await;
    assert_eq!(first.header("set-cookie"), Some("session=1"));
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("location"), Some("/charges/7"));
    let links: Vec<_> = again.headers.get_all("link").iter().collect();
    assert_eq!(links, first.headers.get_all("link").iter().collect::<Vec<_>>());
    assert_eq!(links.len(), 2);
    assert_eq!(again.header("expires"), Some("Thu, 01 Dec 1994 16:00:00 GMT"));
    for name in ["set-cookie", "www-authenticate", "x-request-id", "x-hop", "connection"] {
        assert_eq!(again.header(name), None, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_promises_no_other_length_than_it_has() {
    for length in ["2", "100", "x", "7"] {
        let house = House::new(Policy::ietf(), move |_, _| {
            Box::pin(async move {
                let mut response = respond(201, "charged");
                response.headers_mut().insert("content-length", length.parse().expect("it is a value"));
                response
            })
        });
        house.post("k", "{}").await;
        let again = house.post("k", "{}").await;
        assert_eq!((again.is_replay(), again.header("content-length")), (true, Some("7")), "{length}");
    }
}

/// Sends a key twice; tells the status of the second answer, and how often the handler ran.
async fn twice(policy: Policy, status: u16, headers: &'static [(&'static str, &'static str)]) -> (u16, bool, usize) {
    let house = House::new(policy, move |_, _| {
        Box::pin(async move {
            let mut response = respond(status, "body");
            for (name, value) in headers {
                response.headers_mut().insert(*name, value.parse().expect("it is a value"));
            }
            response
        })
    });
    let first = house.post("k", "{}").await;
    assert_eq!((first.status, first.header("idempotency-effect")), (status, None));
    let again = house.post("k", "{}").await;
    (again.status, again.is_replay(), house.runs())
}

#[tokio::test(start_paused = true)]
async fn answers_are_kept_free_the_key_or_leave_it_unknown() {
    let ietf = Policy::ietf;
    for status in [200, 201, 204, 302, 400, 404, 422] {
        assert_eq!(twice(ietf(), status, &[]).await, (status, true, 1));
    }
    for status in [401, 403, 409, 425, 429] {
        assert_eq!(twice(ietf(), status, &[]).await, (status, false, 2));
    }
    for status in [408, 500, 502, 503] {
        assert_eq!(twice(ietf(), status, &[]).await, (503, false, 1), "a transient failure is neither replayed nor run again");
    }
    assert_eq!(twice(ietf(), 503, &[("retry-after", "1")]).await, (503, false, 2));
    assert_eq!(twice(Policy { store_5xx: true, ..ietf() }, 500, &[]).await, (500, true, 1));
    assert_eq!(twice(Policy { client_errors_free: true, ..ietf() }, 422, &[]).await, (422, false, 2));
    assert_eq!(twice(ietf(), 200, &[("idempotency-effect", "none")]).await, (200, false, 2));
    assert_eq!(twice(ietf(), 500, &[("idempotency-effect", "done")]).await, (500, true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_leaves_a_tombstone_or_spills_and_never_frees_the_key() {
    const LARGE: &str = "0123456789";
    let policy = Policy { stored_bytes_max: 9, ..Policy::ietf() };
    let house = House::plain(policy.clone(), 201, LARGE);
    assert_eq!(house.post("k", "{}").await.body, LARGE.as_bytes());
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, again.code().as_str(), house.runs()), (409, "answer_not_kept", 1));
    let house = House::plain(Policy { oversize: Oversize::Spill { bytes_max: 10 }, ..policy }, 201, LARGE);
    house.post("k", "{}").await;
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, again.is_replay(), again.body.as_slice()), (201, true, LARGE.as_bytes()));
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_events_passes_and_leaves_a_tombstone() {
    let house = House::new(Policy::ietf(), |_, _| {
        Box::pin(async {
            let mut response = respond(200, "data: 1\n\n");
            response.headers_mut().insert("content-type", "text/event-stream; charset=utf-8".parse().expect("it is a value"));
            response
        })
    });
    assert_eq!(house.post("k", "{}").await.body, b"data: 1\n\n");
    assert_eq!(house.post("k", "{}").await.code(), "answer_not_kept");
    assert_eq!(house.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_right_that_was_revoked_ends_replays() {
    let policy = Policy { authorise_replay: Some(Arc::new(|caller, _| caller.principal != "ann")), ..Policy::ietf() };
    let house = House::plain(policy, 201, "secret");
    house.post("k", "{}").await;
    let again = house.post("k", "{}").await;
    assert_eq!((again.status, again.code().as_str()), (403, "role_insufficient"));
}

#[tokio::test(start_paused = true)]
async fn the_handler_gets_a_generation_that_rises() {
    let house = House::new(Policy::ietf(), |_, request| {
        let generation = request.extensions().get::<Generation>().expect("a guarded handler has one").0;
        Box::pin(
            async move { Response::builder().status(429).header("generation", generation).body(Body::empty()).expect("it is a response") },
        )
    });
    let of = |told: crate::house::Told| told.header("generation").expect("it is told").parse::<u64>().expect("it is a number");
    let (first, second) = (of(house.post("k", "{}").await), of(house.post("k", "{}").await));
    assert_eq!(second, first + 1);
}

//! Who may do what: every route against every kind of caller, from the table of routes.

use std::collections::BTreeMap;

use nevertwice_api::Backend as _;
use nevertwice_server::{Access, Method, Role, Route, routes};

use crate::callers::{Callers, Who};
use crate::client::{Answer, Ask};
use crate::house::House;

/// What the door says to those whom it does not let in.
const REFUSALS: &[&str] = &[
    "credentials_missing",
    "credentials_invalid",
    "credentials_expired",
    "credentials_revoked",
    "role_insufficient",
    "scope_insufficient",
    "principal_missing",
];

pub(crate) fn path(route: &Route) -> String {
    route.path.replace("{position}", "1-1").replace("{booking}", "1-1").replace("{code}", "no_change").replace(['{', '}'], "")
}

/// A request to a route that gets past the door, if the caller does, and is refused or served afterwards.
pub(crate) fn ask(route: &Route) -> Ask {
    match route.method {
        Method::Get => Ask::get(path(route)),
        Method::Post => Ask::post(path(route), "k", "{}"),
    }
}

fn refusal(answer: &Answer) -> Option<(u16, String)> {
    if answer.header("content-type") != Some("application/problem+json") {
        return None;
    }
    let code = answer.code();
    REFUSALS.contains(&code.as_str()).then_some((answer.status, code))
}

#[tokio::test]
async fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let callers = Callers::new();
    let house = House::configured(|config| callers.configure(config)).await;
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for route in routes() {
        for who in Who::ALL {
            let answer = house.send(callers.sign(*who, ask(route))).await;
            let expected = who.expected(route).map(|(status, code)| (status, code.to_owned()));
            assert_eq!(refusal(&answer), expected, "{route:?} {who:?}: {answer:?}");
            if answer.status == 401 {
                assert!(answer.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Bearer")), "{route:?} {who:?}");
            }
            *counted
                .entry(expected.as_ref().map_or("let in", |(_, code)| REFUSALS.iter().find(|known| *known == code).expect("known")))
                .or_default() += 1;
        }
    }
    // Each answer was seen, often, and nobody changed anything.
    for outcome in REFUSALS.iter().chain(&["let in"]) {
        assert!(counted.get(outcome).is_some_and(|count| *count >= 20), "{outcome}: {counted:?}");
    }
    assert!(house.backend.shards().await.expect("it can be read").is_empty());
}

#[test]
fn what_changes_a_shard_is_never_for_readers_and_never_for_anyone() {
    for route in routes() {
        if route.path.starts_with("/v1/") {
            assert!(!route.access.admits(Role::Nobody), "{route:?}");
            assert!(route.access != Access::Known, "{route:?}: a shard's business needs a principal or a role of its own");
            if route.method == Method::Post {
                assert!(!route.access.admits(Role::Reader), "{route:?}");
                // What owner and generation tell apart needs no key: it would guard the guard.
                let is_fenced = route.fenced && !route.keyed && route.path.starts_with("/v1/keys/");
                assert!(is_fenced || route.keyed || route.word == "place_orders", "{route:?}");
            }
        } else {
            assert!(matches!(route.access, Access::Anyone | Access::Known), "{route:?}");
        }
    }
}

#[test]
fn the_operators_work_is_for_nobody_else() {
    let is_for_operators = |role: &&Role| **role != Role::Operator;
    let work: Vec<&str> = routes()
        .iter()
        .filter(|route| !Role::ALL.iter().filter(is_for_operators).any(|role| route.access.admits(*role)))
        .map(|route| route.word)
        .collect();
    for word in [
        "open_market",
        "set_mode",
        "list_instrument",
        "reprice",
        "freeze",
        "unfreeze",
        "settle_instrument",
        "open_account",
        "open_sale",
        "load_candidates",
        "set_sale_open",
        "set_caps",
        "confirm_payment",
        "show_bookings",
    ] {
        assert!(work.contains(&word), "{word}");
    }
}

#[test]
fn a_person_reads_nothing_about_others() {
    for (word, expected) in [
        ("show_holders", false),
        ("metrics", false),
        ("show_bookings", false),
        ("show_market", true),
        ("place_order", true),
        ("book", true),
    ] {
        let route = routes().iter().find(|route| route.word == word).expect("a route");
        assert_eq!(route.access.admits(Role::Principal), expected, "{word}");
    }
}

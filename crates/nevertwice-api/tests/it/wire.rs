//! The JSON of the API.

use nevertwice_api::wire::{Admission, Order, PlaceOrder, Problem};
use nevertwice_api::{ErrorCode, wire};

use crate::samples;

#[test]
fn an_order_is_rendered_from_its_entry_alone() {
    let entry = samples::entries().swap_remove(3);
    let order = Order::of(&entry).expect("it is an order's entry");
    assert_eq!((order.order_id.as_str(), order.total, order.average.as_str()), ("2-4", 30_757, "10201.0000"));
    assert_eq!(Order::of(&samples::entries()[0]), None);
}

#[test]
fn an_average_is_cut_to_four_digits() {
    let mut entry = samples::entries().swap_remove(3);
    let mut filled = samples::filled();
    (filled.notional, filled.quantity) = (20, 3);
    entry.events = vec![nevertwice_core::Event::OrderFilled(filled)];
    assert_eq!(Order::of(&entry).map(|order| order.average).as_deref(), Some("6.6666"));
}

#[test]
fn an_admission_is_rendered_from_its_entry_alone() {
    let entry = samples::entries().swap_remove(12);
    let admission = Admission::of(&entry).expect("it is an admission's entry");
    assert_eq!((admission.booking.as_str(), admission.seat, admission.reference.len()), ("2-13", 1, 12));
}

#[test]
fn a_typo_in_limit_price_is_no_order_without_a_limit() {
    let good = r#"{"account":"a","instrument":"i","side":"buy","quantity":1,"limit_price":5}"#;
    assert!(serde_json::from_str::<PlaceOrder>(good).is_ok());
    assert!(serde_json::from_str::<PlaceOrder>(&good.replace("limit_price", "limit_prize")).is_err());
}

#[test]
fn amounts_are_whole_numbers_and_nothing_else() {
    for quantity in ["1.0", "1.5", "\"1\"", "1e2", "9223372036854775808", "true", "null", "[1]"] {
        let text = format!(r#"{{"account":"a","instrument":"i","side":"buy","quantity":{quantity}}}"#);
        assert!(serde_json::from_str::<PlaceOrder>(&text).is_err(), "{quantity}");
    }
}

#[test]
fn a_problem_has_the_members_of_rfc_9457() {
    let problem = serde_json::to_value(Problem::new(ErrorCode::SaleFull, "why")).expect("a problem can be written");
    assert_eq!(problem["type"], "/errors/sale_full");
    assert_eq!(problem["status"], 409);
    assert_eq!(problem["title"], ErrorCode::SaleFull.title());
    assert_eq!(problem["detail"], "why");
    assert_eq!(problem["retryable"], false);
}

#[test]
fn every_state_has_one_word_in_the_core_and_on_the_wire() {
    for state in nevertwice_core::BookingState::ALL {
        assert_eq!(serde_json::to_value(wire::BookingState::from(*state)).expect("a state can be written"), state.word());
    }
    for mode in nevertwice_core::MarketMode::ALL {
        assert_eq!(serde_json::to_value(wire::MarketMode::from(*mode)).expect("a mode can be written"), mode.word());
    }
    for state in nevertwice_core::InstrumentState::ALL {
        assert_eq!(serde_json::to_value(wire::InstrumentState::from(*state)).expect("a state can be written"), state.word());
    }
}

#[test]
fn a_forgotten_cap_lifts_none() {
    assert!(serde_json::from_str::<wire::LevelCap>(r#"{"level":"north"}"#).is_err());
    let lifted = serde_json::from_str::<wire::LevelCap>(r#"{"level":"north","cap":null}"#).expect("null lifts the cap");
    assert_eq!(lifted.cap, None);
}

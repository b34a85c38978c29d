//! Batches of orders: lines, each with its own key and its own answer.

use nevertwice_api::fingerprint::of_json;
use nevertwice_api::{ErrorCode, wire};
use nevertwice_core::{Action, Name};
use nevertwice_server::fuzzing::{batch, body};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Verdict, problem};

const LINES_MAX: usize = 32;
const LINE_BYTES_MAX: usize = 4_096;

/// The order of a line as it was written.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    order: &'a RawValue,
}

/// The input is a batch. Accepted: one of its lines is an order.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let market = Name::new("cup").expect("three letters are a name");
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    let read = match batch(&market, bytes, LINES_MAX, LINE_BYTES_MAX) {
        Ok(read) => read,
        Err(refused) => {
            assert_eq!((problem::check(&refused), lines.len() > LINES_MAX), (ErrorCode::BatchTooLong, true));
            return Verdict::Refused;
        }
    };
    assert_eq!(read.len(), lines.len(), "each line has its answer");
    let mut accepted = false;
    for (line, (key, request)) in lines.into_iter().zip(read) {
        let request = match request {
            Ok(request) => request,
            Err(refused) => {
                problem::check(&refused);
                continue;
            }
        };
        accepted = true;
        let intent = &request.command.intent;
        assert_eq!(key.as_ref(), Some(&intent.key));
        assert!(intent.expires_at.is_none_or(|at| at >= 0) && line.len() <= LINE_BYTES_MAX);
        let Action::PlaceOrder(order) = &request.command.action else { panic!("a batch holds orders alone") };
        // A line and a request of its own repeat each other: the same order, and the same fingerprint.
        let written: Written<'_> = serde_json::from_slice(line).expect("what was taken is JSON");
        let alone = written.order.get().as_bytes();
        let asked: wire::PlaceOrder = body(alone).expect("what was taken in a line is taken alone");
        assert_eq!(
            (asked.account.as_str(), asked.quantity, asked.limit_price),
            (order.account.as_str(), order.quantity, order.limit_price)
        );
        assert_eq!(of_json(&["place_order", "cup"], alone), Ok(intent.fingerprint));
    }
    Verdict::of(accepted)
}

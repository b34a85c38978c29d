//! What is not taken is tried again, becomes a dead letter, and can be sent again.

use nevertwice_ledger::publisher::DeadLetter;

use super::house::{House, left, options, outbox_rows};
use crate::support::Scratch;

const HOUR_MS: i64 = 3_600_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_taken_is_tried_again_and_holds_back_what_follows_it() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let house = House::new(&database, options("one", &["a", "b"]));
        left(&database, "orders", &["k1", "k2"]).await;
        left(&database, "others", &["k3"]).await;
        house.book.refuse("a", "503", false);
        let stepped = house.step().await;
        assert_eq!((stepped.delivered, stepped.failed), (3, 2), "{}: each stream has its own first message", scratch.name);
        assert_eq!(house.step().await.failed, 0, "{}: not before its pause is over", scratch.name);
        assert_eq!(house.book.kinds("b"), ["k1", "k2", "k3"], "{}: another endpoint goes on", scratch.name);
        assert_eq!(outbox_rows(&database).await, 3, "{}: it is kept for the one that has not got it", scratch.name);
        house.book.forgive();
        house.later(HOUR_MS);
        house.settle().await;
        assert_eq!(house.book.kinds("a"), ["k1", "k2", "k3"], "{}", scratch.name);
        assert_eq!(outbox_rows(&database).await, 0, "{}", scratch.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_lets_the_next_one_pass_and_can_be_sent_again() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let house = House::new(&database, options("one", &["a"]));
        left(&database, "orders", &["k1"]).await;
        house.book.refuse("a", "500", false);
        let mut tries = 0;
        while DeadLetter::list(&database).await.expect("it answers").is_empty() {
            house.step().await;
            house.later(HOUR_MS);
            tries += 1;
        }
        assert_eq!(tries, 3, "{}", scratch.name);
        house.book.forgive();
        left(&database, "orders", &["k2"]).await;
        house.settle().await;
        assert_eq!(house.book.kinds("a"), ["k2"], "{}", scratch.name);
        assert_eq!(outbox_rows(&database).await, 0, "{}: the dead letter has its own copy", scratch.name);
        let [letter] = &DeadLetter::list(&database).await.expect("it answers")[..] else { panic!("there is one") };
        assert_eq!(
            (&letter.endpoint[..], &letter.stream[..], letter.seq, letter.tries, &letter.what[..]),
            ("a", "outbox/orders", 1, 3, "500")
        );
        // Sent again while the endpoint still takes nothing, it stays.
        house.book.refuse("a", "502", false);
        assert_eq!(DeadLetter::send_again(&database, "a").await.expect("it answers"), 1);
        assert_eq!(house.step().await.failed, 1, "{}", scratch.name);
        assert_eq!(house.step().await.failed, 0, "{}: it is sent when somebody wants it, and not by itself", scratch.name);
        house.book.forgive();
        assert_eq!(DeadLetter::send_again(&database, "a").await.expect("it answers"), 1);
        house.settle().await;
        assert_eq!(house.book.kinds("a"), ["k2", "k1"], "{}", scratch.name);
        assert!(DeadLetter::list(&database).await.expect("it answers").is_empty(), "{}", scratch.name);
        assert_eq!(house.book.ids().len(), 2, "{}", scratch.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_gone_for_good_is_not_tried_again() {
    let scratch = Scratch::sqlite();
    let database = scratch.open().await;
    let house = House::new(&database, options("one", &["a"]));
    left(&database, "orders", &["k1"]).await;
    house.book.refuse("a", "410", true);
    assert_eq!(house.step().await.died, 1);
    assert_eq!(DeadLetter::list(&database).await.expect("it answers").len(), 1);
}

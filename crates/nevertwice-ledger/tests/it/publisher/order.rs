//! In order, each at least once, none passed over, and one publisher at a time.

use nevertwice_ledger::Database;

use super::house::{House, leave, left, options, outbox_rows};
use crate::support::Scratch;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_endpoint_is_told_in_order_and_the_outbox_is_emptied() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let kinds: Vec<String> = (0..23).map(|number| format!("k{number}")).collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        left(&database, "orders", &kinds).await;
        let house = House::new(&database, options("one", &["a", "b"]));
        house.settle().await;
        for endpoint in ["a", "b"] {
            assert_eq!(house.book.kinds(endpoint), kinds, "{}: {endpoint}", scratch.name);
        }
        assert_eq!(house.book.ids().len(), kinds.len(), "an id is of a message, not of an endpoint");
        assert_eq!(outbox_rows(&database).await, 0, "{}", scratch.name);
        let again = House::new(&database, options("one", &["a", "b"]));
        left(&database, "orders", &["last"]).await;
        again.settle().await;
        assert_eq!(again.book.kinds("a"), ["last"], "{}: what was told is not told again after a restart", scratch.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_commits_late_is_not_passed_over() {
    let scratch = Scratch::postgres();
    let database = scratch.open().await;
    let Database::Postgres { pool } = &database else { panic!("it is Postgres") };
    let house = House::new(&database, options("one", &["a"]));
    let mut late = pool.begin().await.expect("it begins");
    leave(&mut late, "orders", "late").await;
    // These have higher numbers, and are committed and told before.
    left(&database, "orders", &["first", "second"]).await;
    house.settle().await;
    assert_eq!(house.book.kinds("a"), ["first", "second"]);
    late.commit().await.expect("it is committed");
    left(&database, "orders", &["third"]).await;
    house.settle().await;
    assert_eq!(house.book.kinds("a"), ["first", "second", "late", "third"]);
    let mut never = pool.begin().await.expect("it begins");
    leave(&mut never, "orders", "never").await;
    never.rollback().await.expect("it is rolled back");
    house.settle().await;
    assert_eq!(house.book.kinds("a").len(), 4, "what was rolled back is never told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_publishes_at_a_time_and_the_next_goes_on_where_it_was() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let (first, second) = (House::new(&database, options("one", &["a"])), House::new(&database, options("two", &["a"])));
        left(&database, "orders", &["k1", "k2"]).await;
        first.settle().await;
        left(&database, "orders", &["k3"]).await;
        assert!(!second.step().await.is_holder, "{}: another holds the lease", scratch.name);
        // The first one stands still beyond its lease.
        second.later(30_000);
        second.settle().await;
        assert_eq!(second.book.kinds("a"), ["k3"], "{}", scratch.name);
        first.later(30_000);
        left(&database, "orders", &["k4"]).await;
        assert!(!first.step().await.is_holder, "{}: it was replaced", scratch.name);
        assert_eq!(first.book.kinds("a"), ["k1", "k2"], "{}", scratch.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_without_a_name_loses_nothing_until_it_has_one() {
    let scratch = Scratch::sqlite();
    let database = scratch.open().await;
    left(&database, "orders", &["k1"]).await;
    House::new(&database, options("one", &[])).settle().await;
    assert_eq!(outbox_rows(&database).await, 1);
    let house = House::new(&database, options("one", &["a"]));
    house.settle().await;
    assert_eq!(house.book.kinds("a"), ["k1"]);
}

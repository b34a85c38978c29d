//! The store of keys does what every store of keys promises, on a real server.

use std::sync::Arc;

use nevertwice_api::KeyStore;
use nevertwice_redis::{RedisKeyOptions, RedisKeyStore};
use nevertwice_testkit::key_store::{Subject, run};
use nevertwice_testkit::redis::RedisServer;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::support::SetClock;

struct OnRedis {
    store: Arc<RedisKeyStore>,
    clock: Arc<SetClock>,
}

impl Subject for OnRedis {
    fn store(&self) -> Arc<dyn KeyStore> {
        self.store.clone()
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_on_redis_is_a_key_store() {
    let server = RedisServer::start(&[]);
    let mut fresh = |records_max, bodies_bytes_max| {
        server.ask(&["FLUSHALL"]);
        let options = RedisKeyOptions { records_max, bodies_bytes_max, answer_bytes_max: 4_096, ..RedisKeyOptions::default() };
        let clock = SetClock::at(0);
        let opened = RedisKeyStore::open_with_given_time(server.url().parse().unwrap(), options, clock.clone());
        let store = block_in_place(|| Handle::current().block_on(opened)).unwrap();
        OnRedis { store: Arc::new(store), clock }
    };
    let cases = run(&mut fresh).await;
    assert_eq!(cases, 8_571);
}

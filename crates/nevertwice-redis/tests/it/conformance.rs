//! The backend decides as the core does, step by step, on a real server that loses its process now and then.

use std::sync::{Arc, Mutex, PoisonError};

use nevertwice_api::{Backend, BoxFuture};
use nevertwice_redis::RedisBackend;
use nevertwice_testkit::conformance::{Plan, Subject, run};
use nevertwice_testkit::redis::RedisServer;

use crate::given_time::{self, GivenTime};

struct Redis {
    server: Arc<Mutex<RedisServer>>,
    clock: Arc<GivenTime>,
    backend: Option<RedisBackend>,
}

impl Redis {
    fn with_server<T>(&self, act: impl FnOnce(&mut RedisServer) -> T) -> T {
        act(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn start(&mut self) {
        let url = self.with_server(|server| server.url());
        self.backend = Some(given_time::backend(&url, &self.clock).await);
    }
}

impl Subject for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn backend(&self) -> &dyn Backend {
        self.backend.as_ref().expect("it runs")
    }

    fn set_now(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }

    fn epoch(&self) -> u32 {
        self.backend.as_ref().expect("it runs").epoch()
    }

    fn keeps_last_words(&self) -> bool {
        true
    }

    /// The server is ended as by a power cut, and makes its state of its file. It is on another timeline then.
    fn restart(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let epoch = self.epoch();
            self.backend = None;
            self.with_server(|server| {
                server.kill();
                server.restart();
            });
            self.start().await;
            assert_eq!(self.epoch(), epoch + 1, "every timeline is an adoption");
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn redis_decides_as_the_core_does() {
    // Every write is in the operating system's hands before its reply, so that ending the process loses none.
    let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "no"]);
    let server = Arc::new(Mutex::new(server));
    let plan = Plan { seeds: 0..8, steps: 2_500, restart_every: 400 };
    let cases = run(&plan, async |_| {
        let mut redis = Redis { server: Arc::clone(&server), clock: Arc::default(), backend: None };
        redis.with_server(|server| server.ask(&["FLUSHALL"]));
        redis.start().await;
        redis
    })
    .await;
    assert_eq!(cases, 20_000);
}

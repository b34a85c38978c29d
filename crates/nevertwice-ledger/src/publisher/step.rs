//! One step: keep the lease, number what is new, carry what is due.

use std::sync::Arc;

use sqlx::Error;
use tokio::task::JoinSet;

use super::cursors::{self, Cursor};
use super::{Courier, Delivery, PublisherOptions, Undelivered, dead_letters, lease, numbering};
use crate::{Database, DatabaseFailure};

/// What the clock shows, in milliseconds since 1970.
type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Tells endpoints what lies in the outbox.
#[derive(Clone)]
pub struct Publisher {
    database: Database,
    courier: Arc<dyn Courier>,
    clock: Clock,
    options: Arc<PublisherOptions>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stepped {
    /// Whether it was this one's to publish; otherwise another holds the lease, and nothing was done.
    pub is_holder: bool,
    /// Messages that got their place.
    pub numbered: u64,
    /// Messages that an endpoint took.
    pub delivered: u64,
    /// Tries that failed.
    pub failed: u64,
    /// Messages that became dead letters.
    pub died: u64,
    /// Whether there may be more to do at once.
    pub has_more: bool,
}

impl Stepped {
    fn add(&mut self, other: Self) {
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.died += other.died;
        self.has_more |= other.has_more;
    }
}

/// What became of one message at one endpoint.
enum Carried {
    Taken,
    Later,
    Buried,
    /// Another publishes by now.
    Fenced,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Publisher {
    /// A publisher over a database that has its tables.
    #[must_use]
    pub fn new(
        database: Database,
        courier: Arc<dyn Courier>,
        clock: Arc<dyn Fn() -> i64 + Send + Sync>,
        options: PublisherOptions,
    ) -> Self {
        Self { database, courier, clock, options: Arc::new(options) }
    }

    fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    async fn hold(&self) -> Result<Option<i64>, Error> {
        lease::hold(&self.database, &self.options.holder, self.now_ms(), self.options.lease_ms).await
    }

    /// Does what there is to do, bounded. Call it again at once where it says that there is more, and otherwise every so often.
    ///
    /// # Errors
    /// If the database does not answer. What was carried and not noted is carried again, under the same id.
    pub async fn step(&self) -> Result<Stepped, DatabaseFailure> {
        let Some(fence) = self.hold().await? else { return Ok(Stepped::default()) };
        let numbered = numbering::number(&self.database, fence, self.options.step_messages_max).await?;
        let has_more = numbered >= self.options.step_messages_max;
        let mut stepped = Stepped { is_holder: true, numbered: numbered.unsigned_abs(), has_more, ..Stepped::default() };
        let topics = cursors::streams(&self.database).await?;
        // Each endpoint has its own pace, and none waits for another.
        let mut endpoints = JoinSet::new();
        for endpoint in self.options.endpoints.clone() {
            let (publisher, topics) = (self.clone(), topics.clone());
            endpoints.spawn(async move { publisher.tell(fence, &endpoint, &topics).await });
        }
        let mut failure = None;
        while let Some(told) = endpoints.join_next().await {
            match told {
                Ok(Ok(told)) => stepped.add(told),
                Ok(Err(error)) => failure = Some(error),
                // A courier that panics has carried nothing that is noted.
                Err(error) => tracing::error!(%error, "a courier panicked; its messages are carried again"),
            }
        }
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        self.tidy(&topics).await?;
        Ok(stepped)
    }

    /// Gives the lease back, if it is this one's.
    ///
    /// # Errors
    /// If the database does not answer; another one then begins when the lease is over.
    pub async fn retire(&self) -> Result<(), DatabaseFailure> {
        Ok(lease::end(&self.database, &self.options.holder).await?)
    }

    async fn tell(&self, fence: i64, endpoint: &str, topics: &[(String, i64)]) -> Result<Stepped, Error> {
        let mut stepped = self.tell_again(endpoint).await?;
        for (topic, last_seq) in topics {
            let stream = stream_of(topic);
            let mut cursor = cursors::cursor(&self.database, endpoint, &stream).await?;
            if cursor.last_seq >= *last_seq || cursor.next_at > self.now_ms() {
                continue;
            }
            let max = self.options.step_messages_max;
            let messages = cursors::messages(&self.database, topic, &stream, cursor.last_seq, max).await?;
            stepped.has_more |= i64::try_from(messages.len()).unwrap_or(i64::MAX) >= max;
            for delivery in messages {
                // A lease that ran out while somebody was slow is another's perhaps.
                if self.hold().await? != Some(fence) {
                    return Ok(stepped);
                }
                match self.carry(fence, &cursor, &delivery).await? {
                    Carried::Taken => stepped.delivered += 1,
                    Carried::Buried => stepped.died += 1,
                    Carried::Later => {
                        stepped.failed += 1;
                        break;
                    }
                    Carried::Fenced => return Ok(stepped),
                }
                cursor = Cursor { last_seq: delivery.seq, tries: 0, next_at: 0, ..cursor };
            }
        }
        Ok(stepped)
    }

    async fn carry(&self, fence: i64, cursor: &Cursor, delivery: &Delivery) -> Result<Carried, Error> {
        let why = match self.courier.carry(&cursor.endpoint, delivery.clone()).await {
            Ok(()) => {
                let is_noted = cursors::taken(&self.database, fence, cursor, delivery.seq).await?;
                return Ok(if is_noted { Carried::Taken } else { Carried::Fenced });
            }
            Err(why) => why,
        };
        let (tries, at_ms) = (cursor.tries.saturating_add(1), self.now_ms());
        let Undelivered { what, is_final, after_ms } = &why;
        if *is_final || tries >= self.options.tries_max {
            tracing::error!(endpoint = cursor.endpoint, id = delivery.id, tries, what, "a message was given up; it is a dead letter now");
            let is_noted = dead_letters::bury(&self.database, fence, cursor, delivery, at_ms, &why).await?;
            return Ok(if is_noted { Carried::Buried } else { Carried::Fenced });
        }
        tracing::warn!(endpoint = cursor.endpoint, id = delivery.id, tries, what, "a message was not taken; it is tried again");
        let pause = self.options.pause(tries, random()).max(after_ms.unwrap_or(0).min(self.options.pause_ms_max));
        let is_noted = cursors::failed(&self.database, fence, cursor, at_ms.saturating_add(pause), &why).await?;
        Ok(if is_noted { Carried::Later } else { Carried::Fenced })
    }

    /// Dead letters that an operator wants sent again.
    async fn tell_again(&self, endpoint: &str) -> Result<Stepped, Error> {
        let mut stepped = Stepped::default();
        for delivery in dead_letters::wanted(&self.database, endpoint, self.options.step_messages_max).await? {
            match self.courier.carry(endpoint, delivery.clone()).await {
                Ok(()) => {
                    dead_letters::taken(&self.database, endpoint, &delivery).await?;
                    stepped.delivered += 1;
                }
                Err(why) => {
                    dead_letters::refused(&self.database, endpoint, &delivery, &why).await?;
                    stepped.failed += 1;
                }
            }
        }
        Ok(stepped)
    }

    /// Takes away what all endpoints have been told. Without an endpoint everything stays.
    async fn tidy(&self, topics: &[(String, i64)]) -> Result<(), Error> {
        for (topic, _) in topics {
            let stream = stream_of(topic);
            let mut up_to = None;
            for endpoint in &self.options.endpoints {
                let told = cursors::cursor(&self.database, endpoint, &stream).await?.last_seq;
                up_to = Some(up_to.unwrap_or(told).min(told));
            }
            if let Some(up_to) = up_to.filter(|up_to| *up_to > 0) {
                cursors::take_away(&self.database, topic, up_to).await?;
            }
        }
        Ok(())
    }
}

fn stream_of(topic: &str) -> String {
    format!("outbox/{topic}")
}

/// A number for the scatter of pauses; nothing else rests on it.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers pauses are not scattered, and all else goes on.
    let _scattered = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

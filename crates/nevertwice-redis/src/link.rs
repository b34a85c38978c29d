//! One connection, shared by all who call, and made anew when it breaks.
//!
//! Commands that are sent together go out in one pipeline and come back one by one: an error of one says nothing about another. A
//! link never sends anything twice.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisError, ServerError, Value};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::{Address, LinkFailure};

/// What a command came to: the server's reply, or the error that it answered.
pub type Reply = Result<Value, ServerError>;

/// How patient a link is.
#[derive(Clone, Copy, Debug)]
pub struct LinkOptions {
    /// For a connection to be made, in milliseconds.
    pub connect_ms: u64,
    /// For the replies to what was sent, in milliseconds.
    pub reply_ms: u64,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self { connect_ms: 1_000, reply_ms: 2_000 }
    }
}

/// A connection to one server.
pub struct Link {
    address: Address,
    options: LinkOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<MultiplexedConnection>,
    /// Counts what became of the state, so that who waited knows whether somebody else has just tried.
    changes: u64,
    failure: Option<LinkFailure>,
}

impl Link {
    /// A link that connects when something is sent.
    #[must_use]
    pub fn new(address: Address, options: LinkOptions) -> Arc<Self> {
        Arc::new(Self { address, options, state: Mutex::default() })
    }

    /// Where it leads.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Sends the commands in one pipeline and waits for all their replies.
    ///
    /// # Errors
    ///
    /// [`LinkFailure::Unreachable`] if no connection could be made: nothing was sent. [`LinkFailure::Lost`] if it broke, or if a reply
    /// came too late.
    pub async fn send(&self, commands: &[Cmd]) -> Result<Vec<Reply>, LinkFailure> {
        let (mut connection, number) = self.connection().await?;
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command.clone());
        }
        let replies = timeout(Duration::from_millis(self.options.reply_ms), connection.req_packed_commands(&pipeline, 0, commands.len()));
        match replies.await {
            Ok(Ok(replies)) if replies.len() == commands.len() => Ok(replies.into_iter().map(reply).collect()),
            Ok(Ok(replies)) => {
                self.forget(number).await;
                Err(LinkFailure::Lost(format!("{} replies to {} commands", replies.len(), commands.len())))
            }
            Ok(Err(error)) => {
                self.forget(number).await;
                Err(LinkFailure::Lost(words(&error)))
            }
            Err(_) => {
                // Replies that come now would only make those who ask next wait longer.
                self.forget(number).await;
                Err(LinkFailure::Lost(format!("no reply within {} ms", self.options.reply_ms)))
            }
        }
    }

    /// Sends one command.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    pub async fn send_one(&self, command: Cmd) -> Result<Reply, LinkFailure> {
        let mut replies = self.send(&[command]).await?;
        Ok(replies.pop().expect("one command has one reply: `send` has counted them"))
    }

    /// The connection that stands, or a new one; and its number.
    async fn connection(&self) -> Result<(MultiplexedConnection, u64), LinkFailure> {
        let seen = self.state.try_lock().ok().map(|state| state.changes);
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            return Ok((connection.clone(), state.changes));
        }
        // Who had to wait for another's attempt does not make one more: a crowd would make them one after the other.
        if let (None, Some(failure)) = (seen, &state.failure) {
            return Err(failure.clone());
        }
        state.changes += 1;
        match self.connect().await {
            Ok(connection) => {
                (state.connection, state.failure) = (Some(connection.clone()), None);
                Ok((connection, state.changes))
            }
            Err(failure) => {
                state.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, LinkFailure> {
        let unreachable = |error: RedisError| LinkFailure::Unreachable(words(&error));
        let node = self.address.nodes().first().ok_or_else(|| LinkFailure::Unreachable("no host is named".into()))?;
        let client = redis::Client::open(node.clone()).map_err(unreachable)?;
        let patience = Duration::from_millis(self.options.connect_ms);
        // The time-out of replies is ours: it counts from when a command is sent, whoever waits.
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(patience)).set_response_timeout(None);
        let connected = timeout(patience, client.get_multiplexed_async_connection_with_config(&config)).await;
        connected.unwrap_or_else(|_| Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))).map_err(unreachable)
    }

    /// Lets go of the connection of that number, unless it was replaced already.
    async fn forget(&self, number: u64) {
        let mut state = self.state.lock().await;
        if state.changes == number {
            (state.connection, state.failure) = (None, None);
            state.changes += 1;
        }
    }
}

fn reply(value: Value) -> Reply {
    match value {
        Value::ServerError(error) => Err(error),
        value => Ok(value),
    }
}

/// What an error says, without what was sent.
fn words(error: &RedisError) -> String {
    match error.detail() {
        Some(detail) => format!("{} ({detail})", error.category()),
        None => error.to_string(),
    }
}

//! Calls scripts: by their hash, and once more after loading those that the server does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, ServerError, ServerErrorKind};

use crate::link::Reply;
use crate::script::{Call, Script};
use crate::{Link, LinkFailure};

/// What a group of calls came to.
#[derive(Debug)]
pub struct Answers {
    /// One reply for each call, in order.
    pub calls: Vec<Reply>,
    /// The reply to the call that closed the group, if there was one: that of the last pipeline, if there were two.
    pub closing: Option<Reply>,
    /// The replies to the commands that followed the calls: those of the last pipeline, if there were two.
    pub tail: Vec<Reply>,
}

/// What a runner has counted since it was made.
#[derive(Debug, Default)]
pub struct RunnerCounts {
    /// Calls of a script that the server did not know: after a restart, a failover or `SCRIPT FLUSH`.
    pub unknown: AtomicU64,
    /// Of these, the ones that it still did not know after loading.
    pub unknown_twice: AtomicU64,
}

/// Calls scripts over a link.
#[derive(Clone)]
pub struct Runner {
    link: Arc<Link>,
    counts: Arc<RunnerCounts>,
}

impl Runner {
    /// A runner over that link.
    #[must_use]
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, counts: Arc::default() }
    }

    /// What it has counted.
    #[must_use]
    pub fn counts(&self) -> &RunnerCounts {
        &self.counts
    }

    /// The link that it calls over.
    #[must_use]
    pub const fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Loads scripts. Commands that are sent together keep their order as long as the server knows all scripts or none of theirs.
    ///
    /// # Errors
    ///
    /// As [`Link::send`]; and what the server says of the first script that it does not take.
    pub async fn load(&self, scripts: &[&Script]) -> Result<Result<(), ServerError>, LinkFailure> {
        let loads: Vec<Cmd> = scripts.iter().map(|script| load(script)).collect();
        let replies = self.link.send(&loads).await?;
        Ok(replies.into_iter().try_for_each(|reply| reply.map(drop)))
    }

    /// Calls one script.
    ///
    /// # Errors
    ///
    /// As [`Link::send`]. An error of the script is part of the reply.
    pub async fn call(&self, call: impl Into<Call>) -> Result<Reply, LinkFailure> {
        let mut answers = self.call_all(&[call.into()], &[]).await?;
        Ok(answers.calls.pop().expect("one call has one reply: the link has counted them"))
    }

    /// Calls scripts in one pipeline that ends with `tail`. Scripts that the server does not know are loaded, and these calls alone
    /// are made once more, in a second pipeline that ends with `tail` again.
    ///
    /// # Errors
    ///
    /// As [`Link::send`]: also if the second pipeline is lost, for then no more can be said of its calls.
    pub async fn call_all(&self, calls: &[Call], tail: &[Cmd]) -> Result<Answers, LinkFailure> {
        self.call_closed(calls, None, tail).await
    }

    /// The same, with a call that closes the group: it comes after all others, also where some of these have to be made once more.
    ///
    /// # Errors
    ///
    /// As [`Self::call_all`].
    pub async fn call_closed(&self, calls: &[Call], closing: Option<&Call>, tail: &[Cmd]) -> Result<Answers, LinkFailure> {
        let of_calls = calls.iter().map(Call::by_hash);
        let commands: Vec<Cmd> = of_calls.chain(closing.map(Call::by_hash)).chain(tail.iter().cloned()).collect();
        let mut replies = self.link.send(&commands).await?;
        let mut end = replies.split_off(calls.len());
        let again: Vec<usize> = (0..calls.len()).filter(|&index| is_unknown(&replies[index])).collect();
        let closing_again = closing.filter(|_| end.first().is_some_and(is_unknown));
        if !again.is_empty() || closing_again.is_some() {
            self.counts.unknown.fetch_add((again.len() + closing_again.iter().len()) as u64, Ordering::Relaxed);
            let scripts = distinct(again.iter().map(|&index| calls[index].script).chain(closing_again.map(|call| call.script)));
            let loads = scripts.iter().map(|script| load(script));
            let of_calls = again.iter().map(|&index| calls[index].by_hash());
            let commands: Vec<Cmd> = loads.chain(of_calls).chain(closing.map(Call::by_hash)).chain(tail.iter().cloned()).collect();
            let mut second = self.link.send(&commands).await?;
            end = second.split_off(scripts.len() + again.len());
            for (index, reply) in again.into_iter().zip(second.drain(scripts.len()..)) {
                self.counts.unknown_twice.fetch_add(u64::from(is_unknown(&reply)), Ordering::Relaxed);
                replies[index] = reply;
            }
            let is_twice = closing.is_some() && end.first().is_some_and(is_unknown);
            self.counts.unknown_twice.fetch_add(u64::from(is_twice), Ordering::Relaxed);
        }
        let tail = end.split_off(usize::from(closing.is_some()));
        Ok(Answers { calls: replies, closing: end.pop(), tail })
    }
}

fn load(script: &Script) -> Cmd {
    let mut command = redis::cmd("SCRIPT");
    command.arg("LOAD").arg(script.text());
    command
}

fn distinct<'a>(scripts: impl Iterator<Item = &'a Script>) -> Vec<&'a Script> {
    let mut found: Vec<&Script> = Vec::new();
    for script in scripts {
        if found.iter().all(|known| known.name() != script.name()) {
            found.push(script);
        }
    }
    found
}

fn is_unknown(reply: &Reply) -> bool {
    matches!(reply, Err(error) if error.kind() == Some(ServerErrorKind::NoScript))
}

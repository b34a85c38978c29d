//! The one task that sends commands: all that has arrived in one pipeline, then the next.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nevertwice_api::{Answer, Failure, Level, Levels, Request};
use nevertwice_core::{Action, Decision, Rejection};
use tokio::sync::{mpsc, oneshot};

use super::grouping::grouped;
use super::place::{self, Standing};
use super::redis_backend::{Shared, failure_of_link, failure_of_refusal, failure_of_server, unexpected};
use crate::keys;
use crate::link::Reply;
use crate::script::Call;
use crate::server_facts::ServerFacts;
use crate::shard::{self, Outcome, Terms};

/// A command in the queue, and who waits for its answer.
pub(super) struct Item {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Answer, Failure>>,
}

pub(super) struct Turns {
    shared: Arc<Shared>,
    items: mpsc::Receiver<Item>,
}

impl Turns {
    pub(super) const fn new(shared: Arc<Shared>, items: mpsc::Receiver<Item>) -> Self {
        Self { shared, items }
    }

    /// Works until nobody is left who could ask.
    pub(super) async fn run(mut self) {
        let group_max = self.shared.options.group_max.max(1);
        let mut group = Vec::with_capacity(group_max);
        while self.items.recv_many(&mut group, group_max).await > 0 {
            self.shared.depth.fetch_sub(group.len(), Ordering::Relaxed);
            self.turn(&mut group).await;
        }
    }

    async fn turn(&self, group: &mut Vec<Item>) {
        let requests: Vec<&Request> = group.iter().map(|item| &item.request).collect();
        let answers = match self.before(&requests).await {
            Ok(()) => self.decide(&requests).await,
            Err(failure) => vec![Err(failure); requests.len()],
        };
        for (item, answer) in group.drain(..).zip(answers) {
            // Who does not wait any more loses the answer and nothing else.
            drop(item.reply.send(answer));
        }
    }

    /// Before something is opened: the place must be the adopted one, for on a server that has lost its data everything is unknown
    /// and could be opened again; and the list of shards gets the name, which means nothing until the shard has a head.
    async fn before(&self, requests: &[&Request]) -> Result<(), Failure> {
        let opened = requests.iter().filter(|request| matches!(request.command.action, Action::OpenMarket(_) | Action::OpenSale(_)));
        let names: Vec<String> = opened.map(|request| request.shard.to_string()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let mut commands = place::questions();
        let questions = commands.len();
        let mut add = redis::cmd("SADD");
        add.arg(keys::shards()).arg(names);
        commands.push(add);
        let replies = self.shared.runner.link().send(&commands).await.map_err(|failure| failure_of_link(&failure))?;
        let (standing, added) = replies.split_at(questions);
        added.iter().try_for_each(|reply| reply.as_ref().map(drop).map_err(failure_of_server))?;
        self.check(standing).await
    }

    async fn decide(&self, requests: &[&Request]) -> Vec<Result<Answer, Failure>> {
        let groups = grouped(requests);
        let calls: Vec<Call> = groups.iter().map(|group| self.group_call(requests, group)).collect();
        let answers = match self.shared.runner.call_all(&calls, &place::questions()).await {
            Ok(answers) => answers,
            Err(failure) => return vec![Err(failure_of_link(&failure)); requests.len()],
        };
        let mut said = vec![Err(Failure::OutcomeUnknown); requests.len()];
        if self.check(&answers.tail).await.is_err() {
            // Whether it happened in the history that goes on is for the next attempt to find out.
            return said;
        }
        for (group, reply) in groups.iter().zip(answers.calls) {
            for (place, reply) in group.iter().zip(replies(reply, group.len())) {
                said[*place] = self.answer(requests[*place], reply).await;
            }
        }
        said
    }

    fn group_call(&self, requests: &[&Request], group: &[usize]) -> Call {
        let first = requests[group[0]];
        if group.len() > 1
            && let Some(call) = shard::orders(self.terms(), &first.shard, group.iter().map(|place| &requests[*place].command))
        {
            return call;
        }
        self.call(first)
    }

    fn terms(&self) -> Terms {
        let options = &self.shared.options;
        Terms {
            epoch: self.shared.place().epoch,
            at_ms: self.shared.clock.now_ms(),
            skew_ms_max: options.clock_skew_ms_max,
            slack_ms: options.slack_ms(),
            entries_max: options.entries_max,
        }
    }

    fn call(&self, request: &Request) -> Call {
        shard::decision(self.terms(), &request.shard, &request.command)
    }

    /// What a reply says; a shard of an earlier epoch is taken along into this one and asked again.
    async fn answer(&self, request: &Request, reply: Reply) -> Result<Answer, Failure> {
        match self.outcome(request, reply)? {
            Outcome::EpochSuperseded(epoch) if epoch < self.shared.place().epoch => {}
            Outcome::Decided(decision, position) if position.seq > 0 && is_last_word(&decision) => return self.last_word(request).await,
            other => return answered(other),
        }
        // Not in one pipeline: of two calls the one whose script is not known yet is made last.
        let adoption = self.again(shard::adopt_shard(&request.shard, self.shared.place().epoch)).await?;
        let adoption = adoption.map_err(|error| failure_of_server(&error))?;
        shard::adopted(&adoption).map_err(|odd| unexpected(&odd))?;
        let reply = self.again(self.call(request)).await?;
        match self.outcome(request, reply)? {
            Outcome::Decided(decision, _) if is_last_word(&decision) => self.last_word(request).await,
            other => answered(other),
        }
    }

    /// Tells that an intent's time has run out, once no later decision can find that it has not.
    async fn last_word(&self, request: &Request) -> Result<Answer, Failure> {
        let call = shard::last_word(self.terms(), &request.shard, &request.command.intent);
        let reply = self.again(call).await?;
        answered(self.outcome(request, reply)?)
    }

    /// One call by itself, whose reply counts only if the place is still the adopted one.
    async fn again(&self, call: Call) -> Result<Reply, Failure> {
        let answers = self.shared.runner.call_all(&[call], &place::questions()).await.map_err(|failure| failure_of_link(&failure))?;
        self.check(&answers.tail).await.map_err(|_| Failure::OutcomeUnknown)?;
        answers.calls.into_iter().next().ok_or(Failure::OutcomeUnknown)
    }

    fn outcome(&self, request: &Request, reply: Reply) -> Result<Outcome, Failure> {
        let value = reply.map_err(|error| failure_of_server(&error))?;
        shard::outcome(&request.shard, &value).map_err(|odd| unexpected(&odd))
    }

    /// Whether the place is still the adopted one. One that is another is adopted as it is now, for what comes next.
    async fn check(&self, replies: &[Reply]) -> Result<(), Failure> {
        match self.shared.place().standing(replies) {
            Standing::Same => return Ok(()),
            Standing::Gone => {
                tracing::error!("the Redis server has lost its data: nothing is decided on it, and nothing was");
                return Err(Failure::BackendUnavailable);
            }
            Standing::Other => {}
        }
        let facts = ServerFacts::read(self.shared.runner.link()).await.map_err(|failure| failure_of_link(&failure))?;
        let facts = facts.map_err(|refusal| failure_of_refusal(&refusal))?;
        let timeline = place::timeline(&facts).ok_or(Failure::BackendUnavailable)?;
        let (place, raised) = place::adopt(&self.shared.runner, timeline).await?;
        tracing::warn!(epoch = place.epoch, raised, "the Redis server's timeline changed, and it is adopted anew");
        self.shared.set_place(place);
        Err(Failure::BackendUnavailable)
    }
}

/// Whether it is the *no* that must stay one.
const fn is_last_word(decision: &Decision) -> bool {
    matches!(decision, Decision::Rejected(Rejection::IntentExpired { .. }))
}

/// The replies to the commands of one call.
fn replies(reply: Reply, count: usize) -> Vec<Reply> {
    match reply {
        Ok(value) if count > 1 => match shard::each(value, count) {
            Ok(values) => values.into_iter().map(Ok).collect(),
            // Nobody gets an answer of these: each is told that the outcome is unknown.
            Err(_) => vec![Ok(redis::Value::Nil); count],
        },
        reply => vec![reply; count],
    }
}

fn answered(outcome: Outcome) -> Result<Answer, Failure> {
    match outcome {
        Outcome::Decided(decision, position) => Ok(Answer { decision: *decision, position, levels: Levels::reached(Level::Decided) }),
        Outcome::ClockSkew => {
            tracing::error!("this machine's clock is too far from the Redis server's: nothing is decided");
            Err(Failure::BackendUnavailable)
        }
        Outcome::EpochSuperseded(epoch) => {
            tracing::warn!(epoch, "another process has adopted the shard in a higher epoch");
            Err(Failure::BackendUnavailable)
        }
    }
}

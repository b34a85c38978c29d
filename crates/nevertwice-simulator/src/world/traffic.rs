//! Requests and replies on their way, and what clients make of what they hear.

use std::sync::PoisonError;

use http_body_util::BodyExt as _;
use nevertwice_api::{Backend as _, ErrorCode, Failure};
use nevertwice_core::{Decision, Rejection};
use serde_json::Value;

use super::event::Event;
use super::intent::{Ask, Outcome, Visit};
use super::universe::{Mailbox, World};
use crate::finding::Finding;
use crate::http::{Http, Reply, Told};

/// How long a client waits before it asks again after a failure, at most.
const BACKOFF_US: i64 = 400_000;
/// After so many attempts a client does not hurry any more.
const HASTY_ATTEMPTS: u32 = 6;

impl World {
    /// A client sends what it means, once more if it has done so before.
    pub(super) fn send(&mut self, number: usize) {
        let Some(intent) = self.intents.get_mut(number).filter(|intent| !intent.is_done) else { return };
        intent.attempts += 1;
        let (attempt, name) = (intent.attempts, intent.name.clone());
        self.trace.line(self.now_us, || format!("intent {number}: attempt {attempt} of {name}"));
        self.dispatch(vec![number], None);
        self.plan_patience(number, attempt);
    }

    /// The first attempt of several, in one request.
    pub(super) fn send_batch(&mut self) {
        let numbers = std::mem::take(&mut self.batch);
        let orders: Vec<&Http> = numbers
            .iter()
            .filter_map(|number| match &self.intents.get(*number)?.ask {
                Ask::Http(http) => Some(http),
                _ => None,
            })
            .collect();
        let Some(batch) = Http::batch(&orders) else { return };
        self.trace.line(self.now_us, || format!("intents {numbers:?}: attempt 1, in a batch"));
        for number in &numbers {
            if let Some(intent) = self.intents.get_mut(*number) {
                intent.attempts += 1;
            }
            self.plan_patience(*number, 1);
        }
        self.dispatch(numbers, Some(batch));
    }

    fn plan_patience(&mut self, number: usize, attempt: u32) {
        let patience_us = self.plan.clients.patience_ms * 1_000;
        let lazy = i64::from(attempt / HASTY_ATTEMPTS) * BACKOFF_US;
        let us = self.chances.clients.between(patience_us / 2, patience_us) + lazy;
        self.after(us, Event::Patience(number, attempt));
    }

    /// Puts a request into the network, which loses, doubles and delays it.
    fn dispatch(&mut self, intents: Vec<usize>, batch: Option<Http>) {
        let random = &mut self.chances.network;
        let (is_lost, is_doubled) = (random.chance(self.network.lost), random.chance(self.network.doubled));
        if is_lost {
            return self.trace.line(self.now_us, || format!("intents {intents:?}: the request is lost"));
        }
        for _ in 0..=u32::from(is_doubled) {
            let delay_us = self.delay_us();
            let visit = self.visits.len();
            let over_http = batch.is_some() || intents.iter().any(|number| matches!(self.ask_of(*number), Some(Ask::Http(_))));
            self.visits.push(Visit { intents: intents.clone(), batch: batch.clone(), task: None, outcome: None });
            self.after(delay_us, Event::Arrive(visit));
            if over_http && self.chances.network.chance(self.network.hang_up) {
                let later_us = self.delay_us();
                self.after(delay_us + later_us, Event::HangUp(visit));
            }
        }
    }

    fn ask_of(&self, number: usize) -> Option<&Ask> {
        self.intents.get(number).map(|intent| &intent.ask)
    }

    fn delay_us(&mut self) -> i64 {
        let random = &mut self.chances.network;
        let most = if random.chance(self.network.slow) { self.network.slow_us } else { self.network.delay_us };
        random.between(1, most.max(1))
    }

    /// A request arrives, and the process begins to work on it.
    pub(super) fn arrive(&mut self, number: usize) {
        let Some(visit) = self.visits.get(number) else { return };
        let Some(running) = self.machine.running.as_ref().filter(|running| running.is_open) else {
            return self.send_reply(number, Outcome::Unreachable);
        };
        let http = match (&visit.batch, visit.intents.first().and_then(|number| self.intents.get(*number)).map(|it| &it.ask)) {
            (Some(batch), _) => batch,
            (None, Some(Ask::Http(http))) => http,
            (None, Some(Ask::Command(request))) => {
                let answer = running.recorder.submit(request.clone());
                return self.work(number, async move { Outcome::Command(answer.await) });
            }
            (None, Some(Ask::Read(shard, query, level))) => {
                let reading = running.recorder.read(shard.clone(), query.clone(), *level);
                return self.work(number, async move { Outcome::Read(reading.await) });
            }
            (None, None) => return,
        };
        let answer = running.api.answer(http.request());
        self.counts.http += 1;
        self.work(number, async move {
            let Ok(response) = answer.await;
            let (head, body) = response.into_parts();
            let is_marked = head.headers.get("idempotent-replayed").is_some_and(|value| value == "true");
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Outcome::Http(Reply { status: head.status.as_u16(), is_marked, body })
        });
    }

    fn work(&mut self, number: usize, work: impl Future<Output = Outcome> + Send + 'static) {
        self.trace.line(self.now_us, || format!("visit {number} arrives for {:?}", self.visits[number].intents));
        let mailbox = Mailbox::clone(&self.mailbox);
        let task = tokio::spawn(async move {
            let outcome = work.await;
            mailbox.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
        });
        self.inside.insert(number);
        if let Some(visit) = self.visits.get_mut(number) {
            visit.task = Some(task.abort_handle());
        }
    }

    /// A client closes its connection. What the process does for it goes on or not, as the API has it.
    pub(super) fn hang_up(&mut self, number: usize) {
        if !self.inside.remove(&number) {
            return;
        }
        self.trace.line(self.now_us, || format!("visit {number}: the client hangs up"));
        if let Some(task) = self.visits.get_mut(number).and_then(|visit| visit.task.take()) {
            task.abort();
        }
    }

    /// Puts a reply into the network, which loses, doubles and delays it.
    pub(super) fn send_reply(&mut self, number: usize, outcome: Outcome) {
        self.inside.remove(&number);
        let random = &mut self.chances.network;
        let (is_lost, is_doubled) = (random.chance(self.network.reply_lost), random.chance(self.network.reply_doubled));
        if is_lost {
            return self.trace.line(self.now_us, || format!("visit {number}: the reply is lost"));
        }
        if let Some(visit) = self.visits.get_mut(number) {
            visit.task = None;
            visit.outcome = Some(outcome);
        }
        for _ in 0..=u32::from(is_doubled) {
            let delay_us = self.delay_us();
            self.after(delay_us, Event::Reply(number));
        }
    }

    /// A reply arrives.
    pub(super) fn reply(&mut self, number: usize) -> Result<(), Finding> {
        let Some(visit) = self.visits.get(number) else { return Ok(()) };
        let intents = visit.intents.clone();
        let Some(outcome) = visit.outcome.clone() else { return Ok(()) };
        let told = match (&outcome, visit.batch.is_some()) {
            (Outcome::Http(reply), true) => reply.told_lines(intents.len()),
            _ => {
                let reads = intents.first().and_then(|number| self.intents.get(*number)).is_some_and(super::Intent::is_read);
                vec![told_of(outcome, reads); intents.len()]
            }
        };
        for (intent, told) in intents.into_iter().zip(told) {
            self.hear(intent, told)?;
        }
        Ok(())
    }

    /// A client hears something of its intent.
    fn hear(&mut self, number: usize, told: Told) -> Result<(), Finding> {
        self.trace.line(self.now_us, || format!("intent {number} hears {}", shown(&told)));
        if let Told::Nonsense(what) = &told {
            let name = self.intents.get(number).map_or("", |intent| &intent.name);
            return Err(Finding::new(format!("intent {number}, {name}: {what}")).about(format!("intent {number}:")));
        }
        let clock_ms = self.clock_ms();
        let Some(intent) = self.intents.get_mut(number) else { return Ok(()) };
        let was_done = intent.is_done;
        intent.told.push(told.clone());
        if was_done {
            return Ok(());
        }
        match told {
            Told::Yes { .. } | Told::Read | Told::Nonsense(_) => self.settle(number),
            Told::Again { .. } => {
                let lazy = i64::from(intent.attempts / HASTY_ATTEMPTS) * BACKOFF_US;
                let us = self.chances.clients.between(1_000, BACKOFF_US) + lazy;
                self.after(us, Event::Send(number));
            }
            Told::No { .. } => {
                let ends_in_ms = intent.expires_at.map(|expires_at| expires_at - clock_ms).filter(|ms| (0..5_000).contains(ms));
                match ends_in_ms {
                    // A *no* is about one attempt: only after its end does the client know that none of the others succeeds.
                    Some(ms) if !intent.is_last_try && self.chances.clients.chance(self.plan.clients.sure) => {
                        intent.is_last_try = true;
                        self.after((ms + 1) * 1_000, Event::Send(number));
                    }
                    _ => self.settle(number),
                }
            }
        }
        Ok(())
    }

    /// A client knows enough.
    fn settle(&mut self, number: usize) {
        let Some(intent) = self.intents.get_mut(number) else { return };
        intent.is_done = true;
        self.open -= 1;
        let told = intent.told.last().cloned();
        if let (Some(step), Some(Told::No { .. })) = (&intent.step, &told) {
            // The workload only wants to know that it was asked.
            self.workload.observe(step, &Decision::Rejected(Rejection::NoChange));
        }
        if let (Some(errand), Some(told)) = (intent.errand.clone(), told) {
            self.errand_is_done(number, errand, &told);
        }
    }

    /// A client has waited long enough, and asks again.
    pub(super) fn lose_patience(&mut self, number: usize, attempt: u32) {
        let Some(intent) = self.intents.get(number) else { return };
        if !intent.is_done && intent.attempts == attempt && !intent.is_last_try {
            self.send(number);
        } else if !intent.is_done && intent.attempts == attempt {
            // The last try has its own instant; if it went out and got lost, it is made again.
            let us = self.plan.clients.patience_ms * 1_000;
            self.after(us, Event::Send(number));
        }
    }
}

/// What a client hears from an outcome.
fn told_of(outcome: Outcome, reads: bool) -> Told {
    match outcome {
        Outcome::Unreachable => Told::Again { code: "unreachable".to_owned() },
        Outcome::Http(reply) => reply.told(reads),
        Outcome::Read(Ok(_)) => Told::Read,
        Outcome::Command(Ok(answer)) => match answer.decision {
            Decision::Accepted(entry) => Told::Yes { position: entry.position, replayed: false, result: Value::Null, reply: Value::Null },
            Decision::Replayed(entry) => Told::Yes { position: entry.position, replayed: true, result: Value::Null, reply: Value::Null },
            Decision::Rejected(rejection) => {
                let code = ErrorCode::from(&rejection);
                if code.retryable() {
                    Told::Again { code: code.code().to_owned() }
                } else {
                    Told::No { code: code.code().to_owned(), position: Some(answer.position) }
                }
            }
        },
        Outcome::Command(Err(failure)) | Outcome::Read(Err(failure)) => of_failure(&failure),
    }
}

fn of_failure(failure: &Failure) -> Told {
    let code = failure.code();
    if code.retryable() { Told::Again { code: code.code().to_owned() } } else { Told::No { code: code.code().to_owned(), position: None } }
}

fn shown(told: &Told) -> String {
    match told {
        Told::Yes { position, replayed: false, .. } => format!("yes, at {position}"),
        Told::Yes { position, replayed: true, .. } => format!("yes, at {position}, as before"),
        Told::No { code, position: Some(position) } => format!("no, {code} as of {position}"),
        Told::No { code, position: None } => format!("no, {code}"),
        Told::Again { code } => format!("ask again, {code}"),
        Told::Read => "what it wanted to see".to_owned(),
        Told::Nonsense(what) => format!("nonsense, {what}"),
    }
}

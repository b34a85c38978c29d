//! One intent, asked until its fate is known, over a network that loses replies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::Shared;
use super::wire::{Question, told};
use crate::http::{Client, Outcome, Reply};
use crate::load::Latency;
use crate::record::{Attempt, Record, Told};
use crate::seed::Seed;

/// How long a step of the rates is.
pub(super) const STEP: Duration = Duration::from_millis(250);

/// What the network does to the first attempt of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// The reply is lost; the retry goes out afterwards.
    LoseReply,
    /// The reply is lost; the retry goes out while the first attempt is under way.
    Overlap,
}

impl Fault {
    /// Draws a fault: of a thousand, `per_mille` replies are lost, half of them with an overlapping retry.
    pub(super) fn draw(seed: &mut Seed, per_mille: u64) -> Self {
        match (seed.chance(per_mille), seed.chance(500)) {
            (false, _) => Self::None,
            (true, false) => Self::LoseReply,
            (true, true) => Self::Overlap,
        }
    }
}

/// What one client counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter {
    pub(super) requests: u64,
    pub(super) replays: u64,
    pub(super) lost_on_purpose: u64,
    pub(super) overlapping: u64,
    pub(super) lost_otherwise: u64,
    pub(super) rejections: BTreeMap<String, u64>,
    pub(super) latency: Latency,
    /// Whole replies per [`STEP`].
    pub(super) rate: Vec<u64>,
}

impl Meter {
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.replays += other.replays;
        self.lost_on_purpose += other.lost_on_purpose;
        self.overlapping += other.overlapping;
        self.lost_otherwise += other.lost_otherwise;
        for (code, count) in &other.rejections {
            *self.rejections.entry(code.clone()).or_default() += count;
        }
        self.latency.add(&other.latency);
        if self.rate.len() < other.rate.len() {
            self.rate.resize(other.rate.len(), 0);
        }
        for (sum, count) in self.rate.iter_mut().zip(&other.rate) {
            *sum += count;
        }
    }

    fn reply(&mut self, at: Duration, latency: Duration) {
        self.latency.record(latency);
        let step = usize::try_from(at.as_millis() / STEP.as_millis()).unwrap_or(0);
        if self.rate.len() <= step {
            self.rate.resize(step + 1, 0);
        }
        if let Some(count) = self.rate.get_mut(step) {
            *count += 1;
        }
    }
}

/// One client: a connection, its own record, its own counts.
pub(super) struct Asker {
    pub(super) shared: Arc<Shared>,
    pub(super) seed: Seed,
    pub(super) record: Record,
    pub(super) meter: Meter,
    /// Intents whose last answer was no, or none, while an earlier attempt's fate is unknown.
    pub(super) doubtful: Vec<Question>,
    client: Client,
}

/// How an intent ended for now.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) told: Told,
    /// The reply that told it.
    pub(super) reply: Option<Reply>,
}

impl Asker {
    pub(super) fn new(shared: Arc<Shared>, seed: Seed) -> Self {
        let client = shared.client();
        Self { shared, seed, record: Record::new(), meter: Meter::default(), doubtful: Vec::new(), client }
    }

    /// Asks until somebody says yes or no, the same key each time.
    pub(super) async fn ask(&mut self, question: &Question, fault: Fault) -> Ending {
        let begun = Instant::now();
        let mut in_doubt = fault != Fault::None;
        let mut ending = match fault {
            Fault::None => self.attempt(question).await,
            Fault::LoseReply => {
                self.lose(question, false).await;
                self.attempt(question).await
            }
            Fault::Overlap => self.lose(question, true).await,
        };
        loop {
            match ending.told {
                Told::Yes { .. } | Told::Shown => return ending,
                Told::No { .. } => break,
                Told::Nothing => in_doubt = true,
                Told::Unseen => {}
            }
            if self.shared.is_silent() {
                self.shared.given_up.store(true, Ordering::Relaxed);
            }
            if begun.elapsed() > self.shared.patience || self.shared.given_up.load(Ordering::Relaxed) {
                in_doubt = true;
                break;
            }
            // A crowd that comes back in step would come back in step again.
            let wait_ms = 10 + self.seed.below(30);
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            ending = self.attempt(question).await;
        }
        if in_doubt {
            self.doubtful.push(question.clone());
        }
        ending
    }

    /// One attempt whose reply is awaited.
    pub(super) async fn attempt(&mut self, question: &Question) -> Ending {
        let sent_at_us = self.shared.now_us();
        let sent = Instant::now();
        self.meter.requests += 1;
        self.shared.under_way.fetch_add(1, Ordering::Relaxed);
        let outcome = self.client.send(&question.request).await;
        self.shared.under_way.fetch_sub(1, Ordering::Relaxed);
        let told = told(&outcome, question.answer);
        if matches!(outcome, Outcome::Reply(_)) {
            self.shared.replied_at_us.store(self.shared.now_us(), Ordering::Relaxed);
            self.meter.reply(self.shared.began.elapsed(), sent.elapsed());
        }
        match &told {
            Told::Yes { replayed, .. } => self.meter.replays += u64::from(*replayed),
            Told::No { code } => *self.meter.rejections.entry(code.clone()).or_default() += 1,
            Told::Nothing if !matches!(outcome, Outcome::Reply(_)) => self.meter.lost_otherwise += 1,
            Told::Nothing | Told::Unseen | Told::Shown => {}
        }
        self.note(question, sent_at_us, told.clone());
        let reply = match outcome {
            Outcome::Reply(reply) => Some(reply),
            _ => None,
        };
        Ending { told, reply }
    }

    /// An attempt whose reply is lost: sent whole, never read. With `overlap`, a retry goes out before it is given up.
    async fn lose(&mut self, question: &Question, overlap: bool) -> Ending {
        let sent_at_us = self.shared.now_us();
        self.meter.requests += 1;
        self.shared.under_way.fetch_add(1, Ordering::Relaxed);
        let sent = self.client.send_unread(&question.request).await;
        let told = match &sent {
            Ok(_) => Told::Nothing,
            Err(outcome) => told(outcome, question.answer),
        };
        self.meter.lost_on_purpose += u64::from(sent.is_ok());
        let mut ending = Ending { told: told.clone(), reply: None };
        if overlap {
            self.meter.overlapping += u64::from(sent.is_ok());
            ending = self.attempt(question).await;
        } else {
            // The client dies some time after sending: sometimes before the server has decided, sometimes after.
            let wait_us = self.seed.below(3_000);
            tokio::time::sleep(Duration::from_micros(wait_us)).await;
        }
        if let Ok(unread) = sent {
            unread.close();
        }
        self.shared.under_way.fetch_sub(1, Ordering::Relaxed);
        self.note(question, sent_at_us, told);
        ending
    }

    fn note(&mut self, question: &Question, sent_at_us: u64, told: Told) {
        let attempt = Attempt { sent_at_us, ended_at_us: self.shared.now_us(), told };
        self.record.note(question.intent.clone(), question.asked.clone(), attempt);
    }
}

//! The sale's crowd: candidates who come when the doors open, tap twice, change their minds, pay or let it be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nevertwice_api::wire;
use serde::Deserialize;

use super::DemoError;
use super::ask::{Asker, Ending, Fault};
use super::crowd::{Arrival, Manner, Mind};
use super::wire::{Answer, Question, SALE, post};
use crate::http::{Outcome, Reply, Request};
use crate::record::{Asked, IntentId, Told};

/// Of a thousand bookings, how many lose their reply.
const LOST_PER_MILLE: u64 = 150;

/// How long a candidate thinks before paying or giving the seat back.
const SECOND_THOUGHTS: Duration = Duration::from_millis(1_500);

/// The arrivals in order, and who is next.
pub(super) struct Queue {
    pub(super) arrivals: Vec<Arrival>,
    pub(super) next: AtomicUsize,
    pub(super) doors_open: Instant,
    /// Robots that were answered, and how many of them with what looks like success.
    pub(super) robots_fooled: AtomicUsize,
}

/// Something that a candidate does some time after being admitted.
struct Later {
    due: Instant,
    question: Question,
}

/// Serves arrivals as they come, and second thoughts as they come due, until both are over.
///
/// `second` is for the other tap of those who tap twice.
pub(super) async fn book(mut asker: Asker, mut second: Asker, queue: Arc<Queue>) -> Result<(Asker, Asker), DemoError> {
    let mut later: VecDeque<Later> = VecDeque::new();
    while !asker.shared.given_up.load(Ordering::Relaxed) {
        while let Some(now_due) = later.pop_front_if(|later| later.due <= Instant::now()) {
            let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
            asker.ask(&now_due.question, fault).await;
        }
        let index = queue.next.fetch_add(1, Ordering::Relaxed);
        let Some(arrival) = queue.arrivals.get(index) else { break };
        tokio::time::sleep_until((queue.doors_open + arrival.after).into()).await;
        if let Some(thought) = visit(&mut asker, &mut second, arrival, &queue).await? {
            later.push_back(Later { due: Instant::now() + SECOND_THOUGHTS, question: thought });
        }
        asker.shared.visit_is_over();
    }
    for left in later {
        tokio::time::sleep_until(left.due.into()).await;
        let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
        asker.ask(&left.question, fault).await;
    }
    Ok((asker, second))
}

/// One candidate's visit: what remains to be done later, if anything.
async fn visit(asker: &mut Asker, second: &mut Asker, arrival: &Arrival, queue: &Queue) -> Result<Option<Question>, DemoError> {
    let first = booking(asker, arrival, &arrival.level, "book-1")?;
    if arrival.manner == Manner::Robot {
        robot(asker, &first, queue).await;
        return Ok(None);
    }
    let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
    let (mut taken, mut ending) = if arrival.manner == Manner::TapsTwice {
        let other = booking(second, arrival, &arrival.level, "book-1b")?;
        let second_fault = Fault::draw(&mut second.seed, LOST_PER_MILLE);
        let (one, two) = tokio::join!(asker.ask(&first, fault), second.ask(&other, second_fault));
        // Whichever tap was first; the judge sees to it that both never are.
        if one.told.yes().is_some() { (first, one) } else { (other, two) }
    } else {
        let ending = asker.ask(&first, fault).await;
        (first, ending)
    };
    let is_full = |told: &Told| matches!(told, Told::No { code } if code == "level_full");
    if let (true, Some(second_choice)) = (is_full(&ending.told), &arrival.second_choice) {
        taken = booking(asker, arrival, second_choice, "book-2")?;
        let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
        ending = asker.ask(&taken, fault).await;
    }
    thought(asker, arrival, &taken, &ending)
}

/// What an admitted candidate will do about the booking.
fn thought(asker: &Asker, arrival: &Arrival, taken: &Question, ending: &Ending) -> Result<Option<Question>, DemoError> {
    let (Told::Yes { position: booking, .. }, Some(reply)) = (&ending.told, &ending.reply) else { return Ok(None) };
    let booking = *booking;
    let (payment, page) = payment_of(reply);
    let intent = |verb: &str| IntentId { principal: taken.intent.principal.clone(), key: format!("{verb}-{booking}") };
    let path = |verb: &str| format!("/v1/sales/{SALE}/bookings/{booking}/{verb}");
    let shared = &asker.shared;
    let question = match (arrival.mind, payment, page) {
        (Mind::PaysAtPage, _, Some(page)) => Question {
            intent: intent("pay"),
            asked: Asked::PayAtPage { booking },
            request: Request { method: "POST", path: format!("{page}/pay"), headers: Vec::new(), body: None },
            answer: Answer::Page,
        },
        (Mind::Pays | Mind::PaysAtPage, Some(payment), _) => {
            let intent = intent("confirm");
            let request = post(shared, path("confirm"), &wire::Confirm { payment }, &intent)?;
            Question { intent, asked: Asked::ConfirmPayment { booking }, request, answer: Answer::Ended }
        }
        (Mind::GivesBack, payment, _) => {
            let intent = intent("release");
            let booked_with = payment.is_none().then(|| taken.intent.key.clone());
            let request = post(shared, path("release"), &wire::Release { payment, booked_with }, &intent)?;
            Question { intent, asked: Asked::Release { booking }, request, answer: Answer::Ended }
        }
        // Without a payment there is nothing to pay.
        (Mind::Keeps, _, _) | (Mind::Pays | Mind::PaysAtPage, None, _) => return Ok(None),
    };
    Ok(Some(question))
}

/// A booking request of a candidate.
fn booking(asker: &Asker, arrival: &Arrival, level: &str, key: &str) -> Result<Question, DemoError> {
    let body = wire::Book {
        code: arrival.code.clone(),
        email: arrival.email.clone(),
        level: level.to_owned(),
        website: (arrival.manner == Manner::Robot).then(|| "https://example.org/".to_owned()),
    };
    let intent = IntentId { principal: arrival.principal.clone(), key: key.to_owned() };
    let request = post(&asker.shared, format!("/v1/sales/{SALE}/bookings"), &body, &intent)?;
    let asked = Asked::Admission { candidate: arrival.code.clone(), level: level.to_owned() };
    Ok(Question { intent, asked, request, answer: Answer::Admission })
}

/// A program that fills in every field. What it is told is no promise, so it is not in the record: that it got no seat is
/// seen by the judge, who would find a booking that nobody was told of.
async fn robot(asker: &mut Asker, question: &Question, queue: &Queue) {
    let mut client = asker.shared.client();
    asker.meter.requests += 1;
    if let Outcome::Reply(reply) = client.send(&question.request).await
        && reply.is_success()
    {
        queue.robots_fooled.fetch_add(1, Ordering::Relaxed);
    }
}

/// The payment of a booking and the path of its page, as the answer shows them.
fn payment_of(reply: &Reply) -> (Option<String>, Option<String>) {
    #[derive(Deserialize)]
    struct Answer {
        state: State,
    }
    #[derive(Deserialize)]
    struct State {
        payment: Option<String>,
        payment_url: Option<String>,
    }
    let Ok(Answer { state }) = reply.json() else { return (None, None) };
    let after_host = |url: String| {
        let (_, rest) = url.split_once("://")?;
        rest.find('/').map(|at| rest[at..].to_owned())
    };
    (state.payment, state.payment_url.and_then(after_host))
}

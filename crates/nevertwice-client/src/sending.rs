//! Sends an intent until its outcome is known or a bound is reached.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::answer::{Answer, Verdict};
use crate::http::{self, Reply, Request};
use crate::request::{EXPIRES_HEADER, KEY_HEADER};
use crate::{Client, ClientError, Clock, Done, Failed, Intent, IntentState, Outcome, Transport, Unknown, UnknownReason, retry_after_ms};

/// What is known while an intent is being sent.
struct Course {
    /// It has happened, as an earlier call was told.
    had_happened: bool,
    /// An attempt was made of which nobody knows what became of it.
    in_doubt: bool,
    attempts: u32,
    code: Option<String>,
    reply: Option<Reply>,
}

impl<T: Transport, C: Clock> Client<T, C> {
    /// Sends the intent, again and again within the bounds, and says what is known.
    ///
    /// Dropping the future gives the intent up; it then is in doubt, as its state says.
    ///
    /// # Errors
    ///
    /// What the client itself refuses: a store that can't be used, or a request that this transport can't send.
    pub async fn send(&mut self, intent: &mut Intent) -> Result<Outcome, ClientError> {
        self.read_again(intent)?;
        let state = intent.state();
        let mut course =
            Course { had_happened: state == IntentState::Done, in_doubt: state != IntentState::New, attempts: 0, code: None, reply: None };
        let end_ms = self.clock.elapsed_ms().saturating_add(self.retries.deadline_ms);
        loop {
            let left_ms = end_ms.saturating_sub(self.clock.elapsed_ms());
            if self.clock.now_ms() >= intent.expires_at() {
                return Ok(self.give_up(intent, course, UnknownReason::Expired));
            }
            if left_ms == 0 {
                return Ok(self.give_up(intent, course, UnknownReason::Deadline));
            }
            let request = self.with_intent(intent);
            if course.attempts > 0 {
                // Somebody who sends the same intent may have noted a refusal of his meanwhile.
                self.note_known(intent, IntentState::Sent);
            } else if !self.note_sent(intent)? {
                // Somebody else sends it, or has.
                course.in_doubt = true;
                course.had_happened = intent.state() == IntentState::Done;
            }
            course.attempts += 1;
            let time_limit = Duration::from_millis(self.retries.timeout_ms.min(left_ms));
            let mut after_ms = None;
            match self.transport.send(&request, time_limit).await {
                http::Outcome::Refused => {}
                http::Outcome::Lost | http::Outcome::TimedOut => course.in_doubt = true,
                http::Outcome::Unsendable => {
                    if !course.in_doubt {
                        self.note_known(intent, IntentState::New);
                    }
                    return Err(ClientError::RequestInvalid { wrong: "The transport can't send this request".to_owned() });
                }
                http::Outcome::Reply(reply) => {
                    after_ms = retry_after_ms(reply.header("retry-after"), reply.header("date"), self.clock.now_ms());
                    course = match self.settled(intent, course, reply) {
                        ControlFlow::Break(outcome) => return Ok(outcome),
                        ControlFlow::Continue(course) => course,
                    };
                }
            }
            if course.attempts >= self.retries.attempts_max {
                return Ok(self.give_up(intent, course, UnknownReason::Attempts));
            }
            let wait_ms = self.wait_ms(course.attempts, after_ms);
            // A wait that ends too late is not begun.
            if self.clock.now_ms().saturating_add(wait_ms) >= intent.expires_at() {
                return Ok(self.give_up(intent, course, UnknownReason::Expired));
            }
            if self.clock.elapsed_ms().saturating_add(wait_ms) >= end_ms {
                return Ok(self.give_up(intent, course, UnknownReason::Deadline));
            }
            self.clock.sleep(wait_ms).await;
        }
    }

    /// The outcome, if an answer settles it; else what is known goes on.
    fn settled(&self, intent: &mut Intent, mut course: Course, reply: Reply) -> ControlFlow<Outcome, Course> {
        let Answer { verdict, code, replayed } = Answer::read(&reply);
        let attempts = course.attempts;
        if verdict == Verdict::Yes {
            self.note_known(intent, IntentState::Done);
            return ControlFlow::Break(Outcome::Done(Done { reply, replayed, attempts }));
        }
        course.code = Some(code);
        course.reply = Some(reply);
        match verdict {
            Verdict::AgainInDoubt => course.in_doubt = true,
            Verdict::Again => {}
            Verdict::InDoubt => return ControlFlow::Break(self.unknown(intent, course, UnknownReason::ServerFault)),
            Verdict::Yes | Verdict::No | Verdict::NoThisTime => {
                if course.had_happened || (course.in_doubt && verdict == Verdict::NoThisTime) {
                    return ControlFlow::Break(self.unknown(intent, course, UnknownReason::RefusedInDoubt));
                }
                course.in_doubt = false;
                return ControlFlow::Break(self.give_up(intent, course, UnknownReason::RefusedInDoubt));
            }
        }
        ControlFlow::Continue(course)
    }

    fn give_up(&self, intent: &mut Intent, course: Course, reason: UnknownReason) -> Outcome {
        if course.in_doubt {
            return self.unknown(intent, course, reason);
        }
        if course.attempts > 0 {
            self.note_known(intent, IntentState::New);
        }
        let Course { attempts, code, reply, .. } = course;
        Outcome::Failed(Failed { code: code.unwrap_or_else(|| "not_sent".to_owned()), reply, attempts })
    }

    fn unknown(&self, intent: &mut Intent, course: Course, reason: UnknownReason) -> Outcome {
        // Somebody who sends the same intent may have noted a refusal of his meanwhile.
        self.note_known(intent, IntentState::Sent);
        let Course { attempts, code, reply, .. } = course;
        Outcome::Unknown(Unknown { reason, code, reply, attempts })
    }

    /// The request with the lines that are the intent's.
    fn with_intent(&mut self, intent: &Intent) -> Request {
        let mut request = intent.request.clone();
        if let Some(authorization) = &mut self.authorization {
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            request.headers.push(("authorization", authorization()));
        }
        request.header(KEY_HEADER, intent.key()).header(EXPIRES_HEADER, intent.expires_at().to_string())
    }

    fn wait_ms(&mut self, attempts: u32, after_ms: Option<u64>) -> u64 {
        let mut bytes = [0; 4];
        // Without random bytes there is no jitter, and a wait all the same.
        let _filled = (self.chance)(&mut bytes);
        self.retries.wait_ms(attempts, after_ms, u32::from_be_bytes(bytes))
    }
}

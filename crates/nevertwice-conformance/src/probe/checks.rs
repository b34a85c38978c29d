//! What an answer has to be.

use super::{Failed, Probe};
use crate::control::Plan;
use crate::http::{Answer, Ask};

/// Where a page in a browser is told which headers it may see.
pub(crate) const EXPOSED: &str = "access-control-expose-headers";

/// What belongs to one connection or one moment, whatever the profile says.
const OF_THE_CONNECTION: &[&str] = &["connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"];

impl Probe {
    /// Whether the answer says that it is a replay.
    pub(crate) fn is_marked(&self, answer: &Answer) -> bool {
        answer.value(&self.profile.told.marker) == Some("true")
    }

    /// It is the handler's answer, of just now.
    pub(crate) fn check_ran(&self, answer: &Answer, status: u16) -> Result<(), Failed> {
        if answer.status == status && !self.is_marked(answer) {
            return Ok(());
        }
        Err(Failed::new(self.told(answer), format!("status {status} of a run of its own")))
    }

    /// It repeats the first one.
    pub(crate) fn check_replay(&self, first: &Answer, again: &Answer) -> Result<(), Failed> {
        if again.status != first.status || !self.is_marked(again) {
            return Err(Failed::new(self.told(again), format!("status {} again, marked as a replay", first.status)));
        }
        if again.body != first.body {
            return Err(Failed::new(format!("the body of {again}"), format!("the body of the first answer, {first}")));
        }
        let mut names: Vec<&str> = first.lines.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        // What `Connection` names belongs to the connection as well (RFC 9110, section 7.6.1).
        let of_this_one = first.value("connection").unwrap_or_default().to_ascii_lowercase();
        let of_this_one: Vec<&str> = of_this_one.split(',').map(str::trim).collect();
        for name in names {
            let is_of_connection = OF_THE_CONNECTION.contains(&name) || of_this_one.contains(&name);
            let is_repeated = !is_of_connection && !self.profile.replays.without.iter().any(|without| without == name);
            // The marker is exposed by one line more.
            let is_same = if name == EXPOSED {
                again.values(name).starts_with(&first.values(name))
            } else {
                again.values(name) == first.values(name)
            };
            if is_repeated && !is_same {
                return Err(Failed::new(lines(again, name), format!("as at first: {}", lines(first, name))));
            }
        }
        Ok(())
    }

    /// It refuses with that status, and is no answer of a handler.
    pub(crate) fn check_refusal(&self, answer: &Answer, status: u16) -> Result<(), Failed> {
        let is_problem = !self.profile.told.problem_details || is_problem(answer);
        if answer.status == status && !self.is_marked(answer) && is_problem {
            return Ok(());
        }
        let form = if self.profile.told.problem_details { " with problem details (RFC 9457) that name it" } else { "" };
        Err(Failed::new(self.told(answer), format!("a refusal: status {status}{form}")))
    }

    fn told(&self, answer: &Answer) -> String {
        let marked = if self.is_marked(answer) { ", marked as a replay" } else { "" };
        format!("{answer}{marked}")
    }

    /// Runs the plan once and asks again in the same way. Nothing is said about the second answer.
    pub(crate) async fn twice(&self, plan: Plan, asked: &Ask) -> Result<(Answer, Answer), Failed> {
        let status = plan.status;
        self.plan(plan).await?;
        let first = self.send(asked).await?;
        self.check_ran(&first, status)?;
        let again = self.send(asked).await?;
        Ok((first, again))
    }

    /// Both requests count as one: the second one is answered with what the first one was.
    pub(crate) async fn check_same(&self, first: &Ask, second: &Ask) -> Result<(), Failed> {
        self.plan(Plan::status(201)).await?;
        let answer = self.send(first).await?;
        self.check_ran(&answer, 201)?;
        let again = self.send(second).await?;
        self.check_replay(&answer, &again)?;
        self.check_runs(1).await
    }

    /// The second request is another one under the key of the first.
    pub(crate) async fn check_mismatch(&self, first: &Ask, second: &Ask) -> Result<(), Failed> {
        self.plan(Plan::status(201)).await?;
        let answer = self.send(first).await?;
        self.check_ran(&answer, 201)?;
        let other = self.send(second).await?;
        self.check_refusal(&other, self.profile.statuses.mismatch)?;
        self.check_runs(1).await
    }
}

fn lines(answer: &Answer, name: &str) -> String {
    let values: Vec<String> = answer.values(name).iter().map(|value| format!("\"{}\"", value.escape_ascii())).collect();
    if values.is_empty() { format!("no {name}") } else { format!("{name}: {}", values.join(", ")) }
}

/// Problem details whose `status` is the answer's, with a title (RFC 9457, section 3.1).
fn is_problem(answer: &Answer) -> bool {
    let is_media = answer.value("content-type").is_some_and(|value| value.starts_with("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    is_media && problem["status"] == answer.status && problem["title"].is_string()
}

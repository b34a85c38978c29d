//! The rules that can be asked of a target's own endpoints, which nobody can plan; and why the others can't.

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::http::{Answer, Ask, NoAnswer};
use crate::own_endpoint::OwnEndpoint;
use crate::probe::{Checked, Failed, Probe};

/// How many send one request at once.
const AT_ONCE: usize = 40;

type Check = for<'a> fn(&'a Own<'a>) -> Checked<'a>;

macro_rules! checks {
    ($($id:literal => $check:path;)*) => { &[$(($id, |own| Box::pin($check(own)))),*] };
}

/// By the id of the rule of the same words.
const CHECKS: &[(&str, Check)] = checks! {
    "retry-replays" => retry_replays;
    "key-missing" => missing;
    "key-quoted" => quoted;
    "key-escapes" => escapes;
    "key-case" => case_counts;
    "key-longest" => longest;
    "key-empty" => empty;
    "key-too-long" => too_long;
    "key-list" => list;
    "key-ill-formed" => ill_formed;
    "key-not-ascii" => not_ascii;
    "key-two-lines" => two_lines;
    "key-refused-no-trace" => refused_no_trace;
    "caller-own-keys" => caller_own_keys;
    "caller-own-bodies" => caller_own_bodies;
    "mismatch" => mismatch;
    "mismatch-harmless" => mismatch_harmless;
    "json-same" => json_same;
    "headers-other" => headers_other;
    "running-many" => running_many;
    "replay-many" => replay_many;
    "free-client-errors" => client_errors_free;
    "expired-unknown" => expired_unknown;
    "expired-known" => expired_known;
    "expires-ill-formed" => expires_ill_formed;
    "request-larger" => larger;
    "request-chunked" => chunked;
};

/// Why what is left is not asked, by the beginning of its id. The first that fits.
const NOT_ASKED: &[(&str, &str)] = &[
    ("endpoint-", "there is no echo endpoint"),
    ("methods-", "the endpoint has one method"),
    ("method-", "the endpoint has one method"),
    ("path-", "another path is another place, with keys of its own"),
    ("query-", "the endpoint has no query"),
    ("caller-", "who calls is known by credentials, or nobody is asked for any"),
    ("json-", "the endpoint refuses JSON that it does not know"),
    ("form-", "the endpoint takes JSON alone"),
    ("multipart-", "the endpoint takes JSON alone"),
    ("bytes-", "the endpoint takes JSON alone"),
    ("running-", "a handler can't be made to wait"),
    ("replay-", "what an answer consists of can't be planned"),
    ("answer-", "what an answer consists of can't be planned"),
    ("kept-", "how a handler ends can't be planned"),
    ("free-", "how a handler ends can't be planned"),
    ("unknown-", "how a handler ends can't be planned"),
    ("effect-", "how a handler ends can't be planned"),
    ("request-", "the endpoint refuses bodies that it does not know"),
];

/// How a rule is asked of a target's own endpoint; or why it is not.
pub(crate) fn check_of(id: &str) -> Result<Check, &'static str> {
    if let Some((_, check)) = CHECKS.iter().find(|(rule, _)| *rule == id) {
        return Ok(*check);
    }
    let reason = NOT_ASKED.iter().find(|(begin, _)| id.starts_with(begin));
    Err(reason.map_or("it needs an echo endpoint", |(_, reason)| *reason))
}

/// An endpoint of the target, and the place in it that is this rule's alone.
pub(crate) struct Own<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) endpoint: &'a OwnEndpoint,
}

impl Own<'_> {
    /// Makes the place, in which nothing has happened.
    async fn prepare(&self) -> Result<(), Failed> {
        for (number, prepared) in self.endpoint.setup.iter().enumerate() {
            let key = format!("setup-{number}-{}", self.probe.name);
            let asked = Ask::new(Method::POST, self.named(&prepared.path)).body("application/json", self.named(&prepared.body));
            let answer = self.probe.send(&self.by(&self.probe.profile.caller.first, asked).with("idempotency-key", key)).await?;
            if !(200..300).contains(&answer.status) {
                return Err(Failed::new(answer, "a place that is made (status 2xx)").of(format!("setup {}", prepared.path)));
            }
        }
        self.check_effects(0).await
    }

    fn named(&self, text: &str) -> String {
        text.replace("{name}", &self.probe.name)
    }

    fn by(&self, caller: &str, mut asked: Ask) -> Ask {
        let name = HeaderName::from_bytes(self.probe.profile.caller.header.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(caller)) {
            asked.headers.push((name, value));
        }
        asked
    }

    fn keyless(&self) -> Ask {
        self.of(&self.endpoint.body, &self.probe.profile.caller.first)
    }

    fn of(&self, body: &str, caller: &str) -> Ask {
        let method = Method::from_bytes(self.endpoint.method.as_bytes()).unwrap_or(Method::POST);
        self.by(caller, Ask::new(method, self.named(&self.endpoint.path)).body("application/json", self.named(body)))
    }

    fn ask(&self) -> Ask {
        self.keyless().with("idempotency-key", self.probe.key())
    }

    async fn effects(&self) -> Result<i64, Failed> {
        let asked = self.by(&self.probe.profile.caller.first, Ask::new(Method::GET, self.named(&self.endpoint.effects.path)));
        let answer = self.probe.send(&asked).await?;
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let count = told.pointer(&self.endpoint.effects.pointer).and_then(Value::as_i64);
        count.ok_or_else(|| Failed::new(answer, format!("a number at {}", self.endpoint.effects.pointer)))
    }

    async fn check_effects(&self, times: i64) -> Result<(), Failed> {
        let effects = self.effects().await?;
        if effects == times {
            return Ok(());
        }
        Err(Failed::new(format!("the effect happened {effects} times"), format!("{times} times")))
    }

    fn check_first(&self, answer: &Answer) -> Result<(), Failed> {
        self.probe.check_ran(answer, self.endpoint.status)
    }

    /// It says that it is a replay, and repeats what the endpoint repeats.
    fn check_again(&self, first: &Answer, again: &Answer) -> Result<(), Failed> {
        if again.status != self.endpoint.replay_status || !self.probe.is_marked(again) {
            return Err(Failed::new(again, format!("status {}, marked as a replay", self.endpoint.replay_status)));
        }
        let [first, again] = [first, again].map(|answer| serde_json::from_slice::<Value>(&answer.body).unwrap_or_default());
        for pointer in &self.endpoint.repeats {
            let (before, now) = (first.pointer(pointer), again.pointer(pointer));
            if before.is_none() || before != now {
                return Err(Failed::new(format!("{pointer}: {now:?}"), format!("as at first: {before:?}")));
            }
        }
        Ok(())
    }

    /// Both count as one: the second is answered as the first was, and the effect happens once.
    async fn check_same(&self, first: &Ask, second: &Ask) -> Result<(), Failed> {
        self.prepare().await?;
        let answer = self.probe.send(first).await?;
        self.check_first(&answer)?;
        self.check_again(&answer, &self.probe.send(second).await?)?;
        self.check_effects(1).await
    }

    /// Each is refused with that status, and nothing happens.
    async fn check_refused(&self, asked: Vec<Ask>, status: u16) -> Result<(), Failed> {
        self.prepare().await?;
        for asked in asked {
            let answer = self.probe.send(&asked).await?;
            self.probe.check_refusal(&answer, status)?;
        }
        self.check_effects(0).await
    }

    async fn check_forms(&self, forms: &[&[u8]]) -> Result<(), Failed> {
        let asked = forms.iter().map(|form| self.keyless().with("idempotency-key", form)).collect();
        self.check_refused(asked, self.probe.profile.statuses.invalid).await
    }

    fn other_body(&self) -> &str {
        self.endpoint.other_bodies.first().map_or("{}", String::as_str)
    }
}

async fn retry_replays(own: &Own<'_>) -> Result<(), Failed> {
    own.check_same(&own.ask(), &own.ask()).await
}

async fn missing(own: &Own<'_>) -> Result<(), Failed> {
    own.check_refused(vec![own.keyless()], own.probe.profile.statuses.missing.unwrap_or(400)).await
}

async fn quoted(own: &Own<'_>) -> Result<(), Failed> {
    let quoted = own.keyless().with("idempotency-key", format!("\"{}\"", own.probe.key()));
    own.check_same(&quoted, &own.ask()).await
}

async fn escapes(own: &Own<'_>) -> Result<(), Failed> {
    let visible: String = ('!'..='~').filter(|c| !matches!(c, '"' | '\\')).collect();
    let quoted = own.keyless().with("idempotency-key", format!("\"{}{visible}\\\"\\\\\"", own.probe.key()));
    own.check_same(&quoted, &quoted).await
}

async fn case_counts(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let bodies = [own.endpoint.body.as_str(), own.other_body()];
    for (key, body) in [own.probe.key().to_ascii_lowercase(), own.probe.key().to_ascii_uppercase()].into_iter().zip(bodies) {
        let asked = own.of(body, &own.probe.profile.caller.first).with("idempotency-key", key);
        own.check_first(&own.probe.send(&asked).await?)?;
    }
    Ok(())
}

async fn longest(own: &Own<'_>) -> Result<(), Failed> {
    let key = format!("{:k<1$}", own.probe.key(), own.probe.profile.key_bytes_max);
    let asked = own.keyless().with("idempotency-key", key);
    own.check_same(&asked, &asked).await
}

async fn empty(own: &Own<'_>) -> Result<(), Failed> {
    own.check_forms(&[b"", b"\"\""]).await
}

async fn too_long(own: &Own<'_>) -> Result<(), Failed> {
    let long = "k".repeat(own.probe.profile.key_bytes_max + 1);
    own.check_forms(&[long.as_bytes(), format!("\"{long}\"").as_bytes()]).await
}

async fn list(own: &Own<'_>) -> Result<(), Failed> {
    own.check_forms(&[b"a, b", b"a,b", b"\"a\", \"b\"", b"a,"]).await
}

async fn ill_formed(own: &Own<'_>) -> Result<(), Failed> {
    own.check_forms(&[b"\"a", b"a\"", b"\"a\"b", b"\"a\";p=1", b"\"a\\b\"", b"\"a\\", b"a\"b", b"a b", b"\"a b\"", b"a\tb"]).await
}

async fn not_ascii(own: &Own<'_>) -> Result<(), Failed> {
    own.check_forms(&["é".as_bytes(), b"\xe9", "\"ключ\"".as_bytes(), b"a\xff"]).await
}

async fn two_lines(own: &Own<'_>) -> Result<(), Failed> {
    let second = [own.probe.key(), format!("{}-other", own.probe.key())];
    let asked = second.map(|second| own.ask().with("idempotency-key", second));
    own.check_refused(asked.into(), own.probe.profile.statuses.invalid).await
}

async fn refused_no_trace(own: &Own<'_>) -> Result<(), Failed> {
    let long = own.keyless().with("idempotency-key", "k".repeat(own.probe.profile.key_bytes_max + 1));
    own.check_refused(vec![own.keyless(), long], 400).await?;
    let answer = own.probe.send(&own.ask()).await?;
    own.check_first(&answer)
}

async fn caller_own_keys(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let caller = &own.probe.profile.caller;
    let first = own.of(&own.endpoint.body, &caller.first).with("idempotency-key", own.probe.key());
    let second = own.of(own.other_body(), &caller.second).with("idempotency-key", own.probe.key());
    let asks = [first, second];
    let mut answers = Vec::new();
    for asked in &asks {
        let answer = own.probe.send(asked).await?;
        own.check_first(&answer)?;
        answers.push(answer);
    }
    // And each keeps its own.
    for (asked, first) in asks.iter().zip(&answers) {
        own.check_again(first, &own.probe.send(asked).await?)?;
    }
    Ok(())
}

async fn caller_own_bodies(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    own.check_first(&own.probe.send(&own.ask()).await?)?;
    let other = own.of(own.other_body(), &own.probe.profile.caller.second).with("idempotency-key", own.probe.key());
    own.check_first(&own.probe.send(&other).await?)
}

async fn mismatch(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    own.check_first(&own.probe.send(&own.ask()).await?)?;
    for body in &own.endpoint.other_bodies {
        let other = own.of(body, &own.probe.profile.caller.first).with("idempotency-key", own.probe.key());
        own.probe.check_refusal(&own.probe.send(&other).await?, own.probe.profile.statuses.mismatch).map_err(|failed| failed.of(body))?;
    }
    own.check_effects(1).await
}

async fn mismatch_harmless(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let first = own.probe.send(&own.ask()).await?;
    own.check_first(&first)?;
    own.probe.send(&own.of(own.other_body(), &own.probe.profile.caller.first).with("idempotency-key", own.probe.key())).await?;
    own.check_again(&first, &own.probe.send(&own.ask()).await?)?;
    own.check_effects(1).await
}

async fn json_same(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let first = own.probe.send(&own.ask()).await?;
    own.check_first(&first)?;
    for body in &own.endpoint.same_bodies {
        let again = own.of(body, &own.probe.profile.caller.first).with("idempotency-key", own.probe.key());
        own.check_again(&first, &own.probe.send(&again).await?).map_err(|failed| failed.of(body))?;
    }
    own.check_effects(1).await
}

async fn headers_other(own: &Own<'_>) -> Result<(), Failed> {
    let sent = |id: &str| own.ask().with("x-request-id", id).with("user-agent", id);
    own.check_same(&sent("one"), &sent("two")).await
}

async fn running_many(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let under_way: Vec<_> = (0..AT_ONCE).map(|_| own.probe.begin(&own.ask())).collect();
    let (mut ran, mut replayed) = (Vec::new(), Vec::new());
    for one in under_way {
        let answer = one.answer().await?;
        match own.probe.is_marked(&answer) {
            true => replayed.push(answer),
            false if answer.status == own.endpoint.status => ran.push(answer),
            false => own.probe.check_refusal(&answer, own.probe.profile.statuses.in_progress)?,
        }
    }
    let [first] = ran.as_slice() else {
        return Err(Failed::new(format!("of {AT_ONCE} at once {} ran", ran.len()), "one"));
    };
    replayed.iter().try_for_each(|again| own.check_again(first, again))?;
    own.check_effects(1).await
}

async fn replay_many(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let first = own.probe.send(&own.ask()).await?;
    own.check_first(&first)?;
    for _ in 0..5 {
        own.check_again(&first, &own.probe.send(&own.ask()).await?)?;
    }
    own.check_effects(1).await
}

async fn client_errors_free(own: &Own<'_>) -> Result<(), Failed> {
    let Some(refused) = &own.endpoint.refused else { return Err(Failed::new("none", "a `refused` body in the profile")) };
    own.prepare().await?;
    let asked = own.of(&refused.body, &own.probe.profile.caller.first).with("idempotency-key", own.probe.key());
    for _ in 0..2 {
        own.probe.check_refusal(&own.probe.send(&asked).await?, refused.status)?;
    }
    // The key is as it was: it takes what is asked in its place.
    own.check_first(&own.probe.send(&own.ask()).await?)?;
    own.check_effects(1).await
}

async fn expired_unknown(own: &Own<'_>) -> Result<(), Failed> {
    own.check_refused(vec![own.ask().with("idempotency-expires", "1")], own.probe.profile.statuses.expired).await
}

async fn expired_known(own: &Own<'_>) -> Result<(), Failed> {
    own.check_same(&own.ask(), &own.ask().with("idempotency-expires", "1")).await
}

async fn expires_ill_formed(own: &Own<'_>) -> Result<(), Failed> {
    let asked = ["soon", "", "1.5", "-1"].map(|text| own.ask().with("idempotency-expires", text));
    own.check_refused(asked.into(), 400).await
}

async fn larger(own: &Own<'_>) -> Result<(), Failed> {
    own.prepare().await?;
    let body = vec![b' '; own.probe.profile.limits.request_bytes_max + 1];
    let asked = own.ask().body("application/json", body);
    match own.probe.try_send(&asked).await {
        Ok(answer) => own.probe.check_refusal(&answer, own.probe.profile.statuses.too_large)?,
        // The connection may be closed before all is sent, and the answer be lost with it.
        Err(NoAnswer::Broken) => {}
        Err(none) => return Err(none.into()),
    }
    own.check_first(&own.probe.send(&own.ask()).await?)?;
    own.check_effects(1).await
}

async fn chunked(own: &Own<'_>) -> Result<(), Failed> {
    own.check_same(&own.ask(), &own.ask().chunked()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rules;

    #[test]
    fn every_check_is_of_a_rule_and_every_other_rule_has_a_reason_of_its_own() {
        for (id, _) in CHECKS {
            assert!(rules().iter().any(|rule| rule.id == *id), "{id}");
        }
        let left: Vec<_> = rules().iter().filter_map(|rule| check_of(rule.id).err().map(|reason| (rule.id, reason))).collect();
        assert!(!left.is_empty());
        for (id, reason) in left {
            assert!(reason != "it needs an echo endpoint" || id.starts_with("key-") || id.starts_with("old-"), "{id} has no reason");
        }
    }
}

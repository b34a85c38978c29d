//! Plans an echo endpoint and asks it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};
use tokio::task::JoinHandle;

use super::Failed;
use crate::control::Plan;
use crate::http::{Answer, Ask, Base, NoAnswer, Opened, open, send};
use crate::profile::Profile;

/// The commands of one rule that are remembered for its report.
const COMMANDS_MAX: usize = 40;

/// The longest name of an endpoint, as `conformance/README.md` has it.
const NAME_BYTES_MAX: usize = 64;

/// One endpoint of one rule.
#[derive(Clone)]
pub(crate) struct Probe {
    target: Base,
    control: Base,
    pub(crate) profile: Arc<Profile>,
    /// The name of the endpoint, and the beginning of its keys.
    pub(crate) name: String,
    commands: Arc<Mutex<Vec<String>>>,
}

/// A request that is under way. Dropped, its client hangs up.
pub(crate) struct UnderWay(JoinHandle<Result<Answer, NoAnswer>>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl UnderWay {
    /// Whether its answer, or its failure, is there.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    pub(crate) async fn answer(mut self) -> Result<Answer, Failed> {
        match (&mut self.0).await {
            Ok(answered) => Ok(answered?),
            Err(_) => Err(NoAnswer::Broken.into()),
        }
    }
}

impl Probe {
    pub(crate) fn new(target: Base, control: Base, profile: Arc<Profile>, name: String) -> Self {
        Self { target, control, profile, name, commands: Arc::default() }
    }

    /// Another endpoint of the same rule, with keys of its own.
    pub(crate) fn part(&self, part: impl std::fmt::Display) -> Self {
        let name = format!("{}-{part}", self.name);
        debug_assert!(name.len() <= NAME_BYTES_MAX, "{name}");
        Self { name, ..self.clone() }
    }

    /// The commands so far.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, base: &Base, asked: &Ask) {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        if commands.len() < COMMANDS_MAX {
            commands.push(asked.curl(base));
        }
    }

    /// The key of this endpoint.
    pub(crate) fn key(&self) -> String {
        format!("k-{}", self.name)
    }

    /// The request that most rules begin with: the first guarded method, the first caller, the endpoint's key, a small JSON body.
    pub(crate) fn ask(&self) -> Ask {
        self.ask_as(&self.profile.caller.first)
    }

    /// The same of another caller.
    pub(crate) fn ask_as(&self, caller: &str) -> Ask {
        self.keyless_as(caller).with("idempotency-key", self.key())
    }

    /// The same of nobody.
    pub(crate) fn ask_as_nobody(&self) -> Ask {
        self.ask().without(&self.profile.caller.header)
    }

    /// The same without a key.
    pub(crate) fn keyless(&self) -> Ask {
        self.keyless_as(&self.profile.caller.first)
    }

    fn keyless_as(&self, caller: &str) -> Ask {
        let mut asked = Ask::new(self.method(), format!("/echo/{}", self.name)).body("application/json", r#"{"amount":5}"#);
        let name = HeaderName::from_bytes(self.profile.caller.header.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(caller)) {
            asked.headers.push((name, value));
        }
        asked
    }

    /// The first of the guarded methods.
    pub(crate) fn method(&self) -> Method {
        self.guarded().first().cloned().unwrap_or(Method::POST)
    }

    /// All of them.
    pub(crate) fn guarded(&self) -> Vec<Method> {
        self.profile.guarded_methods.iter().filter_map(|method| Method::from_bytes(method.as_bytes()).ok()).collect()
    }

    /// Says what the endpoint does when it is asked, and sets its figures to zero.
    pub(crate) async fn plan(&self, plan: Plan) -> Result<(), Failed> {
        let json = serde_json::to_vec(&plan).map_err(|error| Failed::new(error, "a plan"))?;
        let asked = Ask::new(Method::PUT, format!("/control/{}", self.name)).body("application/json", Bytes::from(json));
        self.command(&asked, 204).await.map(|_| ())
    }

    /// Opens the gate, for all that wait there and all that come.
    pub(crate) async fn open_gate(&self) -> Result<(), Failed> {
        self.command(&Ask::new(Method::POST, format!("/control/{}/open", self.name)), 204).await.map(|_| ())
    }

    /// Asks the unguarded side.
    pub(super) async fn command(&self, asked: &Ask, status: u16) -> Result<Answer, Failed> {
        self.note(&self.control, asked);
        let answer =
            send(&self.control, asked).await.map_err(|none| Failed::from(none).of(format!("the control endpoint {}", asked.path)))?;
        if answer.status == status {
            return Ok(answer);
        }
        Err(Failed::new(format!("the control endpoint {}: {answer}", asked.path), format!("status {status}")))
    }

    /// Asks, and waits for the whole answer.
    pub(crate) async fn send(&self, asked: &Ask) -> Result<Answer, Failed> {
        Ok(self.try_send(asked).await?)
    }

    /// Asks where no answer is an answer, too.
    pub(crate) async fn try_send(&self, asked: &Ask) -> Result<Answer, NoAnswer> {
        self.note(&self.target, asked);
        send(&self.target, asked).await
    }

    /// Asks, and waits for the head of the answer.
    pub(crate) async fn open(&self, asked: &Ask) -> Result<Opened, Failed> {
        self.note(&self.target, asked);
        Ok(open(&self.target, asked).await?)
    }

    /// Asks, and does not wait.
    pub(crate) fn begin(&self, asked: &Ask) -> UnderWay {
        self.note(&self.target, asked);
        let (target, asked) = (self.target.clone(), asked.clone());
        UnderWay(tokio::spawn(async move { send(&target, &asked).await }))
    }
}

//! Somebody else's guard, as far as it asks the server.

use serde_json::{Value, json};

use crate::client::{Answer, Ask};
use crate::house::House;

/// An attempt of that number.
pub(crate) fn owner(number: u64) -> String {
    format!("{number:064x}")
}

pub(crate) fn call(verb: &str, body: &Value) -> Ask {
    let keyed = Ask::post(format!("/v1/keys/{verb}"), "", body.to_string());
    keyed.without("idempotency-key")
}

/// A registration of the key `k` for something that costs 100.
pub(crate) fn registration(attempt: u64) -> Value {
    json!({"key": "k", "owner": owner(attempt), "request": r#"{"amount":100}"#})
}

/// The same with other members, or more.
pub(crate) fn with(mut body: Value, more: Value) -> Value {
    let (Some(members), Value::Object(more)) = (body.as_object_mut(), more) else { panic!("objects") };
    members.extend(more);
    body
}

pub(crate) fn completion(attempt: u64, generation: &Value, answer: Value) -> Value {
    json!({"key": "k", "owner": owner(attempt), "generation": generation, "answer": answer})
}

pub(crate) fn created() -> Value {
    json!({"status": 201, "headers": [{"name": "content-type", "value": "application/json"}], "body_text": "{\"charge\":1}"})
}

impl House {
    pub(crate) async fn ask_keys(&self, verb: &str, body: Value) -> Answer {
        self.send(call(verb, &body)).await
    }

    /// Asks what is fine, and gives what was answered.
    pub(crate) async fn on_keys(&self, verb: &str, body: Value) -> Value {
        let answer = self.ask_keys(verb, body).await;
        assert_eq!(answer.status, 200, "{verb}: {}", answer.text);
        answer.json()
    }

    /// Claims the key `k`, and gives the generation.
    pub(crate) async fn claim(&self, attempt: u64) -> Value {
        let registered = self.on_keys("register", registration(attempt)).await;
        assert_eq!(registered["registration"], "fresh", "{registered}");
        registered["generation"].clone()
    }

    pub(crate) async fn inspect(&self, query: &str) -> Answer {
        self.get(format!("/v1/keys/inspect?{query}")).await
    }

    /// How often calls about keys came to that.
    pub(crate) async fn became(&self, outcome: &str) -> f64 {
        self.metric(&format!("nevertwice_key_outcomes_total{{outcome=\"{outcome}\"}}")).await
    }
}

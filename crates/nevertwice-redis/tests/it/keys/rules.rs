//! The rules that the doctor prints let a store of keys do all that it does, and nothing else.

use std::sync::Arc;

use nevertwice_api::{AnswerBytes, KeyStore, Levels};
use nevertwice_core::keys::{CompleteKey, KeyId, LapsePolicy, OwnerId, RegisterKey, Registration, ReleaseKey, RenewLease};
use nevertwice_redis::clock::MachineClock;
use nevertwice_redis::{KeyStoreOpenError, LinkOptions, RedisKeyOptions, RedisKeyStore, ServerRefusal, key_store_rules};
use nevertwice_testkit::redis::{RedisServer, pair};

fn user(server: &RedisServer, name: &str, rules: &str) {
    let line = ["ACL", "SETUSER", name, "reset", "on", ">hush"].into_iter().chain(rules.split(' ')).collect::<Vec<_>>();
    assert_eq!(server.ask(&line).text(), "OK");
}

async fn open(server: &RedisServer, name: &str) -> Result<RedisKeyStore, KeyStoreOpenError> {
    let address = format!("redis://{name}:hush@127.0.0.1:{}", server.port()).parse().unwrap();
    // A slow machine is no missing rule.
    let link = LinkOptions { reply_ms: 60_000, ..LinkOptions::default() };
    let options = RedisKeyOptions { replicas: 1, wait_ms: 30_000, link, ..RedisKeyOptions::default() };
    RedisKeyStore::open(address, options, Arc::new(MachineClock)).await
}

#[tokio::test]
async fn a_store_needs_no_more_than_the_rules_say() {
    let (server, _replica) = pair(&[]);
    user(&server, "keys", &key_store_rules());
    let store = open(&server, "keys").await.unwrap();
    assert_eq!(store.note_secret(&[[1; 32]]).await, Ok(true));
    assert_eq!(store.note_secret(&[[2; 32], [1; 32]]).await, Ok(true), "a secret is changed");
    assert_eq!(store.note_secret(&[[1; 32]]).await, Ok(false));
    let (owner, levels) = (OwnerId([1; 32]), Levels::reached(nevertwice_api::Level::Replicated));
    for key in [1, 2] {
        let register = RegisterKey {
            fingerprint: [7; 32],
            owner,
            lease_ms: 60_000,
            retention_ms: 90_000,
            expires_at: None,
            lapse: LapsePolicy::Refuse,
        };
        let told = store.register(KeyId([key; 32]), register, levels).await.unwrap().reply.unwrap().registration;
        let Registration::Fresh(lease) = told else { panic!("{told:?}") };
        let generation = lease.generation;
        store.renew(KeyId([key; 32]), RenewLease { owner, generation, lease_ms: 1_000 }).await.unwrap().reply.unwrap();
        if key == 1 {
            let bytes = AnswerBytes::default();
            let command = CompleteKey { owner, generation, answer: bytes.describe(200) };
            store.complete(KeyId([key; 32]), command, bytes, levels).await.unwrap().reply.unwrap();
        } else {
            store.release(KeyId([key; 32]), ReleaseKey { owner, generation }, levels).await.unwrap().reply.unwrap();
        }
        assert!(store.inspect(KeyId([key; 32])).await.unwrap().is_some());
    }
    store.sweep(10).await.unwrap();
    store.sweep(10).await.unwrap();
    assert_eq!(store.status().records, 2);
    let refused = server.client().ask(&["ACL", "LOG"]).unwrap();
    assert_eq!(format!("{refused:?}"), "[]", "the server has refused something");
}

#[tokio::test]
async fn a_rule_less_is_noticed() {
    let server = RedisServer::start(&[]);
    user(&server, "keys", &key_store_rules().replace(" +info", ""));
    assert_eq!(open(&server, "keys").await.err(), Some(KeyStoreOpenError::Refused(ServerRefusal::NotPermitted)));
}

//! Each script of keys runs as a user who may touch nothing but the key that it declares.

use std::collections::BTreeMap;

use nevertwice_redis::scripts;
use nevertwice_testkit::redis::{RedisClient, RedisReply, RedisServer};

/// What the scripts of keys do, and no more.
const COMMANDS: &[&str] = &["+eval", "+time", "+hmget", "+hset", "+hdel", "+del", "+pexpire"];

/// A user who may touch that key alone, and a connection as that user.
fn user(server: &RedisServer, name: &str, key: &str) -> RedisClient {
    let may_touch = format!("~{key}");
    let lines = [&["ACL", "SETUSER", name, "reset", "on", "nopass", &may_touch], COMMANDS].concat();
    assert_eq!(server.ask(&lines).text(), "OK");
    let mut client = server.client();
    assert_eq!(client.ask(&["AUTH", name, "any"]).unwrap().text(), "OK");
    client
}

fn call(client: &mut RedisClient, name: &str, key: &str, given: &BTreeMap<&str, &str>) -> RedisReply {
    let script = scripts().into_iter().find(|script| script.name() == name).unwrap();
    let args = script.args().iter().map(|arg| *given.get(arg).unwrap_or_else(|| panic!("{name} takes {arg}, which nobody gave")));
    let command: Vec<&str> = ["EVAL", script.text(), "1", key].into_iter().chain(args).collect();
    client.ask(&command).unwrap()
}

fn word(reply: &RedisReply) -> String {
    match reply {
        RedisReply::List(items) => items[0].text(),
        RedisReply::Error(words) => words.split(' ').next().unwrap_or_default().to_owned(),
        other => panic!("no script replies {other:?}"),
    }
}

#[test]
fn each_script_touches_only_the_key_that_it_declares() {
    let server = RedisServer::start(&[]);
    let digest = "d".repeat(32);
    let mut given = BTreeMap::from([
        ("at_ms", "1790000000000"),
        ("skew_ms_max", "999999999999"),
        ("fingerprint", "f"),
        ("owner", "o"),
        ("generation", "1790000000000"),
        ("lease_ms", "60000"),
        ("retention_ms", "86400000"),
        ("expires_at", ""),
        ("lapse", "refuse"),
        ("has_room", "1"),
        ("keep_ms", "10000"),
        ("status", "200"),
        ("head_bytes", "1"),
        ("head_digest", &digest),
        ("body_bytes", "1"),
        ("body_digest", &digest),
        ("kept", "whole"),
        ("headers", "h"),
        ("body", "b"),
    ]);
    let steps = [
        ("look_up_key", "full"),
        ("register_key", "fresh"),
        ("renew_lease", "renewed"),
        ("complete_key", "kept"),
        ("look_up_key", "replay"),
        ("forget_key", "remembered"),
        ("release_key", "key_completed"),
    ];
    let key = "nvt:v1:{k:one}";
    let (mut mine, mut others) = (user(&server, "mine", key), user(&server, "others", "nvt:v1:{k:two}"));
    for (name, expected) in steps {
        assert_eq!(word(&call(&mut others, name, key, &given)), "NOPERM", "{name} as a user who may not touch its key");
        let reply = call(&mut mine, name, key, &given);
        assert_eq!(word(&reply), expected, "{name}: {reply:?}");
    }
    given.insert("at_ms", "1790090000000");
    given.insert("skew_ms_max", "-1");
    for (name, expected) in [("forget_key", "forgotten"), ("register_key", "fresh")] {
        assert_eq!(word(&call(&mut mine, name, key, &given)), expected, "{name}");
    }
    given.insert("generation", "1790090000000");
    assert_eq!(word(&call(&mut mine, "release_key", key, &given)), "released");
    let held: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    for script in scripts().into_iter().filter(|script| script.name().contains("_key") || script.name() == "renew_lease") {
        assert!(held.contains(&script.name()), "{} is not held to its key", script.name());
    }
}

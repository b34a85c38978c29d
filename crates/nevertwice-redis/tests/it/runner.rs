//! Scripts that the server does not know are loaded, once.

use nevertwice_redis::script::{Call, Script};
use nevertwice_redis::{Link, LinkFailure, LinkOptions, Runner};
use nevertwice_testkit::redis::RedisServer;

static COUNT: Script = Script::new("count", "#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])\n", &["counter"], &["more"]);
static BAD: Script = Script::new("bad", "#!lua\nreturn redis.call('HGET', KEYS[1], 'x')\n", &["counter"], &[]);

fn runner(server: &RedisServer) -> Runner {
    Runner::new(Link::new(server.url().parse().unwrap(), LinkOptions::default()))
}

fn count(more: u64) -> Call {
    Call { script: &COUNT, keys: vec![b"counter".to_vec()], args: vec![more.to_string().into_bytes()] }
}

#[tokio::test]
async fn calls_that_found_no_script_are_made_again_and_no_others() {
    let server = RedisServer::start(&[]);
    let runner = runner(&server);
    assert_eq!(runner.call(count(1)).await.unwrap(), Ok(redis::Value::Int(1)));
    // The bad script is unknown, the counting one is known: a second counting would show.
    let bad = Call { script: &BAD, keys: vec![b"counter".to_vec()], args: vec![] };
    let answers = runner.call_all(&[count(10), bad, count(100)], &[redis::cmd("PING")]).await.unwrap();
    assert_eq!(answers.calls[0], Ok(redis::Value::Int(11)));
    assert!(answers.calls[1].as_ref().is_err_and(|error| error.code() == "WRONGTYPE"), "{:?}", answers.calls[1]);
    assert_eq!(answers.calls[2], Ok(redis::Value::Int(111)));
    assert_eq!(answers.tail, [Ok(redis::Value::SimpleString("PONG".into()))]);
    server.ask(&["SCRIPT", "FLUSH"]);
    let answers = runner.call_all(&[count(1), count(1)], &[]).await.unwrap();
    assert_eq!(answers.calls, [Ok(redis::Value::Int(112)), Ok(redis::Value::Int(113))]);
    assert_eq!(runner.counts().unknown.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert_eq!(runner.counts().unknown_twice.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_apart_from_a_reply_that_was_lost() {
    let mut server = RedisServer::start(&[]);
    let runner = runner(&server);
    assert!(runner.call(count(1)).await.unwrap().is_ok());
    server.kill();
    assert!(matches!(runner.call(count(1)).await, Err(LinkFailure::Lost(_))), "it was sent into a connection that had broken");
    assert!(matches!(runner.call(count(1)).await, Err(LinkFailure::Unreachable(_))));
    server.restart();
    assert_eq!(runner.call(count(1)).await.unwrap(), Ok(redis::Value::Int(1)), "the link is made anew");
}

#[tokio::test]
async fn a_server_that_stands_still_costs_no_more_than_the_time_out() {
    let server = RedisServer::start(&[]);
    let options = LinkOptions { connect_ms: 1_000, reply_ms: 50 };
    let runner = Runner::new(Link::new(server.url().parse().unwrap(), options));
    assert!(runner.call(count(1)).await.unwrap().is_ok());
    server.pause();
    assert!(matches!(runner.call(count(1)).await, Err(LinkFailure::Lost(_))));
    server.resume();
    assert!(matches!(runner.call(count(1)).await, Ok(Ok(redis::Value::Int(2 | 3)))), "what was lost may have happened");
}

#[tokio::test]
async fn a_call_that_closes_a_group_comes_after_those_that_were_made_again() {
    let server = RedisServer::start(&[]);
    let runner = runner(&server);
    // The closing call's script is known, that of the group is not: without a second closing it would have come first.
    static CLOSE: Script = Script::new("close", "#!lua\nreturn redis.call('GET', KEYS[1])\n", &["counter"], &[]);
    let close = Call { script: &CLOSE, keys: vec![b"counter".to_vec()], args: vec![] };
    assert_eq!(runner.call(close.clone()).await.unwrap(), Ok(redis::Value::Nil));
    let answers = runner.call_closed(&[count(7)], Some(&close), &[redis::cmd("PING")]).await.unwrap();
    assert_eq!(answers.closing, Some(Ok(redis::Value::BulkString(b"7".to_vec()))));
    assert_eq!((answers.calls.len(), answers.tail.len()), (1, 1));
    server.ask(&["SCRIPT", "FLUSH"]);
    let answers = runner.call_closed(&[], Some(&close), &[]).await.unwrap();
    assert_eq!(answers.closing, Some(Ok(redis::Value::BulkString(b"7".to_vec()))));
}

#!lua flags=no-writes
-- read_intent: what a key did, if it is remembered at the shard's last instant.
--
-- KEYS: 1 state, 2 intent
-- ARGV:
-- Replies: head record, each of which may be empty
-- Writes: nothing.
-- Bound: one intent.
-- Mirrors: core::Query::Intent
local STATE, INTENT = KEYS[1], KEYS[2]

-- check
local head, record = redis.call('HGET', STATE, 'head'), redis.call('GET', INTENT)
return { head or '', record or '' }

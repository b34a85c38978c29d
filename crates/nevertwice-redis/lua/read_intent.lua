#!lua flags=no-writes
-- Shows what a key did, whether it is still remembered or not.
-- Mirrors: nevertwice_core::Query::Intent
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
-- ARGV: none
-- Replies: the head, the intent's record; what is not there is empty
-- Writes: nothing.
-- Bound: one intent.
local records = KEYS[1]
local intent = KEYS[2]

-- check
local head = redis.call('HGET', records, 'head')
local record = redis.call('GET', intent)

-- commit
return {head or '', record or ''}

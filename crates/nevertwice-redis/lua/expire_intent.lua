#!lua flags=allow-oom
-- Tells that an intent's time has run out, and does not let the shard's time go back behind that: this no is the last word.
-- Mirrors: nevertwice_core::State::decide
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   asked: the intent, in the encoding of entries
-- Replies: rejected: position, intent_expired, when; passed where it has not run out; else as every decision
-- Writes: the head.
-- Bound: one record.
-- include numbers
-- include clock
-- include shard
local records = KEYS[1]
local intent = KEYS[2]
local call = ARGV[1]
local asked = ARGV[2]

-- check
local answer = enter(redis.call('HGET', records, 'head'), call, asked, redis.call('GET', intent)) or {'passed'}
if answer[3] ~= 'intent_expired' or not is_open then
  return answer
end

-- commit
redis.call('HSET', records, 'head', pack(HEAD, HEAD_VERSION, epoch, last_epoch, seq, last_at_ms, at_ms, retention_ms))
return answer

#!lua flags=allow-oom
-- Gives a claimed key back, because nothing has happened. The generation stays.
-- Mirrors: nevertwice_core::keys::ReleaseKey::decide
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   owner: who claimed the key, 32 bytes
--   generation: the claim's
--   keep_ms: how much longer than its retention the memory is kept, in milliseconds
-- Replies: released, also to the owner that had released it before
--   unknown_key; stale_owner: generation in force; key_completed
--   clock_skew; instant_out_of_range; data_too_new
-- Writes: the record.
-- Bound: 1 read and 3 writes of one key.
-- include numbers
-- include clock
-- include key_record
local record = KEYS[1]
local at_ms = tonumber(ARGV[1])
local skew_ms_max = tonumber(ARGV[2])
local owner = ARGV[3]
local generation = tonumber(ARGV[4])
local keep_ms = tonumber(ARGV[5])

-- check
if is_skewed(at_ms, skew_ms_max) then
  return {'clock_skew'}
end
if not is_instant(at_ms) then
  return {'instant_out_of_range'}
end
local stored, newer = read_record(record)
if newer then
  return {newer}
end
local claim, refusal = owned(stored, owner, generation, at_ms)
if refusal then
  return refusal
end
if claim.state == 'free' then
  return {'released'}
end
if claim.state == 'completed' then
  return {'key_completed'}
end
local now = math.max(at_ms, claim.changed_at)

-- commit
redis.call('HDEL', record, 'fingerprint', 'lease_expires_at')
redis.call('HSET', record, 'state', 'free', 'changed_at', text(now))
redis.call('PEXPIRE', record, memory_ms(now, claim.retention_ms, at_ms, keep_ms))
return {'released'}

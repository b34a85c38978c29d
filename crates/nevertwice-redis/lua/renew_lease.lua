#!lua flags=allow-oom
-- Moves the end of a lease.
-- Mirrors: nevertwice_core::keys::RenewLease::decide
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   owner: who claimed the key, 32 bytes
--   generation: the claim's
--   lease_ms: how long the lease is from now on, in milliseconds
--   keep_ms: how much longer than its retention the memory is kept, in milliseconds
-- Replies: renewed: generation, lease's end
--   unknown_key; stale_owner: generation in force; key_released; key_completed
--   clock_skew; instant_out_of_range; setting_out_of_range: which; data_too_new
-- Writes: the record.
-- Bound: 1 read and 2 writes of one key.
-- include numbers
-- include clock
-- include key_record
local record = KEYS[1]
local at_ms = tonumber(ARGV[1])
local skew_ms_max = tonumber(ARGV[2])
local owner = ARGV[3]
local generation = tonumber(ARGV[4])
local lease_ms = tonumber(ARGV[5])
local keep_ms = tonumber(ARGV[6])

-- check
if is_skewed(at_ms, skew_ms_max) then
  return {'clock_skew'}
end
if not is_instant(at_ms) then
  return {'instant_out_of_range'}
end
if lease_ms < 0 or lease_ms > LEASE_MS_MAX then
  return {'setting_out_of_range', 'lease_ms'}
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
  return {'key_released'}
end
if claim.state == 'completed' then
  return {'key_completed'}
end
local now = math.max(at_ms, claim.changed_at)
-- Cut, not refused: who claimed the key knew how long it is remembered.
local lease = text(now + math.min(lease_ms, claim.retention_ms - 1))

-- commit
redis.call('HSET', record, 'changed_at', text(now), 'lease_expires_at', lease)
redis.call('PEXPIRE', record, memory_ms(now, claim.retention_ms, at_ms, keep_ms))
return {'renewed', text(claim.generation), lease}

#!lua flags=allow-oom
-- Answers a claimed key, for as long as it is remembered.
-- Mirrors: nevertwice_core::keys::CompleteKey::decide
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   owner: who claimed the key, 32 bytes
--   generation: the claim's
--   status: of the answer, 100 to 599
--   head_bytes: how many bytes of header lines it has
--   head_digest: their SHA-256
--   body_bytes: how many bytes of body it has
--   body_digest: their SHA-256
--   kept: whole or tombstone
--   headers: the header lines
--   body: the body
--   has_room: 1 if that many bytes more may be kept, else 0
--   keep_ms: how much longer than its retention the memory is kept, in milliseconds
-- Replies: kept, kept_before
--   unknown_key; stale_owner: generation in force; key_released; full
--   clock_skew; instant_out_of_range; setting_out_of_range: which; data_too_new
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
local status = tonumber(ARGV[5])
local head_bytes = tonumber(ARGV[6])
local head_digest = ARGV[7]
local body_bytes = tonumber(ARGV[8])
local body_digest = ARGV[9]
local kept = ARGV[10]
local headers = ARGV[11]
local body = ARGV[12]
local has_room = ARGV[13] == '1'
local keep_ms = tonumber(ARGV[14])
local HEAD_BYTES_MAX = 64 * 1024
local BODY_BYTES_MAX = 1024 * 1024 * 1024

-- check
if is_skewed(at_ms, skew_ms_max) then
  return {'clock_skew'}
end
if not is_instant(at_ms) then
  return {'instant_out_of_range'}
end
if status < 100 or status > 599 then
  return {'setting_out_of_range', 'status'}
end
if head_bytes > HEAD_BYTES_MAX then
  return {'setting_out_of_range', 'head_bytes'}
end
if body_bytes > BODY_BYTES_MAX then
  return {'setting_out_of_range', 'body_bytes'}
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
  return {'kept_before'}
end
if kept == 'whole' and not has_room then
  return {'full'}
end
local now = math.max(at_ms, claim.changed_at)

-- commit
redis.call('HDEL', record, 'lease_expires_at')
redis.call('HSET', record, 'state', 'completed', 'changed_at', text(now), 'status', text(status), 'head_bytes', text(head_bytes),
  'head_digest', head_digest, 'body_bytes', text(body_bytes), 'body_digest', body_digest, 'kept', kept, 'headers', headers, 'body', body)
redis.call('PEXPIRE', record, memory_ms(now, claim.retention_ms, at_ms, keep_ms))
return {'kept'}

#!lua
-- Claims a key for one attempt, or tells what is known of it.
-- Mirrors: nevertwice_core::keys::RegisterKey::decide
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   fingerprint: what is asked, 32 bytes
--   owner: the attempt, 32 bytes
--   lease_ms: how long the claim is the owner's, in milliseconds
--   retention_ms: how long the record keeps from its last change on, in milliseconds
--   expires_at: from when on an unknown key is refused, in milliseconds since 1970; empty for never
--   lapse: refuse, rerun or ask
--   has_room: 1 if one more record may be made, else 0
--   keep_ms: how much longer than its retention the memory is kept, in milliseconds
-- Replies: fresh, taken_over: generation, lease's end, whether a record was there, bytes of an answer that went with it
--   resumed, key_in_progress, outcome_unknown: generation, lease's end
--   replay: generation, status, head bytes, head digest, body bytes, body digest, whole or tombstone, header lines, body
--   fingerprint_mismatch: generation; intent_expired; intent_expiry_too_far: the latest instant; generations_exhausted; full
--   clock_skew; instant_out_of_range; setting_out_of_range: which; data_too_new
-- Writes: the record.
-- Bound: at most 4 reads and 3 writes of one key, whatever it holds.
-- include numbers
-- include clock
-- include key_record
-- include key_registration
local record = KEYS[1]
local at_ms = tonumber(ARGV[1])
local skew_ms_max = tonumber(ARGV[2])
local fingerprint = ARGV[3]
local owner = ARGV[4]
local lease_ms = tonumber(ARGV[5])
local retention_ms = tonumber(ARGV[6])
local expires_at = tonumber(ARGV[7])
local lapse = ARGV[8]
local has_room = ARGV[9] == '1'
local keep_ms = tonumber(ARGV[10])

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
local ask = {
  at_ms = at_ms,
  fingerprint = fingerprint,
  owner = owner,
  lease_ms = lease_ms,
  retention_ms = retention_ms,
  expires_at = expires_at,
  lapse = lapse,
}
local reply, word, generation, now = decide_registration(record, stored, ask)
if reply then
  return reply
end
if not stored and not has_room then
  return {'full'}
end
local freed = stored and answer_bytes(record) or 0
local lease = text(now + lease_ms)

-- commit
redis.call('DEL', record)
redis.call('HSET', record, 'v', RECORD_VERSION, 'state', 'in_progress', 'generation', text(generation), 'changed_at', text(now),
  'retention_ms', text(retention_ms), 'owner', owner, 'fingerprint', fingerprint, 'lease_expires_at', lease)
redis.call('PEXPIRE', record, memory_ms(now, retention_ms, at_ms, keep_ms))
return {word, text(generation), lease, stored and '1' or '0', text(freed)}

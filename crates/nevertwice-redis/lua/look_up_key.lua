#!lua flags=no-writes
-- Tells what is known of a key where the server has no memory left for a claim.
-- Mirrors: nevertwice_core::keys::RegisterKey::decide
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   fingerprint: what is asked, 32 bytes
--   owner: the attempt, 32 bytes
--   lease_ms: how long the claim would be the owner's, in milliseconds
--   retention_ms: how long the record would keep, in milliseconds
--   expires_at: from when on an unknown key is refused, in milliseconds since 1970; empty for never
--   lapse: refuse, rerun or ask
-- Replies: full where register_key would claim; else as register_key
-- Writes: nothing.
-- Bound: at most 3 reads of one key, whatever it holds.
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
local reply = decide_registration(record, stored, ask)

-- commit
return reply or {'full'}

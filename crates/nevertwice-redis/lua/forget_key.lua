#!lua flags=allow-oom
-- Frees the memory of a record whose retention is over. Whether it is remembered does not depend on that.
-- Mirrors: nevertwice_core::keys::KeyRecord::remembered
-- KEYS:
--   record: the key's record, a hash
-- ARGV:
--   at_ms: the caller's clock, in milliseconds since 1970
--   skew_ms_max: how far it may be from the server's, in milliseconds; below zero, no look at it
--   keep_ms: how much longer than its retention the memory is kept, in milliseconds
-- Replies: forgotten: bytes of an answer that went with it
--   remembered; unknown_key; clock_skew; data_too_new
-- Writes: deletes the record.
-- Bound: 2 reads and 1 write of one key.
-- include numbers
-- include clock
-- include key_record
local record = KEYS[1]
local at_ms = tonumber(ARGV[1])
local skew_ms_max = tonumber(ARGV[2])
local keep_ms = tonumber(ARGV[3])

-- check
if is_skewed(at_ms, skew_ms_max) then
  return {'clock_skew'}
end
local stored, newer = read_record(record)
if newer then
  return {newer}
end
if not stored then
  return {'unknown_key'}
end
if remembered(stored, at_ms - keep_ms) then
  return {'remembered'}
end
local freed = answer_bytes(record)

-- commit
redis.call('DEL', record)
return {'forgotten', text(freed)}

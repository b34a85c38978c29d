#!lua flags=no-writes
-- Shows a candidate's live booking.
-- Mirrors: nevertwice_core::Query::BookingOf
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   candidate: the keyed digest of the code, 32 bytes
-- Replies: the head; the head, the booking's position and record
-- Writes: nothing.
-- Bound: one booking.
local records = KEYS[1]
local candidate = ARGV[1]

-- check
local found = redis.call('HMGET', records, 'head', 'C/' .. candidate)
local head = found[1] or ''
if not found[2] then
  return {head}
end
local booking = string.sub(found[2], 9, 20)
local record = redis.call('HGET', records, 'B/' .. booking)
if not record then
  return {head}
end

-- commit
return {head, booking, record}

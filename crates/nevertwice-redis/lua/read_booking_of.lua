#!lua flags=no-writes
-- read_booking_of: a candidate's live booking.
--
-- KEYS: 1 state
-- ARGV: 1 candidate
-- Replies: head | head booking record
-- Writes: nothing.
-- Bound: one booking.
-- Mirrors: core::Query::BookingOf
local STATE = KEYS[1]
local CANDIDATE = ARGV[1]

-- check
local found = redis.call('HMGET', STATE, 'head', 'C/' .. CANDIDATE)
local head = found[1] or ''
if not found[2] then
  return { head }
end
local booking = string.sub(found[2], 9, 20)
local record = redis.call('HGET', STATE, 'B/' .. booking)
if not record then
  return { head }
end
return { head, booking, record }

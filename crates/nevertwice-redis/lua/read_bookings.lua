#!lua flags=no-writes
-- Shows a piece of a scan over bookings in the order of admission: all, or those whose hold is over and was not ended.
-- Mirrors: nevertwice_core::Query::Bookings, DueHolds
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   cursor: how many to pass over
--   due_at: the instant at which holds are over; empty for all bookings
-- Replies: the head; the head, the counts, how many bookings were looked at, then position and record of each
-- Writes: nothing.
-- Bound: 256 bookings.
-- include numbers
local records = KEYS[1]
local cursor = tonumber(ARGV[1])
local due_at = tonumber(ARGV[2])

-- check
local ROWS_MAX = 256
local ADMITTED, PAYING = 1, 2
local found = redis.call('HMGET', records, 'head', 'counts')
if not found[2] then
  return {found[1] or ''}
end
local fields, ids = {}, {}
for number = cursor, cursor + ROWS_MAX - 1 do
  fields[#fields + 1] = 'b/' .. text(number)
end
for _, id in ipairs(redis.call('HMGET', records, unpack(fields))) do
  if id then
    ids[#ids + 1] = id
  end
end
local reply = {found[1], found[2], text(#ids)}
if #ids == 0 then
  return reply
end
for index, id in ipairs(ids) do
  fields[index] = 'B/' .. id
end
for index, record in ipairs(redis.call('HMGET', records, unpack(fields, 1, #ids))) do
  local _, state, hold_expires_at = struct.unpack('<I4Bi8', record)
  if not due_at or ((state == ADMITTED or state == PAYING) and due_at >= hold_expires_at) then
    reply[#reply + 1] = ids[index]
    reply[#reply + 1] = record
  end
end

-- commit
return reply

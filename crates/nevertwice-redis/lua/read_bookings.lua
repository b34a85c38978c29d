#!lua flags=no-writes
-- read_bookings: a piece of a scan over bookings in the order of admission, ended ones included; or of those alone whose hold is
-- over at an instant and has not been ended.
--
-- KEYS: 1 state
-- ARGV: 1 cursor: how many to pass over, 2 due_at: the instant, or empty
-- Replies: head | head counts rows, then booking and record of each
-- Writes: nothing.
-- Bound: 256 bookings.
-- Mirrors: core::Query::Bookings, core::Query::DueHolds
local STATE = KEYS[1]
local CURSOR, DUE_AT = ARGV[1], ARGV[2]
local ROWS_MAX = 256
local ADMITTED, PAYING = 1, 2

-- check
local found = redis.call('HMGET', STATE, 'head', 'counts')
if not found[2] then
  return { found[1] or '' }
end
local fields, ids, cursor, due_at = {}, {}, tonumber(CURSOR), tonumber(DUE_AT)
for number = cursor, cursor + ROWS_MAX - 1 do
  fields[#fields + 1] = 'b/' .. string.format('%.0f', number)
end
for _, id in ipairs(redis.call('HMGET', STATE, unpack(fields))) do
  if id then
    ids[#ids + 1] = id
  end
end
local reply = { found[1], found[2], string.format('%.0f', #ids) }
if #ids == 0 then
  return reply
end
for index, id in ipairs(ids) do
  fields[index] = 'B/' .. id
end
for index, record in ipairs(redis.call('HMGET', STATE, unpack(fields, 1, #ids))) do
  local _, state, hold_expires_at = struct.unpack('<I4Bi8', record)
  if not due_at or ((state == ADMITTED or state == PAYING) and due_at >= hold_expires_at) then
    reply[#reply + 1] = ids[index]
    reply[#reply + 1] = record
  end
end
return reply

#!lua
-- Admits a candidate to the lowest free seat, on a level.
-- Mirrors: nevertwice_core::Admit
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
--   free: the seats that are free again, an ordered set
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   candidate: the keyed digest of the code, 32 bytes
--   email: the keyed digest of the address, 32 bytes, or empty
--   level: on which level
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the counts, the level, the candidate, the booking and its number; the free seat; the intent; one entry.
-- Bound: one entry, and no loop; one look at an ordered set.
-- include numbers
-- include clock
-- include shard
-- include sale
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local free = KEYS[4]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local candidate = ARGV[5]
local email = ARGV[6]
local level = ARGV[7]

-- check
local candidate_field, level_field = 'C/' .. candidate, 'L/' .. level
local found = redis.call('HMGET', records, 'head', 'sale', 'counts', candidate_field, level_field)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2)
if refused then
  return refused
end
local levels, known_email = '', ''
if found[4] then
  local booked
  levels, booked, known_email = candidate_parts(found[4])
  if booked ~= NO_BOOKING then
    return no('already_booked', booked .. redis.call('HGET', records, 'B/' .. booked))
  end
end
local open, opens_at, closes_at, hold_ms, total_cap = unpack(SALE, found[2])
if open == 0 then
  return no('sale_closed')
end
if at_ms < opens_at then
  return no_figure('sale_not_started', opens_at)
end
if at_ms >= closes_at then
  return no_figure('sale_ended', closes_at)
end
if not found[4] then
  return no('unknown_candidate')
end
if known_email ~= '' and known_email ~= email then
  return no('email_mismatch')
end
if not found[5] then
  return no('unknown_level')
end
local number, has_cap, cap, level_live = unpack(LEVEL, found[5])
if not is_allowed(levels, number) then
  return no('level_not_allowed')
end
if has_cap == 1 and level_live >= cap then
  return no_figure('level_full', cap)
end
local live, seats, bookings = unpack(COUNTS, found[3])
if live >= total_cap then
  return no_figure('sale_full', total_cap)
end
if bookings >= BOOKINGS_MAX then
  return no('bookings_full')
end
local lowest = redis.call('ZRANGE', free, 0, 0)[1]
local seat = seats + 1
if lowest then
  seat = tonumber(lowest)
end
local booking, hold_expires_at = next_position(), at_ms + hold_ms
level_live, live = level_live + 1, live + 1

-- commit
local event = '\34' .. candidate .. text_bytes(level) .. pack('<I4i8i8i8', seat, hold_expires_at, level_live, live)
local head, reply = append(records, intent, entries, shard, asked, origin, event)
if lowest then
  redis.call('ZREM', free, lowest)
else
  seats = seat
end
redis.call('HSET', records, 'head', head, 'counts', pack(COUNTS, live, seats, bookings + 1),
  level_field, pack(LEVEL, number, has_cap, cap, level_live), candidate_field, levels .. booking .. known_email,
  'b/' .. text(bookings), booking, 'B/' .. booking,
  pack('<I4Bi8', seat, ADMITTED, hold_expires_at) .. candidate .. text_bytes(level) .. sub(asked, 1, owner_bytes) .. '\0\0')
return reply

#!lua
-- admit: admits a candidate to the lowest free seat, on a level.
--
-- KEYS: 1 state, 2 intent, 3 entries, 4 free
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 candidate, 6 email: a digest or empty, 7 level
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the counts, the level, the candidate and the booking of the state; the free seat; the intent; one entry.
-- Bound: one entry; no loop; one look at an ordered set.
-- Mirrors: core::Admit
local STATE, INTENT, ENTRIES, FREE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local CALL, SHARD, ASKED, ORIGIN, CANDIDATE, EMAIL, NAME = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
-- include shard
-- include sale
-- check
local candidate_field, level_field = 'C/' .. CANDIDATE, 'L/' .. NAME
local found = redis.call('HMGET', STATE, 'head', 'sale', 'counts', candidate_field, level_field)
local refused = enter(found[1]) or belongs(2)
if refused then
  return refused
end
local levels, booked, email = '', NO_BOOKING, ''
if found[4] then
  levels, booked, email = candidate_parts(found[4])
  if booked ~= NO_BOOKING then
    return no('already_booked', booked .. redis.call('HGET', STATE, 'B/' .. booked))
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
if email ~= '' and email ~= EMAIL then
  return no('email_mismatch')
end
if not found[5] then
  return no('unknown_level')
end
local number, has_cap, cap, level_live = unpack(LEVEL, found[5])
local bit_in_byte = number % 8
if math.floor(byte(levels, (number - bit_in_byte) / 8 + 1) / 2 ^ bit_in_byte) % 2 == 0 then
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
local lowest = redis.call('ZRANGE', FREE, 0, 0)[1]
local seat = seats + 1
if lowest then
  seat = tonumber(lowest)
end
local booking, hold_expires_at = next_position(), at_ms + hold_ms
level_live, live = level_live + 1, live + 1

-- commit
local head, reply = append('\34' .. CANDIDATE .. text(NAME) .. pack('<I4i8i8i8', seat, hold_expires_at, level_live, live))
if lowest then
  redis.call('ZREM', FREE, lowest)
else
  seats = seat
end
redis.call('HSET', STATE, 'head', head, 'counts', pack(COUNTS, live, seats, bookings + 1),
  level_field, pack(LEVEL, number, has_cap, cap, level_live), candidate_field, levels .. booking .. email,
  'b/' .. format('%.0f', bookings), booking, 'B/' .. booking,
  pack('<I4Bi8', seat, ADMITTED, hold_expires_at) .. CANDIDATE .. text(NAME) .. sub(ASKED, 1, owner_bytes) .. '\0\0')
return reply

#!lua flags=allow-oom
-- release_booking: ends a live booking released, on behalf of its present owner.
--
-- KEYS: 1 state, 2 intent, 3 entries, 4 free
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 booking, 6 by: 1 the intent that was admitted, 2 the payment, 7 owner: principal and key
--   in the encoding of an intent, or the payment, 8 reason
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the counts, the level, the candidate and the booking of the state; the free seat; the intent; one entry.
-- Bound: one entry; no loop; one change of an ordered set.
-- Mirrors: core::ReleaseBooking
local STATE, INTENT, ENTRIES, FREE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local CALL, SHARD, ASKED, ORIGIN, BOOKING, BY, OWNER, REASON = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
-- include shard
-- include sale
-- include release
-- check
local found = redis.call('HMGET', STATE, 'head', 'counts', 'B/' .. BOOKING)
local refused = enter(found[1]) or belongs(2)
if refused then
  return refused
end
if not found[3] then
  return no('unknown_booking')
end
local seat, state, _, candidate, name, owner, payment = booking_parts(found[3])
local is_owner = payment == OWNER
if byte(BY) == 1 then
  is_owner = payment == '' and owner == OWNER
end
if not is_owner then
  return no('not_owner')
end
if state == PAID then
  return no('already_paid')
end
if state == RELEASED then
  return no('already_released')
end
local beside = redis.call('HMGET', STATE, 'L/' .. name, 'C/' .. candidate)
local live, seats, bookings = unpack(COUNTS, found[2])
refused = release_refused(live, beside[1])
if refused then
  return refused
end
local number, has_cap, cap, level_live = unpack(LEVEL, beside[1])
local levels, _, email = candidate_parts(beside[2])

-- commit
local head, reply = append('\38' .. BOOKING .. pack('<I4', seat) .. REASON, booking_before(state))
redis.call('ZADD', FREE, seat, seat)
redis.call('HSET', STATE, 'head', head, 'counts', pack(COUNTS, live - 1, seats, bookings),
  'L/' .. name, pack(LEVEL, number, has_cap, cap, level_live - 1), 'C/' .. candidate, levels .. NO_BOOKING .. email,
  'B/' .. BOOKING, with_state(found[3], RELEASED))
return reply

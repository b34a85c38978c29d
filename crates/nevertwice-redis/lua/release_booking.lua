#!lua flags=allow-oom
-- Ends a live booking released, on behalf of its present owner.
-- Mirrors: nevertwice_core::ReleaseBooking
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
--   booking: its position, in the encoding of entries
--   by: 1 the intent that was admitted, 2 the payment
--   claimant: principal and key in the encoding of an intent, or the payment
--   reason: its tag, one byte
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the counts, the level, the candidate and the booking; the free seat; the intent; one entry.
-- Bound: one entry, and no loop; one change of an ordered set.
-- include numbers
-- include clock
-- include shard
-- include sale
-- include release
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local free = KEYS[4]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local booking = ARGV[5]
local by = string.byte(ARGV[6])
local claimant = ARGV[7]
local reason = ARGV[8]

-- check
local found = redis.call('HMGET', records, 'head', 'counts', 'B/' .. booking)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2)
if refused then
  return refused
end
if not found[3] then
  return no('unknown_booking')
end
local seat, state, _, candidate, level, owner, payment = booking_parts(found[3])
local is_owner = payment == claimant
if by == 1 then
  is_owner = payment == '' and owner == claimant
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
local beside = redis.call('HMGET', records, 'L/' .. level, 'C/' .. candidate)
local live, seats, bookings = unpack(COUNTS, found[2])
refused = release_refused(live, beside[1])
if refused then
  return refused
end
local number, has_cap, cap, level_live = unpack(LEVEL, beside[1])
local levels, _, email = candidate_parts(beside[2])

-- commit
local event = '\38' .. booking .. pack('<I4', seat) .. reason
local head, reply = append(records, intent, entries, shard, asked, origin, event, booking_before(state))
redis.call('ZADD', free, seat, seat)
redis.call('HSET', records, 'head', head, 'counts', pack(COUNTS, live - 1, seats, bookings),
  'L/' .. level, pack(LEVEL, number, has_cap, cap, level_live - 1), 'C/' .. candidate, levels .. NO_BOOKING .. email,
  'B/' .. booking, with_state(found[3], RELEASED))
return reply

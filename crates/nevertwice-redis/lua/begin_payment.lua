#!lua flags=allow-oom
-- begin_payment: records that a payment is about to be asked for.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 booking
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the booking of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::BeginPayment
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, BOOKING = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include sale
-- check
local found = redis.call('HMGET', STATE, 'head', 'B/' .. BOOKING)
local refused = enter(found[1]) or belongs(2)
if refused then
  return refused
end
if not found[2] then
  return no('unknown_booking')
end
local _, state, hold_expires_at = booking_parts(found[2])
if state == PAID then
  return no('already_paid')
end
if state == RELEASED then
  return no('already_released')
end
if state ~= ADMITTED then
  return no('booking_not_payable', pack('B', state))
end
if at_ms >= hold_expires_at then
  return no_figure('hold_expired', hold_expires_at)
end
-- Made from the booking's entry, so that whoever makes it again makes the same.
local payment = text(sub(SHARD, 4) .. format('.%.0f-%.0f', unpack(POSITION, BOOKING)))

-- commit
local head, reply = append('\35' .. BOOKING .. payment)
redis.call('HSET', STATE, 'head', head, 'B/' .. BOOKING, sub(with_state(found[2], PAYING), 1, -3) .. '\1' .. payment .. '\0')
return reply

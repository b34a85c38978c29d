#!lua flags=allow-oom
-- confirm_payment: ends a booking paid, on the gateway's word for that payment.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 booking, 6 payment
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the booking of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::ConfirmPayment
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, BOOKING, PAYMENT = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
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
local _, state, _, _, _, _, payment = booking_parts(found[2])
if payment ~= PAYMENT then
  return no('not_owner')
end
if state == PAID then
  return no('already_paid')
end
if state == RELEASED then
  return no('already_released')
end
if state == ADMITTED then
  return no('booking_not_payable', pack('B', state))
end

-- commit
local head, reply = append('\37' .. BOOKING .. text(PAYMENT), booking_before(state))
redis.call('HSET', STATE, 'head', head, 'B/' .. BOOKING, with_state(found[2], PAID))
return reply

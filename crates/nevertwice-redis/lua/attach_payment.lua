#!lua flags=allow-oom
-- Records where a payment can be made.
-- Mirrors: nevertwice_core::AttachPayment
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   booking: its position, in the encoding of entries
--   payment: its payment
--   url: where
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head and the booking; the intent; one entry.
-- Bound: one entry, and no loop.
-- include numbers
-- include clock
-- include shard
-- include sale
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local booking = ARGV[5]
local payment = ARGV[6]
local url = ARGV[7]

-- check
local found = redis.call('HMGET', records, 'head', 'B/' .. booking)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2)
if refused then
  return refused
end
if not found[2] then
  return no('unknown_booking')
end
local _, state, _, _, _, _, begun, url_at = booking_parts(found[2])
if begun ~= payment then
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
local url_option = '\1' .. text_bytes(url)
if sub(found[2], url_at) == url_option then
  return no('no_change')
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\36' .. booking .. text_bytes(payment) .. text_bytes(url))
redis.call('HSET', records, 'head', head, 'B/' .. booking, sub(found[2], 1, url_at - 1) .. url_option)
return reply

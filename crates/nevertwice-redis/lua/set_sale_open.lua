#!lua
-- Opens or closes a sale's doors.
-- Mirrors: nevertwice_core::SetSaleOpen
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   open: 1 open, 0 closed
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head and the sale; the intent; one entry.
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
local open = string.byte(ARGV[5])

-- check
local found = redis.call('HMGET', records, 'head', 'sale')
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2)
if refused then
  return refused
end
local was_open, opens_at, closes_at, hold_ms, total_cap, levels, candidates = unpack(SALE, found[2])
if was_open == open then
  return no('no_change')
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, pack('BB', 40, open))
redis.call('HSET', records, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, levels, candidates))
return reply

#!lua
-- Lets a frozen instrument trade again.
-- Mirrors: nevertwice_core::Unfreeze
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   instrument: which one
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head and the instrument; the intent; one entry.
-- Bound: one entry, and no loop.
-- include numbers
-- include clock
-- include shard
-- include market
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local instrument = ARGV[5]

-- check
local found = redis.call('HMGET', records, 'head', 'I/' .. instrument)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1)
if refused then
  return refused
end
if not found[2] then
  return no('unknown_instrument')
end
local listed, base, slope, state, settled_price, net, cash = unpack(INSTRUMENT, found[2])
if state == SETTLED then
  return no_figure('instrument_settled', settled_price)
end
if state == ACTIVE then
  return no('no_change')
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\7' .. text_bytes(instrument))
redis.call('HSET', records, 'head', head, 'I/' .. instrument, pack(INSTRUMENT, listed, base, slope, ACTIVE, settled_price, net, cash))
return reply

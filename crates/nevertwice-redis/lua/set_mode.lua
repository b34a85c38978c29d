#!lua
-- Sets a market's mode.
-- Mirrors: nevertwice_core::SetMode
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   new_mode: its tag
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head and the market; the intent; one entry.
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
local new_mode = string.byte(ARGV[5])

-- check
local found = redis.call('HMGET', records, 'head', 'market')
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1)
if refused then
  return refused
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
if mode == new_mode then
  return no('no_change')
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, pack('BBB', 8, mode, new_mode))
redis.call('HSET', records, 'head', head, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, new_mode,
  issuance, house_loss, instruments, accounts))
return reply

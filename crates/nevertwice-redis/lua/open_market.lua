#!lua
-- Opens a market; its unit is fixed with it.
-- Mirrors: nevertwice_core::OpenMarket
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   terms: decimals, fee in basis points, largest order, largest holding, largest loss of the house, mode, retention in ms
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the market and its fees; the intent; one entry.
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
local terms = ARGV[5]

-- check
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, retention = unpack('<Bi8i8i8i8Bi8', terms)
local found = redis.call('HMGET', records, 'head')
local refused = enter(found[1], call, asked, redis.call('GET', intent), retention) or unopenable(shard, 1, 'market_exists')
  or outside('decimals', decimals, 0, 8)
  or outside('fee_bps', fee_bps, 0, BPS)
  or outside('quantity_max', quantity_max, 1, HOLDING_MAX)
  or outside('holding_max', holding_max, 1, HOLDING_MAX)
  or outside('house_loss_max', house_loss_max, 0, HOUSE_LOSS_MAX)
  or outside('retention_ms', retention, RETENTION_MS_MIN, RETENTION_MS_MAX)
if refused then
  return refused
end
retention_ms = retention

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\1' .. terms)
redis.call('HSET', records, 'head', head, 'fees', pack('<i8', 0),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, 0, 0, 0, 0))
return reply

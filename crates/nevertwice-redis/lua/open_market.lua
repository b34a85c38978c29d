#!lua
-- open_market: opens a market; its unit is fixed with it.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 terms: decimals, fee in basis points, largest order, largest holding, largest loss of the
--   house, mode, retention in ms
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the market of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::OpenMarket
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TERMS = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include market
-- check
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, retention = unpack('<Bi8i8i8i8Bi8', TERMS)
local found = redis.call('HMGET', STATE, 'head')
local refused = enter(found[1], retention) or opens(1, 'market_exists')
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
local head, reply = append('\1' .. TERMS)
redis.call('HSET', STATE, 'head', head, 'fees', pack('<i8', 0),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, 0, 0, 0, 0))
return reply

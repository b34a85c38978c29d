#!lua
-- list_instrument: lists an instrument on a curve of its own.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 instrument, 6 terms: base, slope
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the market and the instrument of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::ListInstrument
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TRADED, TERMS = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include market
-- check
local base, slope = unpack('<i8i8', TERMS)
local found = redis.call('HMGET', STATE, 'head', 'market', 'I/' .. TRADED)
local refused = enter(found[1]) or belongs(1)
  or outside('slope', slope, 0, AMOUNT_MAX)
  or outside('base', base, base_min(slope), AMOUNT_MAX)
if refused then
  return refused
end
if found[3] then
  return no('instrument_exists')
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
if instruments >= INSTRUMENTS_MAX then
  return no('instruments_full')
end

-- commit
local head, reply = append('\2' .. text(TRADED) .. TERMS)
redis.call('HSET', STATE, 'head', head, 'I/' .. TRADED, pack(INSTRUMENT, instruments, base, slope, ACTIVE, 0, 0, 0),
  'i/' .. format('%.0f', instruments), TRADED, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max,
  mode, issuance, house_loss, instruments + 1, accounts))
return reply

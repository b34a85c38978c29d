#!lua
-- unfreeze: lets a frozen instrument trade again.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 instrument
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the instrument of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::Unfreeze
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TRADED = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include market
-- check
local found = redis.call('HMGET', STATE, 'head', 'I/' .. TRADED)
local refused = enter(found[1]) or belongs(1)
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
local head, reply = append('\7' .. text(TRADED))
redis.call('HSET', STATE, 'head', head, 'I/' .. TRADED, pack(INSTRUMENT, listed, base, slope, ACTIVE, settled_price, net, cash))
return reply

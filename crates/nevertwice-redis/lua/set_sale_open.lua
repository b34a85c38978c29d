#!lua
-- set_sale_open: opens or closes a sale's doors.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 open
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the sale of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::SetSaleOpen
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, OPEN = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include sale
-- check
local open = byte(OPEN)
local found = redis.call('HMGET', STATE, 'head', 'sale')
local refused = enter(found[1]) or belongs(2)
if refused then
  return refused
end
local was_open, opens_at, closes_at, hold_ms, total_cap, levels, candidates = unpack(SALE, found[2])
if was_open == open then
  return no('no_change')
end

-- commit
local head, reply = append(pack('BB', 40, open))
redis.call('HSET', STATE, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, levels, candidates))
return reply

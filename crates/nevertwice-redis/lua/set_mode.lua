#!lua
-- set_mode: sets a market's mode.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 mode
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head and the market of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::SetMode
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, MODE = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include market
-- check
local new_mode = byte(MODE)
local found = redis.call('HMGET', STATE, 'head', 'market')
local refused = enter(found[1]) or belongs(1)
if refused then
  return refused
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
if mode == new_mode then
  return no('no_change')
end

-- commit
local head, reply = append(pack('BBB', 8, mode, new_mode))
redis.call('HSET', STATE, 'head', head, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, new_mode,
  issuance, house_loss, instruments, accounts))
return reply

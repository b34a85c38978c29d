#!lua
-- open_account: opens an account. Accounts exist only because this made them.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 account, 6 terms: class, opening balance
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the market and the account of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::OpenAccount
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, NAME, TERMS = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include market
-- check
local class, opening_balance = unpack('<Bi8', TERMS)
local found = redis.call('HMGET', STATE, 'head', 'market', 'A/' .. NAME)
local refused = enter(found[1]) or belongs(1) or outside('opening_balance', opening_balance, 0, AMOUNT_MAX)
if refused then
  return refused
end
if found[3] then
  return no('account_exists')
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
if accounts >= ACCOUNTS_MAX then
  return no('accounts_full')
end
-- The issuance account is minus what was issued.
local remaining = ISSUANCE_MAX + issuance
if opening_balance > remaining then
  return no_figure('issuance_exceeded', remaining)
end

-- commit
local head, reply = append('\3' .. text(NAME) .. TERMS)
redis.call('HSET', STATE, 'head', head, 'A/' .. NAME, pack(ACCOUNT, class, opening_balance, 0, 0),
  'a/' .. format('%.0f', accounts), NAME, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode,
  issuance - opening_balance, house_loss, instruments, accounts + 1))
return reply

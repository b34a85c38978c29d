#!lua
-- Opens an account: accounts exist only because this made them.
-- Mirrors: nevertwice_core::OpenAccount
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   account: its name
--   terms: class, opening balance
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the market, the account and its number; the intent; one entry.
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
local account = ARGV[5]
local terms = ARGV[6]

-- check
local class, opening_balance = unpack('<Bi8', terms)
local found = redis.call('HMGET', records, 'head', 'market', 'A/' .. account)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1)
  or outside('opening_balance', opening_balance, 0, AMOUNT_MAX)
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
local head, reply = append(records, intent, entries, shard, asked, origin, '\3' .. text_bytes(account) .. terms)
redis.call('HSET', records, 'head', head, 'A/' .. account, pack(ACCOUNT, class, opening_balance, 0, 0),
  'a/' .. text(accounts), account, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode,
  issuance - opening_balance, house_loss, instruments, accounts + 1))
return reply

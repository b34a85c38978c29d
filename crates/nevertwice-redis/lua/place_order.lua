#!lua
-- Buys or sells, whole or not at all, at the curve.
-- Mirrors: nevertwice_core::PlaceOrder
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   account: who trades
--   instrument: what
--   terms: side, quantity, which guards came (1 limit price, 2 expected price, 4 slippage), and the three of them
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the fees, the instrument, the account and its holding; where a holding begins or ends, the account's list; the
--   intent; one entry.
-- Bound: one entry, and no loop.
-- include numbers
-- include clock
-- include shard
-- include market
-- include order
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local account = ARGV[5]
local instrument = ARGV[6]
local terms = ARGV[7]

-- check
local account_field, instrument_field, holding_field = 'A/' .. account, 'I/' .. instrument, 'H/' .. instrument .. '/' .. account
local found = redis.call('HMGET', records, 'head', 'market', 'fees', account_field, instrument_field, holding_field)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1)
if refused then
  return refused
end
local code, event, account_after, instrument_after, holding_after, fee, listed, change =
  decide_order(found[2], account, instrument, terms, found[4], found[5], found[6])
if code then
  return no(code, event)
end
local list
if change ~= 0 then
  list = relisted(redis.call('HGET', records, 'L/' .. account) or '', listed, change > 0)
end
local fees = pack('<i8', unpack('<i8', found[3]) + fee)

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, event)
if list then
  redis.call('HSET', records, 'L/' .. account, list)
end
if holding_after then
  redis.call('HSET', records, 'head', head, 'fees', fees, account_field, account_after, instrument_field, instrument_after,
    holding_field, holding_after)
else
  redis.call('HDEL', records, holding_field)
  redis.call('HSET', records, 'head', head, 'fees', fees, account_field, account_after, instrument_field, instrument_after)
end
return reply

#!lua
-- Pays named holders of a settled instrument; who holds nothing, or was paid, is passed over.
-- Mirrors: nevertwice_core::PayHolders
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   instrument: which one
--   accounts...: who is to be paid
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the instrument, and of each account its record, holding and list; the intent; one entry.
-- Bound: 64 accounts.
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
local instrument = ARGV[5]

-- check
local BEFORE, HOLDERS_MAX = 5, 64
local count = #ARGV - BEFORE
local fields = {'head', 'I/' .. instrument}
for index = 1, math.min(count, HOLDERS_MAX) do
  local account = ARGV[BEFORE + index]
  fields[#fields + 1] = 'A/' .. account
  fields[#fields + 1] = 'H/' .. instrument .. '/' .. account
  fields[#fields + 1] = 'L/' .. account
end
local found = redis.call('HMGET', records, table_unpack(fields))
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1) or outside('holders', count, 1, HOLDERS_MAX)
if refused then
  return refused
end
if not found[2] then
  return no('unknown_instrument')
end
local listed, base, slope, state, settled_price, net, cash = unpack(INSTRUMENT, found[2])
if state ~= SETTLED then
  return no('instrument_not_settled')
end
local payouts, writes, ended, seen = {}, {}, {}, {}
for index = 1, count do
  local account, known, held, list = ARGV[BEFORE + index], found[3 * index], found[3 * index + 1], found[3 * index + 2]
  if known and held and not seen[account] then
    seen[account] = true
    local class, balance, score = unpack(ACCOUNT, known)
    local shares, _, profit = unpack(HOLDING, held)
    local amount = shares * settled_price
    net = net - shares
    if net < 0 then
      return no('invariant_broken', text_bytes('net'))
    end
    balance, score, cash = balance + amount, score - profit, cash - amount
    if not (is_amount(amount) and is_amount(balance) and is_amount(score) and is_amount(cash)) then
      return no('amount_too_large')
    end
    local holdings
    list, holdings = relisted(list or '', listed, false)
    payouts[#payouts + 1] = text_bytes(account) .. pack('<i8i8i8i8', shares, amount, balance, score)
    writes[#writes + 1] = 'A/' .. account
    writes[#writes + 1] = pack(ACCOUNT, class, balance, score, holdings)
    writes[#writes + 1] = 'L/' .. account
    writes[#writes + 1] = list
    ended[#ended + 1] = 'H/' .. instrument .. '/' .. account
  end
end
if #payouts == 0 then
  return no('nothing_due')
end

-- commit
local event = '\10' .. text_bytes(instrument) .. pack('<I4', #payouts) .. table.concat(payouts) .. pack('<i8', net)
local head, reply = append(records, intent, entries, shard, asked, origin, event)
redis.call('HDEL', records, table_unpack(ended))
redis.call('HSET', records, 'head', head, 'I/' .. instrument, pack(INSTRUMENT, listed, base, slope, state, settled_price, net, cash),
  table_unpack(writes))
return reply

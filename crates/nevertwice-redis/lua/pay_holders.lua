#!lua
-- pay_holders: pays named holders of a settled instrument; who holds nothing, or was paid, is passed over.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 instrument, 6... accounts
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the instrument, the accounts, holdings and lists of the state; the intent; one entry.
-- Bound: 64 accounts.
-- Mirrors: core::PayHolders
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TRADED = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include market
-- check
local FIRST, HOLDERS_MAX = 6, 64
local count = #ARGV - FIRST + 1
local fields = { 'head', 'I/' .. TRADED }
for place = FIRST, math.min(#ARGV, FIRST + HOLDERS_MAX - 1) do
  fields[#fields + 1] = 'A/' .. ARGV[place]
  fields[#fields + 1] = 'H/' .. TRADED .. '/' .. ARGV[place]
  fields[#fields + 1] = 'L/' .. ARGV[place]
end
local found = redis.call('HMGET', STATE, table_unpack(fields))
local refused = enter(found[1]) or belongs(1) or outside('holders', count, 1, HOLDERS_MAX)
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
  local name, known, held, list = ARGV[FIRST + index - 1], found[3 * index], found[3 * index + 1], found[3 * index + 2]
  if known and held and not seen[name] then
    seen[name] = true
    local class, balance, score, holdings = unpack(ACCOUNT, known)
    local shares, _, profit = unpack(HOLDING, held)
    local amount = shares * settled_price
    net = net - shares
    if net < 0 then
      return no('invariant_broken', text('net'))
    end
    balance, score, cash = balance + amount, score - profit, cash - amount
    if not (is_amount(amount) and is_amount(balance) and is_amount(score) and is_amount(cash)) then
      return no('amount_too_large')
    end
    list, holdings = relisted(list or '', listed, false)
    payouts[#payouts + 1] = text(name) .. pack('<i8i8i8i8', shares, amount, balance, score)
    writes[#writes + 1] = 'A/' .. name
    writes[#writes + 1] = pack(ACCOUNT, class, balance, score, holdings)
    writes[#writes + 1] = 'L/' .. name
    writes[#writes + 1] = list
    ended[#ended + 1] = 'H/' .. TRADED .. '/' .. name
  end
end
if #payouts == 0 then
  return no('nothing_due')
end

-- commit
local event = '\10' .. text(TRADED) .. pack('<I4', #payouts) .. table.concat(payouts) .. pack('<i8', net)
local head, reply = append(event)
redis.call('HDEL', STATE, table_unpack(ended))
redis.call('HSET', STATE, 'head', head, 'I/' .. TRADED, pack(INSTRUMENT, listed, base, slope, state, settled_price, net, cash),
  table_unpack(writes))
return reply

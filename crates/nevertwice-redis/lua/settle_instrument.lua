#!lua
-- Fixes an instrument's last price and ends its trading.
-- Mirrors: nevertwice_core::SettleInstrument
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
--   price: what each share is worth
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the market and the instrument; the intent; one entry.
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
local instrument = ARGV[5]
local price = struct.unpack('<i8', ARGV[6])

-- check
local found = redis.call('HMGET', records, 'head', 'market', 'I/' .. instrument)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1) or outside('price', price, 0, AMOUNT_MAX)
if refused then
  return refused
end
if not found[3] then
  return no('unknown_instrument')
end
local listed, base, slope, state, settled_price, net, cash = unpack(INSTRUMENT, found[3])
if state == SETTLED then
  return no_figure('instrument_settled', settled_price)
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
local owed, debt = price * net, curve_sum(base, slope, 0, net)
-- Paying all holders leaves the cash an amount, so that no payout can fail for its size.
if owed > AMOUNT_MAX or not is_amount(owed - cash) or not debt then
  return no('amount_too_large')
end
local loss = house_loss + (owed - debt)
if not is_amount(loss) then
  return no('amount_too_large')
end
if loss > house_loss_max then
  return no('house_loss_exceeded', pack('<i8i8', loss, house_loss_max))
end

-- commit
local event = '\9' .. text_bytes(instrument) .. pack('<i8i8i8', price, net, loss)
local before = instrument_before(state, base, price_at(base, slope, net) or 0, house_loss)
local head, reply = append(records, intent, entries, shard, asked, origin, event, before)
redis.call('HSET', records, 'head', head, 'I/' .. instrument, pack(INSTRUMENT, listed, base, slope, SETTLED, price, net, cash),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, loss, instruments, accounts))
return reply

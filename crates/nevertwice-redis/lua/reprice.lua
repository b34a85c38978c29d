#!lua
-- Moves an instrument's base.
-- Mirrors: nevertwice_core::Reprice
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
--   new_base: the new base
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
local new_base = struct.unpack('<i8', ARGV[6])

-- check
local found = redis.call('HMGET', records, 'head', 'market', 'I/' .. instrument)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1) or outside('base', new_base, 0, AMOUNT_MAX)
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
-- Which base is the least depends on the instrument, so it can be asked only now.
refused = outside('base', new_base, base_min(slope), AMOUNT_MAX)
if refused then
  return refused
end
if new_base == base then
  return no('no_change')
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
local price_before, price_after = price_at(base, slope, net) or 0, price_at(new_base, slope, net)
local debt, new_debt = curve_sum(base, slope, 0, net), curve_sum(new_base, slope, 0, net)
-- A share that costs more than an order may move could not be sold any more, and what the house may still pay out stays an amount.
if not price_after or price_after > NOTIONAL_MAX or not new_debt or not debt or not is_amount(new_debt - cash) then
  return no('amount_too_large')
end
local loss = house_loss + (new_debt - debt)
if not is_amount(loss) then
  return no('amount_too_large')
end
if loss > house_loss_max then
  return no('house_loss_exceeded', pack('<i8i8', loss, house_loss_max))
end

-- commit
local event = '\5' .. text_bytes(instrument) .. pack('<i8i8i8i8i8', base, new_base, price_before, price_after, loss)
local head, reply = append(records, intent, entries, shard, asked, origin, event, instrument_before(state, base, price_before, house_loss))
redis.call('HSET', records, 'head', head, 'I/' .. instrument, pack(INSTRUMENT, listed, new_base, slope, state, settled_price, net, cash),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, loss, instruments, accounts))
return reply

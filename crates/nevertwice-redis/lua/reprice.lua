#!lua
-- reprice: moves an instrument's base.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 instrument, 6 base
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the market and the instrument of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::Reprice
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TRADED, BASE = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include market
-- check
local new_base = unpack('<i8', BASE)
local found = redis.call('HMGET', STATE, 'head', 'market', 'I/' .. TRADED)
local refused = enter(found[1]) or belongs(1) or outside('base', new_base, 0, AMOUNT_MAX)
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
local event = '\5' .. text(TRADED) .. pack('<i8i8i8i8i8', base, new_base, price_before, price_after, loss)
local head, reply = append(event, instrument_before(state, base, price_before, house_loss))
redis.call('HSET', STATE, 'head', head, 'I/' .. TRADED, pack(INSTRUMENT, listed, new_base, slope, state, settled_price, net, cash),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, loss, instruments, accounts))
return reply

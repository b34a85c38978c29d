#!lua
-- settle_instrument: fixes an instrument's last price and ends its trading.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 instrument, 6 price
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the market and the instrument of the state; the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::SettleInstrument
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, TRADED, PRICE = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include market
-- check
local price = unpack('<i8', PRICE)
local found = redis.call('HMGET', STATE, 'head', 'market', 'I/' .. TRADED)
local refused = enter(found[1]) or belongs(1) or outside('price', price, 0, AMOUNT_MAX)
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
local event = '\9' .. text(TRADED) .. pack('<i8i8i8', price, net, loss)
local head, reply = append(event, instrument_before(state, base, price_at(base, slope, net) or 0, house_loss))
redis.call('HSET', STATE, 'head', head, 'I/' .. TRADED, pack(INSTRUMENT, listed, base, slope, SETTLED, price, net, cash),
  'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, loss, instruments, accounts))
return reply

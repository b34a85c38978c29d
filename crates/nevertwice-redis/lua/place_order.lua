#!lua
-- place_order: buys or sells, whole or not at all, at the curve.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 account, 6 instrument, 7 terms: side, quantity, guards (1 limit price, 2 expected
--   price, 4 slippage), limit price, expected price, slippage in basis points
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, fees, instrument, account and holding of the state; the account's list where a holding begins or ends;
--   the intent; one entry.
-- Bound: one entry; no loop.
-- Mirrors: core::PlaceOrder
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, NAME, TRADED, TERMS = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
-- include shard
-- include market
-- include order

-- check
local account_field, instrument_field, holding_field = 'A/' .. NAME, 'I/' .. TRADED, 'H/' .. TRADED .. '/' .. NAME
local found = redis.call('HMGET', STATE, 'head', 'market', 'fees', account_field, instrument_field, holding_field)
local refused = enter(found[1]) or belongs(1)
if refused then
  return refused
end
local _, fee_bps, quantity_max, holding_max, _, mode = unpack(MARKET, found[2])
local side, quantity, guards, limit_price, expected_price, slippage_bps = unpack('<Bi8Bi8i8i8', TERMS)
if mode == 3 or (mode == 2 and side == BUY) then
  return no('market_closed', pack('B', mode))
end
if not found[4] then
  return no('unknown_account')
end
if not found[5] then
  return no('unknown_instrument')
end
local class, balance, score, holdings = unpack(ACCOUNT, found[4])
local listed, base, slope, state, settled_price, net, cash = unpack(INSTRUMENT, found[5])
if state == FROZEN then
  return no('instrument_frozen')
end
if state == SETTLED then
  return no_figure('instrument_settled', settled_price)
end
if quantity < 1 or quantity > quantity_max then
  return no_figure('quantity_out_of_range', quantity_max)
end
local has_limit, has_expected, has_slippage = guards % 2 == 1, guards % 4 >= 2, guards >= 4
if (has_limit and (limit_price < 0 or limit_price > AMOUNT_MAX))
  or (has_expected and (expected_price < 0 or expected_price > AMOUNT_MAX))
  or (has_slippage and (slippage_bps < 0 or slippage_bps > BPS))
  or has_expected ~= has_slippage
then
  return no('price_guard_invalid')
end
local shares, cost, profit = 0, 0, 0
if found[6] then
  shares, cost, profit = unpack(HOLDING, found[6])
end
if side == SELL and quantity > net then
  -- Nobody can hold what the house never sold, and the curve has no price for it.
  return no_figure('insufficient_holding', shares)
end
local code, notional, fee, total, last_price, price_before, price_after, net_after =
  quote(side, quantity, base, slope, net, fee_bps, holding_max)
if code then
  return no(code, notional)
end
if has_limit and ((side == BUY and last_price > limit_price) or (side == SELL and last_price < limit_price)) then
  return no('limit_price_exceeded', quote_bytes(notional, fee, total, last_price, price_before, price_after, net_after))
end
if has_expected then
  -- The scaled notional is an amount; the other side may be larger than one, and is then larger than it.
  local expected = expected_price * quantity
  if (side == BUY and notional * BPS > expected * (BPS + slippage_bps))
    or (side == SELL and notional * BPS < expected * (BPS - slippage_bps))
  then
    return no('slippage_exceeded', quote_bytes(notional, fee, total, last_price, price_before, price_after, net_after))
  end
end
local held = shares
if side == BUY then
  if net_after > holding_max then
    return no_figure('holding_too_large', holding_max)
  end
  if balance < total then
    return no('insufficient_balance', pack('<i8i8', balance, total))
  end
  shares, cost, balance, cash = shares + quantity, cost + total, balance - total, cash + notional
else
  if shares < quantity then
    return no_figure('insufficient_holding', shares)
  end
  shares, cost = shares - quantity, cost - released_cost(cost, quantity, shares)
  balance, cash = balance + total, cash - notional
end
local value = shares * price_after
local moved = value - cost - profit
local marked_score = score + moved
local fees = unpack('<i8', found[3]) + fee
if value > AMOUNT_MAX or not (is_amount(cost) and is_amount(balance) and is_amount(cash) and is_amount(moved)
  and is_amount(marked_score) and is_amount(fees))
then
  return no('amount_too_large')
end
local list
if (held == 0) ~= (shares == 0) then
  list = redis.call('HGET', STATE, 'L/' .. NAME) or ''
  list, holdings = relisted(list, listed, shares > 0)
end
profit = value - cost

-- commit
local head, reply = append(pack('<BI2c0I2c0Bi8i8i8i8i8i8i8i8i8i8i8', 4, #NAME, NAME, #TRADED, TRADED, side, quantity, notional, fee,
  price_before, price_after, net_after, balance, shares, cost, profit, marked_score))
local account = pack(ACCOUNT, class, balance, marked_score, holdings)
local instrument = pack(INSTRUMENT, listed, base, slope, state, settled_price, net_after, cash)
if list then
  redis.call('HSET', STATE, 'L/' .. NAME, list)
end
if shares == 0 then
  redis.call('HDEL', STATE, holding_field)
  redis.call('HSET', STATE, 'head', head, 'fees', pack('<i8', fees), account_field, account, instrument_field, instrument)
else
  redis.call('HSET', STATE, 'head', head, 'fees', pack('<i8', fees), account_field, account, instrument_field, instrument,
    holding_field, pack(HOLDING, shares, cost, profit))
end
return reply

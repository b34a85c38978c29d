-- An order: its quote, its checks in order, its figures. Mirrors core's market/place_order.rs and amount.rs.
local BUY, SELL = 1, 2
local REDUCE_ONLY, HALTED = 2, 3

-- floor(a / b) of whole numbers up to AMOUNT_MAX: the remainder of a double is exact, a quotient that is rounded is not.
local function quotient(a, b)
  return (a - math.fmod(a, b)) / b
end

-- ceil(notional * fee_bps / 10000).
local function fee_of(notional, fee_bps)
  local product = notional * fee_bps
  local rest = math.fmod(product, BPS)
  local fee = (product - rest) / BPS
  if rest > 0 then
    fee = fee + 1
  end
  return fee
end

-- floor(cost * sold / held), by quotient and remainder.
local function released_cost(cost, sold, held)
  local rest = math.fmod(cost, held)
  return (cost - rest) / held * sold + quotient(rest * sold, held)
end

-- What a quantity that is in range would cost or bring: a code and its detail if the curve has no price for it; else nil, the
-- notional, the fee, what moves, the last share's price, the prices before and after, and the net after.
local function quote(side, quantity, base, slope, net, fee_bps, holding_max)
  local low, net_after, last_share = net, net + quantity, net + quantity
  if side == SELL then
    low, net_after, last_share = net - quantity, net - quantity, net - quantity + 1
  end
  if net_after > HOLDING_MAX then
    return 'holding_too_large', pack('<i8', holding_max)
  end
  if net_after < 0 then
    return 'insufficient_holding', pack('<i8', net)
  end
  local notional = curve_sum(base, slope, low, quantity)
  if not notional or notional > NOTIONAL_MAX then
    return 'amount_too_large', ''
  end
  local fee = fee_of(notional, fee_bps)
  local total = notional + fee
  if side == SELL then
    total = notional - fee
  end
  local last_price = price_at(base, slope, last_share)
  local price_before, price_after = price_at(base, slope, net), price_at(base, slope, net_after)
  if not (last_price and price_before and price_after) then
    return 'amount_too_large', ''
  end
  return nil, notional, fee, total, last_price, price_before, price_after, net_after
end

local function quote_bytes(notional, fee, total, last_price, price_before, price_after, net_after)
  return pack('<i8i8i8i8i8i8i8', notional, fee, total, last_price, price_before, price_after, net_after)
end

-- Whether the guards are prices and basis points, and come together where they have to.
local function are_guards(limit_price, expected_price, slippage_bps)
  return (not limit_price or (limit_price >= 0 and limit_price <= AMOUNT_MAX))
    and (not expected_price or (expected_price >= 0 and expected_price <= AMOUNT_MAX))
    and (not slippage_bps or (slippage_bps >= 0 and slippage_bps <= BPS))
    and (expected_price == nil) == (slippage_bps == nil)
end

-- The terms of an order, as its argument has them; guards that did not come are nil.
local function order_terms(terms)
  local side, quantity, guards, limit_price, expected_price, slippage_bps = unpack('<Bi8Bi8i8i8', terms)
  if guards == 0 then
    return side, quantity
  end
  return side, quantity, guards % 2 == 1 and limit_price or nil, guards % 4 >= 2 and expected_price or nil,
    guards >= 4 and slippage_bps or nil
end

-- A code and its detail if a guard is passed by.
local function unguarded(side, quantity, limit_price, expected_price, slippage_bps, ...)
  local notional, _, _, last_price = ...
  if limit_price and ((side == BUY and last_price > limit_price) or (side == SELL and last_price < limit_price)) then
    return 'limit_price_exceeded', quote_bytes(...)
  end
  if expected_price then
    -- The scaled notional is an amount; the other side may be larger than one, and is then larger than it.
    local expected = expected_price * quantity
    if (side == BUY and notional * BPS > expected * (BPS + slippage_bps))
      or (side == SELL and notional * BPS < expected * (BPS - slippage_bps))
    then
      return 'slippage_exceeded', quote_bytes(...)
    end
  end
end

-- Decides an order on the records of its market, account, instrument and holding: a code and its detail if it is refused; else
-- nil, the event, the records of account, instrument and holding after it, the fee, and the instrument's number with 1 if the
-- account's holding began, -1 if it ended, 0 otherwise. `holding` is false, before as after, where there is none.
local function decide_order(market, account_name, instrument_name, terms, account, instrument, holding)
  local _, fee_bps, quantity_max, holding_max, _, mode = unpack(MARKET, market)
  local side, quantity, limit_price, expected_price, slippage_bps = order_terms(terms)
  if mode == HALTED or (mode == REDUCE_ONLY and side == BUY) then
    return 'market_closed', pack('B', mode)
  end
  if not account then
    return 'unknown_account', ''
  end
  if not instrument then
    return 'unknown_instrument', ''
  end
  local listed, base, slope, state, settled_price, net, cash = unpack(INSTRUMENT, instrument)
  if state == FROZEN then
    return 'instrument_frozen', ''
  end
  if state == SETTLED then
    return 'instrument_settled', pack('<i8', settled_price)
  end
  if quantity < 1 or quantity > quantity_max then
    return 'quantity_out_of_range', pack('<i8', quantity_max)
  end
  if not are_guards(limit_price, expected_price, slippage_bps) then
    return 'price_guard_invalid', ''
  end
  local shares, cost, profit = 0, 0, 0
  if holding then
    shares, cost, profit = unpack(HOLDING, holding)
  end
  if side == SELL and quantity > net then
    -- Nobody can hold what the house never sold, and the curve has no price for it.
    return 'insufficient_holding', pack('<i8', shares)
  end
  local code, notional, fee, total, last_price, price_before, price_after, net_after =
    quote(side, quantity, base, slope, net, fee_bps, holding_max)
  if code then
    return code, notional
  end
  if limit_price or expected_price then
    local passed, detail = unguarded(side, quantity, limit_price, expected_price, slippage_bps, notional, fee, total, last_price,
      price_before, price_after, net_after)
    if passed then
      return passed, detail
    end
  end
  local class, balance, score, holdings = unpack(ACCOUNT, account)
  local change = 0
  if side == BUY then
    if net_after > holding_max then
      return 'holding_too_large', pack('<i8', holding_max)
    end
    if balance < total then
      return 'insufficient_balance', pack('<i8i8', balance, total)
    end
    if shares == 0 then
      change = 1
    end
    shares, cost, balance, cash = shares + quantity, cost + total, balance - total, cash + notional
  else
    if shares < quantity then
      return 'insufficient_holding', pack('<i8', shares)
    end
    if shares == quantity then
      change = -1
    end
    shares, cost = shares - quantity, cost - released_cost(cost, quantity, shares)
    balance, cash = balance + total, cash - notional
  end
  -- What all hold is bounded by what was issued and what the house may lose, so its value is an amount in every state that can be.
  local value = shares * price_after
  local moved = value - cost - profit
  score = score + moved
  if value > AMOUNT_MAX or not (is_amount(cost) and is_amount(balance) and is_amount(cash) and is_amount(moved) and is_amount(score))
  then
    return 'amount_too_large', ''
  end
  profit = value - cost
  local event = pack('<BI2c0I2c0Bi8i8i8i8i8i8i8i8i8i8i8', 4, #account_name, account_name, #instrument_name, instrument_name, side,
    quantity, notional, fee, price_before, price_after, net_after, balance, shares, cost, profit, score)
  return nil, event, pack(ACCOUNT, class, balance, score, holdings + change),
    pack(INSTRUMENT, listed, base, slope, state, settled_price, net_after, cash),
    shares > 0 and pack(HOLDING, shares, cost, profit), fee, listed, change
end

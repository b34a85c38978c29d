-- An order: its quote, its checks in order, its figures. Mirrors core's market/place_order.rs.
local BUY, SELL = 1, 2

-- floor(a / b) of whole numbers up to AMOUNT_MAX: the remainder of a double is exact, a quotient that is rounded is not.
local function quotient(a, b)
  return (a - math.fmod(a, b)) / b
end

-- ceil(notional * fee_bps / 10000).
local function fee_of(notional, fee_bps)
  local product = notional * fee_bps
  local fee = quotient(product, BPS)
  if math.fmod(product, BPS) > 0 then
    fee = fee + 1
  end
  return fee
end

-- floor(cost * sold / held), by quotient and remainder.
local function released_cost(cost, sold, held)
  return quotient(cost, held) * sold + quotient(math.fmod(cost, held) * sold, held)
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

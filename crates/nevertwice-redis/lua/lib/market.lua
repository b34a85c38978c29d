-- The records of a market, and the curve. Mirrors core's market/state.rs and curve.rs.
--
-- Every figure of the state is a whole number of at most AMOUNT_MAX, and factors are not negative: a product or a sum that is
-- larger comes out of a double as 2^53 or more, so comparing it with AMOUNT_MAX afterwards is exact.
local BPS = 10000
local NOTIONAL_MAX = 900719925474
local HOLDING_MAX = 94906265
local ISSUANCE_MAX = 2251799813685247
local HOUSE_LOSS_MAX = 2251799813685247
local INSTRUMENTS_MAX = 16384
local ACCOUNTS_MAX = 16000000

local MARKET = '<Bi8i8i8i8Bi8i8I4I4'
local INSTRUMENT = '<I4i8i8Bi8i8i8'
local ACCOUNT = '<Bi8i8I4'
local HOLDING = '<i8i8i8'
local ACTIVE, FROZEN, SETTLED = 1, 2, 3

local function is_amount(value)
  return value <= AMOUNT_MAX and value >= -AMOUNT_MAX
end

-- The least base: the first share must cost something.
local function base_min(slope)
  if slope == 0 then
    return 1
  end
  return 0
end

-- The price after `net` shares were sold; nil beyond an amount.
local function price_at(base, slope, net)
  local price = base + slope * net
  if price <= AMOUNT_MAX then
    return price
  end
end

-- What the shares from + 1 to from + quantity cost together; nil beyond an amount. Together they are at most HOLDING_MAX.
local function curve_sum(base, slope, from, quantity)
  local steps = quantity * from + quantity * (quantity + 1) / 2
  local total = quantity * base + slope * steps
  if total <= AMOUNT_MAX then
    return total
  end
end

-- The numbers of the instruments that an account holds, with one more or one less, and how many they are: two bytes each, in no
-- order, and no more than a market has instruments.
local function relisted(list, listed, holds)
  local item = pack('<I2', listed)
  if holds then
    list = list .. item
  else
    for place = 1, #list, 2 do
      if sub(list, place, place + 1) == item then
        list = sub(list, 1, place - 1) .. sub(list, place + 2)
        break
      end
    end
  end
  return list, #list / 2
end

-- What an instrument was before it is repriced or settled, for an entry that tells where its command came from.
local function instrument_before(state, base, price, house_loss)
  return pack('<BBi8i8i8', 1, state, base, price, house_loss)
end

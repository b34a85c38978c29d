#!lua flags=no-writes
-- read_quote: what an order would cost or bring.
--
-- KEYS: 1 state
-- ARGV: 1 instrument, 2 terms: side, quantity
-- Replies: head | head code detail | head quote figures
-- Writes: nothing.
-- Bound: one instrument; no loop.
-- Mirrors: core::Query::Quote
local STATE = KEYS[1]
local TRADED, TERMS = ARGV[1], ARGV[2]
local pack, unpack, sub = struct.pack, struct.unpack, string.sub
local AMOUNT_MAX = 9007199254740991
-- include market
-- include order

-- check
local found = redis.call('HMGET', STATE, 'head', 'market', 'I/' .. TRADED)
local head = found[1] or ''
if not found[2] then
  return { head }
end
if not found[3] then
  return { head, 'unknown_instrument', '' }
end
local _, fee_bps, quantity_max, holding_max = unpack(MARKET, found[2])
local _, base, slope, state, settled_price, net = unpack(INSTRUMENT, found[3])
local side, quantity = unpack('<Bi8', TERMS)
if state == FROZEN then
  return { head, 'instrument_frozen', '' }
end
if state == SETTLED then
  return { head, 'instrument_settled', pack('<i8', settled_price) }
end
if quantity < 1 or quantity > quantity_max then
  return { head, 'quantity_out_of_range', pack('<i8', quantity_max) }
end
local code, notional, fee, total, last_price, price_before, price_after, net_after =
  quote(side, quantity, base, slope, net, fee_bps, holding_max)
if code then
  return { head, code, notional }
end
if side == BUY and net_after > holding_max then
  return { head, 'holding_too_large', pack('<i8', holding_max) }
end
return { head, 'quote', quote_bytes(notional, fee, total, last_price, price_before, price_after, net_after) }

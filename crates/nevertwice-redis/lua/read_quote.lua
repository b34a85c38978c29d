#!lua flags=no-writes
-- Shows what an order would cost or bring.
-- Mirrors: nevertwice_core::Query::Quote
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   instrument: of what
--   terms: side, quantity
-- Replies: the head; the head, a code and its detail; the head, quote, its figures
-- Writes: nothing.
-- Bound: one instrument, and no loop.
-- include numbers
-- include clock
-- include shard
-- include market
-- include order
local records = KEYS[1]
local instrument = ARGV[1]
local terms = ARGV[2]

-- check
local found = redis.call('HMGET', records, 'head', 'market', 'I/' .. instrument)
local head = found[1] or ''
if not found[2] then
  return {head}
end
if not found[3] then
  return {head, 'unknown_instrument', ''}
end
local _, fee_bps, quantity_max, holding_max = unpack(MARKET, found[2])
local _, base, slope, state, settled_price, net = unpack(INSTRUMENT, found[3])
local side, quantity = unpack('<Bi8', terms)
if state == FROZEN then
  return {head, 'instrument_frozen', ''}
end
if state == SETTLED then
  return {head, 'instrument_settled', pack('<i8', settled_price)}
end
if quantity < 1 or quantity > quantity_max then
  return {head, 'quantity_out_of_range', pack('<i8', quantity_max)}
end
local code, notional, fee, total, last_price, price_before, price_after, net_after =
  quote(side, quantity, base, slope, net, fee_bps, holding_max)
if code then
  return {head, code, notional}
end
if side == BUY and net_after > holding_max then
  return {head, 'holding_too_large', pack('<i8', holding_max)}
end

-- commit
return {head, 'quote', quote_bytes(notional, fee, total, last_price, price_before, price_after, net_after)}

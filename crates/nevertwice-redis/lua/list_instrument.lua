#!lua
-- Lists an instrument on a curve of its own.
-- Mirrors: nevertwice_core::ListInstrument
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   instrument: its name
--   terms: base, slope
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the market, the instrument and its number; the intent; one entry.
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
local terms = ARGV[6]

-- check
local base, slope = unpack('<i8i8', terms)
local found = redis.call('HMGET', records, 'head', 'market', 'I/' .. instrument)
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 1)
  or outside('slope', slope, 0, AMOUNT_MAX)
  or outside('base', base, base_min(slope), AMOUNT_MAX)
if refused then
  return refused
end
if found[3] then
  return no('instrument_exists')
end
local decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode, issuance, house_loss, instruments, accounts =
  unpack(MARKET, found[2])
if instruments >= INSTRUMENTS_MAX then
  return no('instruments_full')
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\2' .. text_bytes(instrument) .. terms)
redis.call('HSET', records, 'head', head, 'I/' .. instrument, pack(INSTRUMENT, instruments, base, slope, ACTIVE, 0, 0, 0),
  'i/' .. text(instruments), instrument, 'market', pack(MARKET, decimals, fee_bps, quantity_max, holding_max, house_loss_max, mode,
  issuance, house_loss, instruments + 1, accounts))
return reply

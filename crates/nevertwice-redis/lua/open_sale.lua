#!lua
-- Opens a sale with its levels; its doors are closed.
-- Mirrors: nevertwice_core::OpenSale
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   caps: the levels and their caps, a list in the encoding of entries
--   terms: total cap, hold in ms, begin and end of the window, retention in ms
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the sale, its counts and levels; the intent; one entry.
-- Bound: 64 levels.
-- include numbers
-- include clock
-- include shard
-- include sale
-- include levels
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local caps = ARGV[5]
local terms = ARGV[6]

-- check
local total_cap, hold_ms, opens_at, closes_at, retention = unpack('<i8i8i8i8i8', terms)
local count, levels = level_list(caps)
local found = redis.call('HMGET', records, 'head')
local refused = enter(found[1], call, asked, redis.call('GET', intent), retention) or unopenable(shard, 2, 'sale_exists')
  or outside('levels', count, 1, LEVELS_MAX)
  or levels_refused(levels)
  or outside('total_cap', total_cap, 0, SEATS_MAX)
  or outside('hold_ms', hold_ms, 1, HOLD_MS_MAX)
  or outside('opens_at', opens_at, 0, AT_MS_MAX)
  or outside('closes_at', closes_at, opens_at, AT_MS_MAX)
  -- A retry within the hold must find its booking.
  or outside('retention_ms', retention, math.max(RETENTION_MS_MIN, hold_ms), RETENTION_MS_MAX)
if refused then
  return refused
end
retention_ms = retention
local writes = {}
for index, level in ipairs(levels) do
  local number = index - 1
  writes[#writes + 1] = 'L/' .. level.name
  writes[#writes + 1] = pack(LEVEL, number, level.cap and 1 or 0, level.cap or 0, 0)
  writes[#writes + 1] = 'l/' .. text(number)
  writes[#writes + 1] = level.name
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\32' .. caps .. terms)
redis.call('HSET', records, 'head', head, 'sale', pack(SALE, 0, opens_at, closes_at, hold_ms, total_cap, count, 0),
  'counts', pack(COUNTS, 0, 0, 0), table_unpack(writes))
return reply

#!lua
-- open_sale: opens a sale with its levels; its doors are closed.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 levels: the list of names and caps, 6 terms: total cap, hold in ms, begin and end of
--   the window, retention in ms
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the sale, its counts and levels of the state; the intent; one entry.
-- Bound: 64 levels.
-- Mirrors: core::OpenSale
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, LEVELS, TERMS = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include sale
-- include levels
-- check
local total_cap, hold_ms, opens_at, closes_at, retention = unpack('<i8i8i8i8i8', TERMS)
local count, levels = level_list(LEVELS)
local found = redis.call('HMGET', STATE, 'head')
local refused = enter(found[1], retention) or opens(2, 'sale_exists')
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
  writes[#writes + 1] = 'l/' .. format('%.0f', number)
  writes[#writes + 1] = level.name
end

-- commit
local head, reply = append('\32' .. LEVELS .. TERMS)
redis.call('HSET', STATE, 'head', head, 'sale', pack(SALE, 0, opens_at, closes_at, hold_ms, total_cap, count, 0),
  'counts', pack(COUNTS, 0, 0, 0), table_unpack(writes))
return reply

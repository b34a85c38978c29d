#!lua
-- set_caps: changes caps; none may be below what is live.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 levels: the list of names and caps, 6 total: an option
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the sale and the named levels of the state; the intent; one entry.
-- Bound: 64 levels.
-- Mirrors: core::SetCaps
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, LEVELS, TOTAL = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include shard
-- include sale
-- include levels
-- check
local count, levels = level_list(LEVELS)
local fields = { 'head', 'sale', 'counts' }
for _, level in ipairs(levels) do
  fields[#fields + 1] = 'L/' .. level.name
end
local found = redis.call('HMGET', STATE, table_unpack(fields))
local refused = enter(found[1]) or belongs(2) or outside('levels', count, 0, LEVELS_MAX)
if refused then
  return refused
end
local open, opens_at, closes_at, hold_ms, total_before, level_count, candidates = unpack(SALE, found[2])
local live = unpack(COUNTS, found[3])
local total_cap = total_before
if byte(TOTAL) == 1 then
  total_cap = unpack('<i8', TOTAL, 2)
end
refused = outside('total_cap', total_cap, 0, SEATS_MAX) or levels_refused(levels)
if refused then
  return refused
end
for index = 1, count do
  if not found[3 + index] then
    return no('unknown_level')
  end
end
local changes, writes, before = total_cap ~= total_before, {}, {}
for index, level in ipairs(levels) do
  local number, has_cap, cap, level_live = unpack(LEVEL, found[3 + index])
  if level.cap and level.cap < level_live then
    return no('cap_below_live', '\1' .. text(level.name) .. pack('<i8', level_live))
  end
  local cap_before = has_cap == 1 and cap
  changes = changes or cap_before ~= level.cap
  before[index] = text(level.name) .. (cap_before and pack('<Bi8', 1, cap_before) or '\0')
  writes[#writes + 1] = 'L/' .. level.name
  writes[#writes + 1] = pack(LEVEL, number, level.cap and 1 or 0, level.cap or 0, level_live)
end
if total_cap < live then
  return no('cap_below_live', pack('<Bi8', 0, live))
end
if not changes then
  return no('no_change')
end

-- commit
local caps_before = '\2' .. pack('<I4', count) .. table.concat(before) .. pack('<i8', total_before)
local head, reply = append('\41' .. LEVELS .. pack('<i8', total_cap), caps_before)
redis.call('HSET', STATE, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, level_count, candidates),
  table_unpack(writes))
return reply

#!lua
-- Changes caps; none may be below what is live.
-- Mirrors: nevertwice_core::SetCaps
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   caps: the levels and their new caps, a list in the encoding of entries
--   total: the new total, an option in the encoding of entries
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the sale and the named levels; the intent; one entry.
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
local total = ARGV[6]

-- check
local count, levels = level_list(caps)
local fields = {'head', 'sale', 'counts'}
for _, level in ipairs(levels) do
  fields[#fields + 1] = 'L/' .. level.name
end
local found = redis.call('HMGET', records, table_unpack(fields))
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2) or outside('levels', count, 0, LEVELS_MAX)
if refused then
  return refused
end
local open, opens_at, closes_at, hold_ms, total_before, level_count, candidates = unpack(SALE, found[2])
local live = unpack(COUNTS, found[3])
local total_cap = total_before
if byte(total) == 1 then
  total_cap = unpack('<i8', total, 2)
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
    return no('cap_below_live', '\1' .. text_bytes(level.name) .. pack('<i8', level_live))
  end
  local cap_before = has_cap == 1 and cap
  changes = changes or cap_before ~= level.cap
  before[index] = text_bytes(level.name) .. (cap_before and pack('<Bi8', 1, cap_before) or '\0')
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
local head, reply = append(records, intent, entries, shard, asked, origin, '\41' .. caps .. pack('<i8', total_cap), caps_before)
redis.call('HSET', records, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, level_count, candidates),
  table_unpack(writes))
return reply

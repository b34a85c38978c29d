#!lua flags=allow-oom
-- Ends named holds whose time has come; those that are not due are passed over.
-- Mirrors: nevertwice_core::ExpireHolds
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
--   free: the seats that are free again, an ordered set
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   bookings...: their positions, in the encoding of entries
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the counts, and of each booking its record, level and candidate; the free seats; the intent; one entry.
-- Bound: 64 bookings.
-- include numbers
-- include clock
-- include shard
-- include sale
-- include release
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local free = KEYS[4]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]

-- check
local BEFORE, HOLDS_MAX = 4, 64
local count = #ARGV - BEFORE
local fields = {'head', 'counts'}
for index = 1, math.min(count, HOLDS_MAX) do
  fields[#fields + 1] = 'B/' .. ARGV[BEFORE + index]
end
local found = redis.call('HMGET', records, table_unpack(fields))
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2) or outside('bookings', count, 1, HOLDS_MAX)
if refused then
  return refused
end
local live, seats, bookings = unpack(COUNTS, found[2])
local holds, writes, freed, seen, level_records = {}, {}, {}, {}, {}
for index = 1, count do
  local id, record = ARGV[BEFORE + index], found[2 + index]
  if record and not seen[id] then
    seen[id] = true
    local seat, state, hold_expires_at, candidate, level = booking_parts(record)
    if (state == ADMITTED or state == PAYING) and at_ms >= hold_expires_at then
      local ended = CLOSING
      if state == ADMITTED then
        ended = RELEASED
        local beside = redis.call('HMGET', records, 'L/' .. level, 'C/' .. candidate)
        local level_record = level_records[level] or beside[1]
        refused = release_refused(live, level_record)
        if refused then
          return refused
        end
        local number, has_cap, cap, level_live = unpack(LEVEL, level_record)
        level_records[level] = pack(LEVEL, number, has_cap, cap, level_live - 1)
        live = live - 1
        local levels, _, email = candidate_parts(beside[2])
        writes[#writes + 1] = 'C/' .. candidate
        writes[#writes + 1] = levels .. NO_BOOKING .. email
        freed[#freed + 1] = seat
        freed[#freed + 1] = seat
      end
      holds[#holds + 1] = id .. pack('<I4B', seat, ended)
      writes[#writes + 1] = 'B/' .. id
      writes[#writes + 1] = with_state(record, ended)
    end
  end
end
if #holds == 0 then
  return no('nothing_due')
end
for level, record in pairs(level_records) do
  writes[#writes + 1] = 'L/' .. level
  writes[#writes + 1] = record
end

-- commit
local head, reply = append(records, intent, entries, shard, asked, origin, '\39' .. pack('<I4', #holds) .. table.concat(holds))
if #freed > 0 then
  redis.call('ZADD', free, table_unpack(freed))
end
redis.call('HSET', records, 'head', head, 'counts', pack(COUNTS, live, seats, bookings), table_unpack(writes))
return reply

#!lua flags=allow-oom
-- expire_holds: ends named holds whose time has come; those that are not due are passed over.
--
-- KEYS: 1 state, 2 intent, 3 entries, 4 free
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5... bookings
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the counts, the levels, the candidates and the bookings of the state; the free seats; the intent; one entry.
-- Bound: 64 bookings.
-- Mirrors: core::ExpireHolds
local STATE, INTENT, ENTRIES, FREE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local CALL, SHARD, ASKED, ORIGIN = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- include shard
-- include sale
-- include release
-- check
local FIRST, HOLDS_MAX = 5, 64
local count = #ARGV - FIRST + 1
local fields = { 'head', 'counts' }
for place = FIRST, math.min(#ARGV, FIRST + HOLDS_MAX - 1) do
  fields[#fields + 1] = 'B/' .. ARGV[place]
end
local found = redis.call('HMGET', STATE, table_unpack(fields))
local refused = enter(found[1]) or belongs(2) or outside('bookings', count, 1, HOLDS_MAX)
if refused then
  return refused
end
local live_before, seats, bookings = unpack(COUNTS, found[2])
local live, holds, writes, freed, seen, level_records = live_before, {}, {}, {}, {}, {}
for index = 1, count do
  local id, record = ARGV[FIRST + index - 1], found[2 + index]
  if record and not seen[id] then
    seen[id] = true
    local seat, state, hold_expires_at, candidate, name = booking_parts(record)
    if (state == ADMITTED or state == PAYING) and at_ms >= hold_expires_at then
      local ended = CLOSING
      if state == ADMITTED then
        ended = RELEASED
        local beside = redis.call('HMGET', STATE, 'L/' .. name, 'C/' .. candidate)
        refused = release_refused(live, level_records[name] or beside[1])
        if refused then
          return refused
        end
        local number, has_cap, cap, level_live = unpack(LEVEL, level_records[name] or beside[1])
        level_records[name] = pack(LEVEL, number, has_cap, cap, level_live - 1)
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
for name, record in pairs(level_records) do
  writes[#writes + 1] = 'L/' .. name
  writes[#writes + 1] = record
end

-- commit
local head, reply = append('\39' .. pack('<I4', #holds) .. table.concat(holds))
if #freed > 0 then
  redis.call('ZADD', FREE, table_unpack(freed))
end
redis.call('HSET', STATE, 'head', head, 'counts', pack(COUNTS, live, seats, bookings), table_unpack(writes))
return reply

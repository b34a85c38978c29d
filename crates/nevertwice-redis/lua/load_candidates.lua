#!lua
-- Adds candidates, or changes what known ones may book.
-- Mirrors: nevertwice_core::LoadCandidates
-- KEYS:
--   records: the shard's records, a hash
--   intent: the memory of the intent
--   entries: the shard's entries, a stream
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   asked: the intent, in the encoding of entries
--   origin: where the command came from, in the encoding of entries; empty for unknown
--   list: the candidates, a list in the encoding of entries
-- Replies: accepted: the entry; replayed: position, the intent's record; rejected: position, code, detail
--   clock_skew; epoch_superseded: the shard's epoch; data_too_new
-- Writes: the head, the sale and the candidates; the intent; one entry.
-- Bound: 256 candidates.
-- include numbers
-- include clock
-- include shard
-- include sale
local records = KEYS[1]
local intent = KEYS[2]
local entries = KEYS[3]
local call = ARGV[1]
local shard = ARGV[2]
local asked = ARGV[3]
local origin = ARGV[4]
local list = ARGV[5]

-- check
local CANDIDATES_IN_ONE_MAX = 256
local count, place = unpack('<I4', list)
local facts, fields = {}, {'head', 'sale'}
for index = 1, math.min(count, CANDIDATES_IN_ONE_MAX) do
  local id, email = sub(list, place, place + 31), ''
  if byte(list, place + 32) == 1 then
    email = sub(list, place + 33, place + 64)
  end
  place = place + 33 + #email
  facts[index] = {id = id, email = email, levels = sub(list, place, place + 7)}
  place = place + 8
  fields[#fields + 1] = 'C/' .. id
end
local found = redis.call('HMGET', records, table_unpack(fields))
local refused = enter(found[1], call, asked, redis.call('GET', intent)) or elsewhere(shard, 2)
  or outside('candidates', count, 1, CANDIDATES_IN_ONE_MAX)
if refused then
  return refused
end
local open, opens_at, closes_at, hold_ms, total_cap, levels, candidates = unpack(SALE, found[2])
-- Those that are known already take no place, so a full list can still be changed.
local added = 0
for index = 1, count do
  if not found[2 + index] then
    added = added + 1
  end
end
if candidates + added > CANDIDATES_MAX then
  return no('candidates_full')
end
for _, fact in ipairs(facts) do
  for index = 1, 8 do
    -- So many of the eight levels of this byte are there.
    local there = math.max(0, math.min(8, levels - 8 * (index - 1)))
    if byte(fact.levels, index) >= 2 ^ there then
      return no('unknown_level')
    end
  end
end
local writes, before, last = {}, {}, {}
for index, fact in ipairs(facts) do
  local booking = NO_BOOKING
  if found[2 + index] then
    local levels_before, booked, email_before = candidate_parts(found[2 + index])
    booking = booked
    before[index] = '\1' .. (email_before == '' and '\0' or '\1' .. email_before) .. levels_before
  else
    before[index] = '\0'
    if not last[fact.id] then
      candidates = candidates + 1
    end
  end
  last[fact.id] = true
  -- Of several with one id the last is written last.
  writes[#writes + 1] = 'C/' .. fact.id
  writes[#writes + 1] = fact.levels .. booking .. fact.email
end

-- commit
local list_before = '\3' .. pack('<I4', count) .. table.concat(before)
local head, reply = append(records, intent, entries, shard, asked, origin, '\33' .. list, list_before)
redis.call('HSET', records, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, levels, candidates),
  table_unpack(writes))
return reply

#!lua
-- load_candidates: adds candidates, or changes what known ones may book.
--
-- KEYS: 1 state, 2 intent, 3 entries
-- ARGV: 1 call, 2 shard, 3 asked, 4 origin, 5 candidates: the list of digests, e-mails' digests and levels
-- Replies: accepted entry | replayed position record | rejected position code detail | clock_skew ms | epoch_superseded epoch |
--   data_too_new version
-- Writes: the head, the sale and the candidates of the state; the intent; one entry.
-- Bound: 256 candidates.
-- Mirrors: core::LoadCandidates
local STATE, INTENT, ENTRIES = KEYS[1], KEYS[2], KEYS[3]
local CALL, SHARD, ASKED, ORIGIN, CANDIDATES = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
-- include shard
-- include sale
-- check
local CANDIDATES_IN_ONE_MAX = 256
local count, place = unpack('<I4', CANDIDATES)
local facts, fields = {}, { 'head', 'sale' }
for index = 1, math.min(count, CANDIDATES_IN_ONE_MAX) do
  local id, email = sub(CANDIDATES, place, place + 31), ''
  if byte(CANDIDATES, place + 32) == 1 then
    email = sub(CANDIDATES, place + 33, place + 64)
  end
  place = place + 33 + #email
  facts[index] = { id = id, email = email, levels = sub(CANDIDATES, place, place + 7) }
  place = place + 8
  fields[#fields + 1] = 'C/' .. id
end
local found = redis.call('HMGET', STATE, table_unpack(fields))
local refused = enter(found[1]) or belongs(2) or outside('candidates', count, 1, CANDIDATES_IN_ONE_MAX)
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
local head, reply = append('\33' .. CANDIDATES, '\3' .. pack('<I4', count) .. table.concat(before))
redis.call('HSET', STATE, 'head', head, 'sale', pack(SALE, open, opens_at, closes_at, hold_ms, total_cap, levels, candidates),
  table_unpack(writes))
return reply

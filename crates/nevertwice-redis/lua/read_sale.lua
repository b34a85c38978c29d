#!lua flags=no-writes
-- Shows a sale's own figures and its levels.
-- Mirrors: nevertwice_core::Query::Sale
-- KEYS:
--   records: the shard's records, a hash
-- ARGV: none
-- Replies: the head, the sale, its counts, then name and record of each level; what is not there is empty
-- Writes: nothing.
-- Bound: 64 levels.
-- include numbers
local records = KEYS[1]

-- check
local LEVELS_MAX = 64
local found = redis.call('HMGET', records, 'head', 'sale', 'counts')
local reply = {found[1] or '', found[2] or '', found[3] or ''}
if not found[2] then
  return reply
end
for number = 0, LEVELS_MAX - 1 do
  local name = redis.call('HGET', records, 'l/' .. text(number))
  if not name then
    break
  end
  reply[#reply + 1] = name
  reply[#reply + 1] = redis.call('HGET', records, 'L/' .. name)
end

-- commit
return reply

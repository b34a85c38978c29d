#!lua flags=no-writes
-- read_sale: a sale's own figures and its levels.
--
-- KEYS: 1 state
-- ARGV:
-- Replies: head | head sale counts, then name and record of each level
-- Writes: nothing.
-- Bound: 64 levels.
-- Mirrors: core::Query::Sale
local STATE = KEYS[1]
local LEVELS_MAX = 64

-- check
local found = redis.call('HMGET', STATE, 'head', 'sale', 'counts')
local reply = { found[1] or '', found[2] or '', found[3] or '' }
if not found[2] then
  return reply
end
for number = 0, LEVELS_MAX - 1 do
  local name = redis.call('HGET', STATE, 'l/' .. string.format('%.0f', number))
  if not name then
    break
  end
  reply[#reply + 1] = name
  reply[#reply + 1] = redis.call('HGET', STATE, 'L/' .. name)
end
return reply

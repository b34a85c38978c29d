#!lua flags=no-writes
-- read_holders: a piece of a scan over the accounts that hold an instrument, in the order in which the accounts were opened.
--
-- KEYS: 1 state
-- ARGV: 1 instrument, 2 cursor: how many accounts to pass over
-- Replies: head | head market | head market instrument rows, then account and record of each
-- Writes: nothing.
-- Bound: 256 accounts.
-- Mirrors: core::Query::Holders
local STATE = KEYS[1]
local TRADED, CURSOR = ARGV[1], ARGV[2]
local ROWS_MAX = 256

-- check
local found = redis.call('HMGET', STATE, 'head', 'market', 'I/' .. TRADED)
if not found[3] then
  return { found[1] or '', found[2] or '' }
end
local fields, names, cursor = {}, {}, tonumber(CURSOR)
for number = cursor, cursor + ROWS_MAX - 1 do
  fields[#fields + 1] = 'a/' .. string.format('%.0f', number)
end
for _, name in ipairs(redis.call('HMGET', STATE, unpack(fields))) do
  if name then
    names[#names + 1] = name
  end
end
local reply = { found[1], found[2], found[3], string.format('%.0f', #names) }
if #names == 0 then
  return reply
end
for index, name in ipairs(names) do
  fields[index] = 'H/' .. TRADED .. '/' .. name
end
for index, record in ipairs(redis.call('HMGET', STATE, unpack(fields, 1, #names))) do
  if record then
    reply[#reply + 1] = names[index]
    reply[#reply + 1] = record
  end
end
return reply

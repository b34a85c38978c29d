#!lua flags=no-writes
-- read_instruments: a page of instruments in the order of listing.
--
-- KEYS: 1 state
-- ARGV: 1 from: how many to pass over
-- Replies: head | head market, then name and record of each
-- Writes: nothing.
-- Bound: 256 instruments.
-- Mirrors: core::Query::Instruments
local STATE = KEYS[1]
local FROM = ARGV[1]
local PAGE_MAX = 256

-- check
local found = redis.call('HMGET', STATE, 'head', 'market')
local reply = { found[1] or '', found[2] or '' }
if not found[2] then
  return reply
end
local fields, from = {}, tonumber(FROM)
for number = from, from + PAGE_MAX - 1 do
  fields[#fields + 1] = 'i/' .. string.format('%.0f', number)
end
for _, name in ipairs(redis.call('HMGET', STATE, unpack(fields))) do
  if name then
    reply[#reply + 1] = name
    reply[#reply + 1] = redis.call('HGET', STATE, 'I/' .. name)
  end
end
return reply

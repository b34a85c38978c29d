#!lua flags=no-writes
-- Shows a page of instruments in the order of listing.
-- Mirrors: nevertwice_core::Query::Instruments
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   from: how many to pass over
-- Replies: the head, the market, then name and record of each; what is not there is empty
-- Writes: nothing.
-- Bound: 256 instruments.
-- include numbers
local records = KEYS[1]
local from = tonumber(ARGV[1])

-- check
local PAGE_MAX = 256
local found = redis.call('HMGET', records, 'head', 'market')
local reply = {found[1] or '', found[2] or ''}
if not found[2] then
  return reply
end
local fields = {}
for number = from, from + PAGE_MAX - 1 do
  fields[#fields + 1] = 'i/' .. text(number)
end
for _, name in ipairs(redis.call('HMGET', records, unpack(fields))) do
  if name then
    reply[#reply + 1] = name
    reply[#reply + 1] = redis.call('HGET', records, 'I/' .. name)
  end
end

-- commit
return reply

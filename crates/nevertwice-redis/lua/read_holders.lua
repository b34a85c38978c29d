#!lua flags=no-writes
-- Shows a piece of a scan over the accounts that hold an instrument, in the order in which they were opened.
-- Mirrors: nevertwice_core::Query::Holders
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   instrument: of what
--   cursor: how many accounts to pass over
-- Replies: the head, the market; and if the instrument is there its record, how many accounts were looked at, then name and holding of each
-- Writes: nothing.
-- Bound: 256 accounts.
-- include numbers
local records = KEYS[1]
local instrument = ARGV[1]
local cursor = tonumber(ARGV[2])

-- check
local ROWS_MAX = 256
local found = redis.call('HMGET', records, 'head', 'market', 'I/' .. instrument)
if not found[3] then
  return {found[1] or '', found[2] or ''}
end
local fields, names = {}, {}
for number = cursor, cursor + ROWS_MAX - 1 do
  fields[#fields + 1] = 'a/' .. text(number)
end
for _, name in ipairs(redis.call('HMGET', records, unpack(fields))) do
  if name then
    names[#names + 1] = name
  end
end
local reply = {found[1], found[2], found[3], text(#names)}
if #names == 0 then
  return reply
end
for index, name in ipairs(names) do
  fields[index] = 'H/' .. instrument .. '/' .. name
end
for index, record in ipairs(redis.call('HMGET', records, unpack(fields, 1, #names))) do
  if record then
    reply[#reply + 1] = names[index]
    reply[#reply + 1] = record
  end
end

-- commit
return reply

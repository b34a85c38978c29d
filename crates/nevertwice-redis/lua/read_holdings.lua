#!lua flags=no-writes
-- Shows a page of an account's holdings in the order in which their instruments were listed.
-- Mirrors: nevertwice_core::Query::Holdings
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   account: whose
--   from: how many to pass over
-- Replies: the head, the account, then instrument and record of each; what is not there is empty
-- Writes: nothing.
-- Bound: 256 holdings, of at most 16,384 numbers that are sorted.
-- include numbers
local records = KEYS[1]
local account = ARGV[1]
local from = tonumber(ARGV[2])

-- check
local PAGE_MAX = 256
local found = redis.call('HMGET', records, 'head', 'A/' .. account, 'L/' .. account)
local reply = {found[1] or '', found[2] or ''}
if not found[2] then
  return reply
end
local list, numbers = found[3] or '', {}
for place = 1, #list, 2 do
  numbers[#numbers + 1] = struct.unpack('<I2', list, place)
end
table.sort(numbers)
for index = from + 1, math.min(#numbers, from + PAGE_MAX) do
  local instrument = redis.call('HGET', records, 'i/' .. text(numbers[index]))
  reply[#reply + 1] = instrument
  reply[#reply + 1] = redis.call('HGET', records, 'H/' .. instrument .. '/' .. account)
end

-- commit
return reply

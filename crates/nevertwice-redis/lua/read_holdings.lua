#!lua flags=no-writes
-- read_holdings: a page of an account's holdings in the order in which their instruments were listed.
--
-- KEYS: 1 state
-- ARGV: 1 account, 2 from: how many to pass over
-- Replies: head | head account, then instrument and record of each
-- Writes: nothing.
-- Bound: 256 holdings, of at most 16,384 numbers that are sorted.
-- Mirrors: core::Query::Holdings
local STATE = KEYS[1]
local NAME, FROM = ARGV[1], ARGV[2]
local PAGE_MAX = 256

-- check
local found = redis.call('HMGET', STATE, 'head', 'A/' .. NAME, 'L/' .. NAME)
local reply = { found[1] or '', found[2] or '' }
if not found[2] then
  return reply
end
local list, numbers, from = found[3] or '', {}, tonumber(FROM)
for place = 1, #list, 2 do
  numbers[#numbers + 1] = struct.unpack('<I2', list, place)
end
table.sort(numbers)
for index = from + 1, math.min(#numbers, from + PAGE_MAX) do
  local instrument = redis.call('HGET', STATE, 'i/' .. string.format('%.0f', numbers[index]))
  reply[#reply + 1] = instrument
  reply[#reply + 1] = redis.call('HGET', STATE, 'H/' .. instrument .. '/' .. NAME)
end
return reply

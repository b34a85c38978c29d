#!lua flags=allow-oom
-- adopt_place: in which epoch this server decides. A timeline that it has not had before raises the epoch.
--
-- KEYS: 1 place
-- ARGV: 1 timeline: the server's master_replid
-- Replies: place epoch raised, which is 1 if the timeline is new to a place that was adopted before
-- Writes: the place.
-- Bound: one hash of two fields.
-- Mirrors: nothing: the core knows no places.
local PLACE = KEYS[1]
local TIMELINE = ARGV[1]

-- check
local known = redis.call('HMGET', PLACE, 'epoch', 'timeline')
local epoch = tonumber(known[1] or '0')
if known[2] == TIMELINE then
  return { 'place', known[1], '0' }
end
local raised = '0'
if known[2] then
  raised = '1'
end

-- commit
redis.call('HSET', PLACE, 'epoch', string.format('%.0f', epoch + 1), 'timeline', TIMELINE)
return { 'place', string.format('%.0f', epoch + 1), raised }

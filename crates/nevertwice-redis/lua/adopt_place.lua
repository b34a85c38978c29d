#!lua flags=allow-oom
-- Tells in which epoch this server decides; a timeline that it has not had before raises it.
-- Mirrors: nothing: the core knows no places.
-- KEYS:
--   place: the epoch and the timeline of the server, a hash
-- ARGV:
--   timeline: the server's master_replid
-- Replies: place: the epoch, and 1 if the timeline is another than before
-- Writes: the place.
-- Bound: two fields.
-- include numbers
local place = KEYS[1]
local timeline = ARGV[1]

-- check
local known = redis.call('HMGET', place, 'epoch', 'timeline')
if known[2] == timeline then
  return {'place', known[1], '0'}
end
local epoch = text(tonumber(known[1] or '0') + 1)

-- commit
redis.call('HSET', place, 'epoch', epoch, 'timeline', timeline)
return {'place', epoch, known[2] and '1' or '0'}

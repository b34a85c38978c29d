#!lua flags=allow-oom
-- Writes something at the end of a group, so that `WAIT` covers all that the group has seen.
-- Mirrors: nothing: the core knows no replicas.
-- KEYS:
--   written: what is written, an empty string
-- ARGV: none
-- Replies: written
-- Writes: written.
-- Bound: one write, also where the server has no memory left: what is answered then must be confirmed as well.
local written = KEYS[1]

-- check
local reply = {'written'}

-- commit
redis.call('SET', written, '')
return reply

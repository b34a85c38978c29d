#!lua flags=allow-oom
-- Lets a shard go on in a higher epoch; a lower one is ignored.
-- Mirrors: nevertwice_core::State::adopt
-- KEYS:
--   records: the shard's records, a hash
-- ARGV:
--   epoch: the epoch
-- Replies: adopted: the epoch in which it goes on; unopened; data_too_new
-- Writes: the head.
-- Bound: one record.
-- include numbers
local records = KEYS[1]
local epoch = tonumber(ARGV[1])

-- check
local HEAD_VERSION = 1
local head = redis.call('HGET', records, 'head')
if not head then
  return {'unopened'}
end
local version, adopted = struct.unpack('<BI4', head)
if version > HEAD_VERSION then
  return {'data_too_new'}
end
if epoch <= adopted then
  return {'adopted', text(adopted)}
end

-- commit
redis.call('HSET', records, 'head', string.sub(head, 1, 1) .. struct.pack('<I4', epoch) .. string.sub(head, 6))
return {'adopted', text(epoch)}

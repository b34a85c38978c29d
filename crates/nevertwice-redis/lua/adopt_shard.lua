#!lua flags=allow-oom
-- adopt_shard: lets a shard go on in a higher epoch; a lower one is ignored.
--
-- KEYS: 1 state
-- ARGV: 1 epoch
-- Replies: adopted epoch | unopened | data_too_new version
-- Writes: the head of the state.
-- Bound: one record.
-- Mirrors: core::State::adopt
local STATE = KEYS[1]
local EPOCH = ARGV[1]
local HEAD_VERSION = 1

-- check
local head = redis.call('HGET', STATE, 'head')
if not head then
  return { 'unopened' }
end
local version, adopted = struct.unpack('<BI4', head)
if version > HEAD_VERSION then
  return { 'data_too_new', string.format('%.0f', version) }
end
local epoch = tonumber(EPOCH)
if epoch <= adopted then
  return { 'adopted', string.format('%.0f', adopted) }
end

-- commit
redis.call('HSET', STATE, 'head', string.sub(head, 1, 1) .. struct.pack('<I4', epoch) .. string.sub(head, 6))
return { 'adopted', EPOCH }

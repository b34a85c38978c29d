-- The record of a key, as `nevertwice_core::keys::KeyRecord` has it: one hash, which is the whole truth about its key.
local RECORD_VERSION = 1
local GENERATION_MAX = AMOUNT_MAX
local LEASE_MS_MAX = 24 * 60 * 60 * 1000
local RETENTION_MS_MIN = 1000
local RETENTION_MS_MAX = YEAR_MS

-- What lies under the key, or nil; and a word if it is of a newer version.
local function read_record(key)
  local found = redis.call('HMGET', key, 'v', 'state', 'generation', 'changed_at', 'retention_ms', 'owner', 'fingerprint',
    'lease_expires_at')
  if not found[1] then
    return nil
  end
  if tonumber(found[1]) > RECORD_VERSION then
    return nil, 'data_too_new'
  end
  return {
    state = found[2],
    generation = tonumber(found[3]),
    changed_at = tonumber(found[4]),
    retention_ms = tonumber(found[5]),
    owner = found[6],
    fingerprint = found[7],
    lease_expires_at = tonumber(found[8]),
  }
end

-- The record as of an instant: none once its retention is over.
local function remembered(record, at_ms)
  if record and at_ms < record.changed_at + record.retention_ms then
    return record
  end
  return nil
end

-- The record if it is that owner's in that generation, whatever its state; else the refusal.
local function owned(record, owner, generation, at_ms)
  local known = remembered(record, at_ms)
  if not known then
    return nil, {'unknown_key'}
  end
  if known.owner ~= owner or known.generation ~= generation then
    return nil, {'stale_owner', text(known.generation)}
  end
  return known
end

-- How many bytes of an answer lie under the key.
local function answer_bytes(key)
  local found = redis.call('HMGET', key, 'head_bytes', 'body_bytes', 'kept')
  if found[3] ~= 'whole' then
    return 0
  end
  return tonumber(found[1]) + tonumber(found[2])
end

-- The memory of a record is freed when its retention is over by every clock that may be asked about it.
local function memory_ms(changed_at, retention_ms, at_ms, keep_ms)
  return text(changed_at + retention_ms - at_ms + keep_ms)
end

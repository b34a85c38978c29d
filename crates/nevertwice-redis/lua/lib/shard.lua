-- How every decision of a shard begins and ends: time, epoch, replay and expiry of the intent; then the entry, the memory of
-- the intent and the head. What is between them is the command's own.
--
-- Needs of the script: STATE, INTENT, ENTRIES (keys); CALL, SHARD, ASKED, ORIGIN (arguments, see lua/README.md).
-- `unpack` is that of records from here on; that of tables gets a name of its own.
local table_unpack = unpack
local pack, unpack, format = struct.pack, struct.unpack, string.format
local byte, sub = string.byte, string.sub

local AMOUNT_MAX = 9007199254740991
local RETENTION_MS_MIN = 1000
local RETENTION_MS_MAX = 31622400000
local HOLD_MS_MAX = 2592000000
local AT_MS_MAX = AMOUNT_MAX - RETENTION_MS_MAX - HOLD_MS_MAX
local ADOPTIONS_BYTES_MAX = 1024 * 12
local HEAD_VERSION = 1
local HEAD = '<BI4I4I8i8i8i8'
local PLACE = '<I4I8i8'
local POSITION = '<I4I8'

local epoch, at_ms, skew_ms_max, slack_ms, entries_max, owner_bytes = unpack('<I4i8i8i8i8I2', CALL)
local last_epoch, seq, last_at_ms, final_at_ms, retention_ms = 0, 0, 0, 0, 0
local is_open = false

local function text(value)
  return pack('<I2c0', #value, value)
end

-- A refusal: nothing is changed.
local function no(code, detail)
  return { 'rejected', pack(POSITION, last_epoch, seq), code, detail or '' }
end

local function no_figure(code, figure)
  return no(code, pack('<i8', figure))
end

-- A refusal if a setting is outside its range.
local function outside(setting, value, min, max)
  if value < min or value > max then
    return no('setting_out_of_range', pack('<I2c0i8i8', #setting, setting, min, max))
  end
end

-- What the key did, if it is remembered: its entry again, or that the key was used for something else.
local function remembered()
  local known = redis.call('GET', INTENT)
  if not known then
    return
  end
  -- Two bytes of version and tag, then the intent as it is in the argument. The option behind the fingerprint has 1 or 9 bytes.
  local place = owner_bytes + 36 + 8 * byte(known, owner_bytes + 35)
  local _, _, accepted_at_ms = unpack(PLACE, known, place)
  if accepted_at_ms + retention_ms <= at_ms then
    return
  end
  if sub(known, owner_bytes + 3, owner_bytes + 34) ~= sub(ASKED, owner_bytes + 1, owner_bytes + 32) then
    return no('fingerprint_mismatch', sub(known, place, place + 11))
  end
  return { 'replayed', pack(POSITION, last_epoch, seq), known }
end

-- The expiry of the intent. After a *no* for it the shard's time does not go back behind that instant: that *no* is the last
-- word. It is the only thing that a refusal writes.
local function expired(opening_retention_ms)
  if byte(ASKED, owner_bytes + 33) == 0 then
    return
  end
  local expires_at = unpack('<i8', ASKED, owner_bytes + 34)
  if expires_at <= at_ms then
    if is_open and at_ms > final_at_ms then
      redis.call('HSET', STATE, 'head', pack(HEAD, HEAD_VERSION, epoch, last_epoch, seq, last_at_ms, at_ms, retention_ms))
    end
    return no('intent_expired', sub(ASKED, owner_bytes + 34))
  end
  -- A shard that is not open yet has no retention but the one that the command brings.
  local retention = opening_retention_ms
  if is_open then
    retention = retention_ms
  end
  if retention and expires_at > at_ms + retention then
    return no_figure('intent_expiry_too_far', at_ms + retention)
  end
end

-- All checks that come before the command's own. A reply if one of them answers.
local function enter(head, opening_retention_ms)
  local now = redis.call('TIME')
  local ahead_ms = at_ms - now[1] * 1000 - math.floor(now[2] / 1000)
  if ahead_ms > skew_ms_max or ahead_ms < -skew_ms_max then
    return { 'clock_skew', format('%.0f', ahead_ms) }
  end
  if head then
    local version, adopted
    version, adopted, last_epoch, seq, last_at_ms, final_at_ms, retention_ms = unpack(HEAD, head)
    if version > HEAD_VERSION then
      return { 'data_too_new', format('%.0f', version) }
    end
    if adopted ~= epoch then
      return { 'epoch_superseded', format('%.0f', adopted) }
    end
    is_open = true
  end
  at_ms = math.max(at_ms, last_at_ms, final_at_ms)
  local known = remembered()
  if known then
    return known
  end
  if at_ms > AT_MS_MAX then
    return no('instant_out_of_range')
  end
  return expired(opening_retention_ms)
end

-- Whether the shard is open and of the command's kind: 1 market, 2 sale. A reply if it is not.
local function belongs(kind)
  if not is_open then
    return no(byte(SHARD) == 1 and 'unknown_market' or 'unknown_sale')
  end
  if byte(SHARD) ~= kind then
    return no('wrong_shard_kind')
  end
end

-- Whether a shard of that kind can be opened here. A reply if it can't.
local function opens(kind, exists)
  if byte(SHARD) ~= kind then
    return no('wrong_shard_kind')
  end
  if is_open then
    return no(exists)
  end
end

-- The bytes of the next entry's position.
local function next_position()
  return pack(POSITION, epoch, seq + 1)
end

-- Appends the entry and remembers the intent; gives the head to write beside what the command changes, and the reply. The stream
-- comes first: were it of another history, its refusal would leave nothing half done.
local function append(event, before)
  local is_first = last_epoch ~= epoch
  local place = pack(PLACE, epoch, seq + 1, at_ms)
  local facts = ASKED .. place .. '\1\0\0\0' .. event
  local entry
  if ORIGIN == '' then
    entry = '\1' .. SHARD .. place .. ASKED .. '\1\0\0\0' .. event
  else
    entry = '\2' .. SHARD .. place .. ASKED .. '\1\0\0\0' .. event .. ORIGIN .. (before and '\1' .. before or '\0')
  end
  seq = seq + 1
  redis.call('XADD', ENTRIES, 'MAXLEN', '~', format('%.0f', entries_max), format('%.0f-%.0f', epoch, seq), 'e', entry)
  redis.call('SET', INTENT, '\1\10' .. facts, 'PX', format('%.0f', retention_ms + slack_ms))
  if is_first then
    local adoptions = redis.call('HGET', STATE, 'adoptions') or ''
    if #adoptions >= ADOPTIONS_BYTES_MAX then
      adoptions = sub(adoptions, 13)
    end
    redis.call('HSET', STATE, 'adoptions', adoptions .. sub(place, 1, 12))
  end
  return pack(HEAD, HEAD_VERSION, epoch, epoch, seq, at_ms, final_at_ms, retention_ms), { 'accepted', entry }
end

-- How every decision of a shard begins and ends: time, epoch, replay and expiry of the intent; then the entry, the memory of
-- the intent and the head. What is between them is the command's own. Mirrors core's decide.rs, apply.rs and intents.rs.

-- `unpack` is that of records from here on; that of tables gets a name of its own.
local table_unpack = unpack
local pack, unpack = struct.pack, struct.unpack
local byte, sub = string.byte, string.sub

local RETENTION_MS_MIN = 1000
local RETENTION_MS_MAX = YEAR_MS
local HOLD_MS_MAX = MONTH_MS
local ADOPTIONS_BYTES_MAX = 1024 * 12
local HEAD_VERSION = 1
local HEAD = '<BI4I4I8i8i8i8'
local PLACE = '<I4I8i8'
local POSITION = '<I4I8'

-- What the call brings, and what the head says; `enter` sets them.
local epoch, at_ms, slack_ms, entries_max, owner_bytes
local last_epoch, seq, last_at_ms, final_at_ms, retention_ms = 0, 0, 0, 0, 0
local is_open = false

local function text_bytes(value)
  return pack('<I2c0', #value, value)
end

-- A refusal: nothing is changed.
local function no(code, detail)
  return {'rejected', pack(POSITION, last_epoch, seq), code, detail or ''}
end

local function no_figure(code, figure)
  return no(code, pack('<i8', figure))
end

-- A refusal if a setting is outside its range.
local function outside(setting, value, min, max)
  if value < min or value > max then
    return no('setting_out_of_range', text_bytes(setting) .. pack('<i8i8', min, max))
  end
end

-- What the key did, if it is remembered: its entry again, or that the key was used for something else.
local function remembered(asked, known)
  -- Two bytes of version and tag, then the intent as it is in the argument. The option behind the fingerprint has 1 or 9 bytes.
  local place = owner_bytes + 36 + 8 * byte(known, owner_bytes + 35)
  local _, _, accepted_at_ms = unpack(PLACE, known, place)
  if accepted_at_ms + retention_ms <= at_ms then
    return nil
  end
  if sub(known, owner_bytes + 3, owner_bytes + 34) ~= sub(asked, owner_bytes + 1, owner_bytes + 32) then
    return no('fingerprint_mismatch', sub(known, place, place + 11))
  end
  return {'replayed', pack(POSITION, last_epoch, seq), known}
end

-- A refusal if the intent's time has run out, or would outlive its memory. A shard that is not open yet has no retention but the
-- one that the command brings, if it brings one.
local function expired(asked, opening_retention_ms)
  if byte(asked, owner_bytes + 33) == 0 then
    return nil
  end
  local expires_at = unpack('<i8', asked, owner_bytes + 34)
  if expires_at <= at_ms then
    return no('intent_expired', sub(asked, owner_bytes + 34))
  end
  local retention = opening_retention_ms
  if is_open then
    retention = retention_ms
  end
  if retention and expires_at > at_ms + retention then
    return no_figure('intent_expiry_too_far', at_ms + retention)
  end
end

-- What the call and the head say. A reply if nothing can be decided here.
local function begin(head, call)
  local skew_ms_max
  epoch, at_ms, skew_ms_max, slack_ms, entries_max, owner_bytes = unpack('<I4i8i8i8i8I2', call)
  if is_skewed(at_ms, skew_ms_max) then
    return {'clock_skew'}
  end
  if head then
    if byte(head) > HEAD_VERSION then
      return {'data_too_new'}
    end
    local _, adopted
    _, adopted, last_epoch, seq, last_at_ms, final_at_ms, retention_ms = unpack(HEAD, head)
    if adopted ~= epoch then
      return {'epoch_superseded', text(adopted)}
    end
    is_open = true
  end
  at_ms = math.max(at_ms, last_at_ms, final_at_ms)
end

-- What there is to say of an intent before its command is looked at: that it is remembered, or can't be. A reply if there is.
local function answered(asked, known, opening_retention_ms)
  local before = known and remembered(asked, known)
  if before then
    return before
  end
  if at_ms > AT_MS_MAX then
    return no('instant_out_of_range')
  end
  return expired(asked, opening_retention_ms)
end

-- All checks that come before the command's own. A reply if one of them answers.
local function enter(head, call, asked, known, opening_retention_ms)
  return begin(head, call) or answered(asked, known, opening_retention_ms)
end

-- Whether the shard is open and of the command's kind: 1 market, 2 sale. A reply if it is not.
local function elsewhere(shard, kind)
  if not is_open then
    return no(byte(shard) == 1 and 'unknown_market' or 'unknown_sale')
  end
  if byte(shard) ~= kind then
    return no('wrong_shard_kind')
  end
end

-- Whether a shard of that kind can be opened here. A reply if it can't.
local function unopenable(shard, kind, exists)
  if byte(shard) ~= kind then
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

-- Moves the shard on by one entry: its bytes, what is remembered of the intent, and whether it is the first of its epoch.
local function made(shard, asked, origin, event, before)
  local is_first = last_epoch ~= epoch
  local place = pack(PLACE, epoch, seq + 1, at_ms)
  local facts = '\1\0\0\0' .. event
  last_epoch, seq = epoch, seq + 1
  local entry
  if origin == '' then
    entry = '\1' .. shard .. place .. asked .. facts
  else
    entry = '\2' .. shard .. place .. asked .. facts .. origin .. (before and '\1' .. before or '\0')
  end
  return entry, '\1\10' .. asked .. place .. facts, is_first
end

-- Appends an entry of that number and remembers its intent. The stream comes first: were it of another history, its refusal would
-- leave nothing half done.
local function write_entry(intent, entries, number, entry, record)
  redis.call('XADD', entries, 'MAXLEN', '~', text(entries_max), string.format('%.0f-%.0f', epoch, number), 'e', entry)
  redis.call('SET', intent, record, 'PX', text(retention_ms + slack_ms))
end

-- Writes down that the epoch began with the entry of that number.
local function write_adoption(records, number)
  local adoptions = redis.call('HGET', records, 'adoptions') or ''
  if #adoptions >= ADOPTIONS_BYTES_MAX then
    adoptions = sub(adoptions, 13)
  end
  redis.call('HSET', records, 'adoptions', adoptions .. pack(POSITION, epoch, number))
end

-- The head after the last entry.
local function head_bytes()
  return pack(HEAD, HEAD_VERSION, epoch, epoch, seq, at_ms, final_at_ms, retention_ms)
end

-- Makes and writes one entry; gives the head to write beside what the command changes, and the reply.
local function append(records, intent, entries, shard, asked, origin, event, before)
  local entry, record, is_first = made(shard, asked, origin, event, before)
  write_entry(intent, entries, seq, entry, record)
  if is_first then
    write_adoption(records, seq)
  end
  return head_bytes(), {'accepted', entry}
end

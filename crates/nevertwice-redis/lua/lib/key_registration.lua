-- What a registration comes to, as `nevertwice_core::keys::RegisterKey::decide` says: a reply that changes nothing, or nil with the
-- word, the generation and the instant of a claim.
local function decide_registration(key, record, ask)
  if ask.retention_ms < RETENTION_MS_MIN or ask.retention_ms > RETENTION_MS_MAX then
    return {'setting_out_of_range', 'retention_ms'}
  end
  if ask.lease_ms < 0 or ask.lease_ms > LEASE_MS_MAX or ask.lease_ms >= ask.retention_ms then
    return {'setting_out_of_range', 'lease_ms'}
  end
  local known = remembered(record, ask.at_ms)
  local word, generation, now = 'fresh', math.max(ask.at_ms, 1), ask.at_ms
  if known then
    generation, now = known.generation + 1, math.max(ask.at_ms, known.changed_at)
  end
  if known and known.state ~= 'free' then
    if known.fingerprint ~= ask.fingerprint then
      return {'fingerprint_mismatch', text(known.generation)}
    end
    if known.state == 'completed' then
      local kept = redis.call('HMGET', key, 'status', 'head_bytes', 'head_digest', 'body_bytes', 'body_digest', 'kept', 'headers', 'body')
      return {'replay', text(known.generation), unpack(kept)}
    end
    local lease = text(known.lease_expires_at)
    if known.owner == ask.owner then
      return {'resumed', text(known.generation), lease}
    end
    if now < known.lease_expires_at then
      return {'key_in_progress', text(known.generation), lease}
    end
    -- Asking runs nothing, so it may come late; running again may not.
    local may_rerun = ask.lapse == 'rerun' and not (ask.expires_at and ask.expires_at <= now)
    if not may_rerun and ask.lapse ~= 'ask' then
      return {'outcome_unknown', text(known.generation), lease}
    end
    word = 'taken_over'
  elseif ask.expires_at then
    if ask.expires_at <= now then
      return {'intent_expired'}
    end
    if ask.expires_at > now + ask.retention_ms then
      return {'intent_expiry_too_far', text(now + ask.retention_ms)}
    end
  end
  if generation > GENERATION_MAX then
    return {'generations_exhausted'}
  end
  return nil, word, generation, now
end

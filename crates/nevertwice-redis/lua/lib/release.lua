-- Whether a live booking can leave its level without a counter falling below zero: a release never clamps. A reply if it can't.
local function release_refused(live, level)
  local _, level_live = nil, 0
  if level then
    _, _, _, level_live = unpack(LEVEL, level)
  end
  if live < 1 or level_live < 1 then
    return no('invariant_broken', text_bytes('live bookings'))
  end
end

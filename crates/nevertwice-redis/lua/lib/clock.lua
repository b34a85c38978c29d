-- Time: the caller's clock decides, and must be near the server's.
local YEAR_MS = 366 * 24 * 60 * 60 * 1000
local MONTH_MS = 30 * 24 * 60 * 60 * 1000
local AT_MS_MAX = AMOUNT_MAX - YEAR_MS - MONTH_MS

-- Whether the caller's clock is further from the server's than it may be; a bound below zero asks for no look at it.
local function is_skewed(at_ms, skew_ms_max)
  if skew_ms_max < 0 then
    return false
  end
  local time = redis.call('TIME')
  local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  return math.abs(now_ms - at_ms) > skew_ms_max
end

local function is_instant(at_ms)
  return at_ms >= 0 and at_ms <= AT_MS_MAX
end

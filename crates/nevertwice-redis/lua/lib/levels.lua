-- Lists of levels and caps, as commands and events have them. Mirrors core's check_levels.

-- The levels of a list: name and cap, which is false for none. At most LEVELS_MAX of them are read; the count is that of the list.
local function level_list(bytes)
  local count, place = unpack('<I4', bytes)
  local levels = {}
  for index = 1, math.min(count, LEVELS_MAX) do
    local name, after = unpack('<I2c0', bytes, place)
    local cap = false
    place = after
    if byte(bytes, place) == 1 then
      cap = unpack('<i8', bytes, place + 1)
      place = place + 8
    end
    place = place + 1
    levels[index] = {name = name, cap = cap}
  end
  return count, levels
end

-- Every cap is a number of seats, and no level is named twice. A reply if not.
local function levels_refused(levels)
  local seen = {}
  for _, level in ipairs(levels) do
    local refused = outside('cap', level.cap or 0, 0, SEATS_MAX)
    if refused then
      return refused
    end
    if seen[level.name] then
      return no('setting_out_of_range', text_bytes('levels of one name') .. pack('<i8i8', 1, 1))
    end
    seen[level.name] = true
  end
end

-- Numbers: text forms are exact up to 2^53 - 1, where `..` would turn to scientific notation.
local AMOUNT_MAX = 9007199254740991

local function text(number)
  return string.format('%.0f', number)
end

-- The records of a sale. Mirrors core's sale/state.rs.
local SEATS_MAX = 16000000
local CANDIDATES_MAX = 16000000
local BOOKINGS_MAX = 64000000
local LEVELS_MAX = 64

local SALE = '<Bi8i8i8i8I4I4'
local COUNTS = '<i8I4I4'
local LEVEL = '<I4Bi8i8'
local ADMITTED, PAYING, CLOSING, PAID, RELEASED = 1, 2, 3, 4, 5
-- No admission has this position.
local NO_BOOKING = string.rep('\0', 12)

-- A candidate's parts: the levels that may be booked, the live booking, and the e-mail's digest, which may be empty.
local function candidate_parts(record)
  return sub(record, 1, 8), sub(record, 9, 20), sub(record, 21)
end

-- Whether the bit of a level's number is set in what a candidate may book: eight bytes, the lowest first.
local function is_allowed(levels, number)
  local bit_in_byte = number % 8
  return math.floor(byte(levels, (number - bit_in_byte) / 8 + 1) / 2 ^ bit_in_byte) % 2 == 1
end

-- A booking's parts: seat, state, end of the hold, candidate, level, owner, payment and place of the URL's option. The payment is
-- empty until it began. The owner is the principal and the key in the encoding of an intent.
local function booking_parts(record)
  local seat, state, hold_expires_at = unpack('<I4Bi8', record)
  local level, owner_at = unpack('<I2c0', record, 46)
  local _, _, payment_at = unpack('<I2c0I2c0', record, owner_at)
  local payment, url_at = '', payment_at + 1
  if byte(record, payment_at) == 1 then
    payment, url_at = unpack('<I2c0', record, payment_at + 1)
  end
  return seat, state, hold_expires_at, sub(record, 14, 45), level, sub(record, owner_at, payment_at - 1), payment, url_at
end

local function with_state(record, state)
  return sub(record, 1, 4) .. string.char(state) .. sub(record, 6)
end

-- What a booking was before it is confirmed or released, for an entry that tells where its command came from.
local function booking_before(state)
  return pack('BB', 4, state)
end

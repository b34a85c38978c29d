#!lua
-- Decides several orders of one market, one after the other; one that is refused touches no neighbour.
-- Mirrors: nevertwice_core::PlaceOrder
-- KEYS:
--   records: the shard's records, a hash
--   entries: the shard's entries, a stream
--   intents...: the memories of the intents, in the order of the orders
-- ARGV:
--   call: the caller's epoch, clock and bounds, packed: see README.md
--   shard: the shard, in the encoding of entries
--   orders...: for each order asked, origin, account, instrument and terms as in place_order; behind the terms the length of its owner
-- Replies: a list with a reply of place_order for each; or one reply for all: clock_skew; epoch_superseded: the epoch; data_too_new
-- Writes: the head, the fees, the instruments, the accounts, their holdings and lists; the intents; an entry for each that is accepted.
-- Bound: 64 orders.
-- include numbers
-- include clock
-- include shard
-- include market
-- include order
local records = KEYS[1]
local entries = KEYS[2]
local call = ARGV[1]
local shard = ARGV[2]

-- check
local BEFORE, PARTS, ORDERS_MAX, OWNER_AT = 2, 5, 64, 35
local count = math.min(#KEYS - BEFORE, ORDERS_MAX)
local names, places = {'head', 'market', 'fees'}, {}
local function want(name)
  if not places[name] then
    names[#names + 1] = name
    places[name] = #names
  end
end
for index = 1, count do
  local first = BEFORE + PARTS * (index - 1)
  local account, instrument = ARGV[first + 3], ARGV[first + 4]
  want('A/' .. account)
  want('I/' .. instrument)
  want('H/' .. instrument .. '/' .. account)
end
local found = redis.call('HMGET', records, table_unpack(names))
local refused = begin(found[1], call)
if refused then
  return refused
end
local memories = redis.call('MGET', table_unpack(KEYS, BEFORE + 1, BEFORE + count))
local remembers, values, lists, changed, replies, written = {}, {}, {}, {}, {}, {}
for name, place in pairs(places) do
  values[name] = found[place]
end
local is_first_of_epoch, first_number = false, seq + 1
local fees = found[3] and unpack('<i8', found[3])
for index = 1, count do
  local first = BEFORE + PARTS * (index - 1)
  local asked, origin, account, instrument, terms = ARGV[first + 1], ARGV[first + 2], ARGV[first + 3], ARGV[first + 4], ARGV[first + 5]
  local intent = KEYS[BEFORE + index]
  owner_bytes = unpack('<I2', terms, OWNER_AT)
  local reply = answered(asked, remembers[intent] or memories[index]) or elsewhere(shard, 1)
  if not reply then
    local account_field, instrument_field, holding_field = 'A/' .. account, 'I/' .. instrument, 'H/' .. instrument .. '/' .. account
    local code, event, account_after, instrument_after, holding_after, fee, listed, change =
      decide_order(found[2], account, instrument, terms, values[account_field], values[instrument_field], values[holding_field])
    if code then
      reply = no(code, event)
    else
      if change ~= 0 then
        local list_field = 'L/' .. account
        local list = lists[list_field] or redis.call('HGET', records, list_field) or ''
        lists[list_field] = relisted(list, listed, change > 0)
      end
      values[account_field], values[instrument_field], values[holding_field] = account_after, instrument_after, holding_after
      changed[account_field], changed[instrument_field], changed[holding_field] = true, true, true
      fees = fees + fee
      local entry, record, is_first = made(shard, asked, origin, event)
      is_first_of_epoch = is_first_of_epoch or is_first
      remembers[intent] = record
      written[#written + 1] = {intent = intent, number = seq, entry = entry, record = record}
      reply = {'accepted', entry}
    end
  end
  replies[index] = reply
end
local writes, ended = {'head', head_bytes(), 'fees', pack('<i8', fees or 0)}, {}
for name in pairs(changed) do
  if values[name] then
    writes[#writes + 1] = name
    writes[#writes + 1] = values[name]
  else
    ended[#ended + 1] = name
  end
end
for name, list in pairs(lists) do
  writes[#writes + 1] = name
  writes[#writes + 1] = list
end

-- commit
for _, one in ipairs(written) do
  write_entry(one.intent, entries, one.number, one.entry, one.record)
end
if is_first_of_epoch then
  write_adoption(records, first_number)
end
if #ended > 0 then
  redis.call('HDEL', records, table_unpack(ended))
end
if #written > 0 then
  redis.call('HSET', records, table_unpack(writes))
end
return replies

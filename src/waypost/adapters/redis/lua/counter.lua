-- How many messages an org has drawn in its window; the key expires with the window.
-- KEYS[1] the counter. ARGV: how many, when the window ends (milliseconds), "drawn" or "stands".
-- A claim only raises the count, since claims of several processes may come in any order; a count read from the
-- Ledger replaces it, even a lower one, because permits are given back. An earlier window changes nothing.
local same = 60000 -- several processes' clocks start one window at slightly different times
local known = tonumber(redis.call('GET', KEYS[1]) or '')
local later = tonumber(ARGV[2]) - redis.call('PEXPIRETIME', KEYS[1])
if known then
  if later < -same then return 0 end
  if later <= same and ARGV[3] == 'drawn' and known >= tonumber(ARGV[1]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2])
return 1

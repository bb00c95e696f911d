-- How many messages an org has drawn in its window; the key goes with the window.
-- KEYS[1] the counter. ARGV: how many, when the window ends (milliseconds), "drawn" or "stands".
-- A claim only raises the figure, since claims of several processes may arrive in any order; what was read from
-- the Ledger stands, also when it is lower: permits are given back. A window that is over changes nothing.
local same = 60000 -- clocks of several processes begin one window at slightly different moments
local known = tonumber(redis.call('GET', KEYS[1]) or '')
local later = tonumber(ARGV[2]) - redis.call('PEXPIRETIME', KEYS[1])
if known then
  if later < -same then return 0 end
  if later <= same and ARGV[3] == 'drawn' and known >= tonumber(ARGV[1]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2])
return 1

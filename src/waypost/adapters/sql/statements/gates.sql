-- name: gate_open
-- Returns the gate, for the audit.
DELETE FROM gate WHERE id = $1
RETURNING id, org_id, name, kind, code, reason, since, until, times

-- name: gate_probe_again
-- A probe that was not sent frees its turn, unless another process has probed since.
UPDATE gate SET until = $3 WHERE id = $1 AND kind = 'breaker' AND until = $2 RETURNING id

-- name: gate_reopen
-- Opens the gate whatever closed it.
DELETE FROM gate WHERE org_id = $1 AND name = $2 RETURNING id

-- name: gate_release
-- An operator opens a gate of their own org.
DELETE FROM gate WHERE id = $1 AND org_id = $2
RETURNING id, org_id, name, kind, code, reason, since, until, times

-- name: gates_of
-- The org's closed gates; a breaker stays closed until a probe succeeds.
SELECT {gate} FROM gate g WHERE g.org_id = $1 AND (g.until IS NULL OR g.until > $2 OR g.kind = 'breaker') ORDER BY g.id

-- name: gates_forget
-- Throttles that ended by themselves.
DELETE FROM gate WHERE kind = 'throttle' AND until < $1 RETURNING id

-- name: number_released
-- A new token may work where the old one was refused: opens the holds of the number and its account.
DELETE FROM gate WHERE name IN ($1, $2) AND org_id = $3 AND kind = 'hold'

-- name: number_enabled
-- Opens the gate of a number that was disabled.
DELETE FROM gate WHERE name = $1 AND org_id = $2 AND kind = 'disabled'

-- name: waiting_behind_org
-- How many ready messages the org's gate stops, counted up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM outlet o JOIN ready r ON r.outlet = o.id WHERE o.org_id = $1 AND o.org_id = $2 LIMIT $3
) AS waiting

-- name: waiting_behind_number
-- The same, for a number's gate.
SELECT count(*) FROM (
    SELECT 1 FROM outlet o JOIN ready r ON r.outlet = o.id WHERE o.org_id = $1 AND o.sender = $2 LIMIT $3
) AS waiting

-- name: waiting_behind_account
-- The same, for a business account's gate.
SELECT count(*) FROM (
    SELECT 1 FROM outlet o JOIN number n ON n.id = o.sender JOIN ready r ON r.outlet = o.id
    WHERE o.org_id = $1 AND n.waba_id = $2 LIMIT $3
) AS waiting

-- name: waiting_behind_template
-- The same, for a template's gate.
SELECT count(*) FROM (
    SELECT 1 FROM outlet o JOIN number n ON n.id = o.sender JOIN ready r ON r.outlet = o.id
    WHERE o.org_id = $1 AND n.waba_id || '/' || o.template = $2 LIMIT $3
) AS waiting

-- name: permit_read
-- One permit, without a lock.
SELECT name, free_at, used, since, most FROM permit WHERE name = $1

-- name: permit_ensure
-- A limit that exists is kept.
INSERT INTO permit (name, most) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING

-- name: quota_limit
-- Sets the limit and keeps what is used.
INSERT INTO permit (name, most) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET most = excluded.most RETURNING name

-- name: pair_read
-- The window and the pace of one customer with one number, without a lock.
SELECT sender, recipient, opened_at, last_inbound_at, expires_at, free_at, blocked_until, blocked_times, counted_at
FROM pair WHERE sender = $1 AND recipient = $2

-- name: last_outbound
-- When the number last sent to this customer.
SELECT max(d.sent_at) FROM number n JOIN message m ON m.org_id = n.org_id AND m.recipient = $2
JOIN delivery d ON d.message_id = m.id
WHERE n.id = $1 AND m.sender = $1

-- name: pairs_forget
-- A window that has closed or never opened, of a recipient without a pace limit or block, not counted in the last day.
DELETE FROM pair WHERE (sender, recipient) IN (
    SELECT p.sender, p.recipient FROM pair p WHERE (p.expires_at < $1 OR p.expires_at IS NULL)
        AND p.free_at < $1 AND p.blocked_until < $1 AND p.counted_at < $1 - 86400000000
    LIMIT $2
) RETURNING sender

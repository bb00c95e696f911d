-- name: outlets_depth
-- The dispatch groups with ready messages, found by skipping through the index, each counted up to a limit, with the
-- gate in front and the time since when its next message has been ready.
WITH RECURSIVE busy (outlet) AS (
    SELECT min(outlet) FROM ready WHERE outlet > 0
    UNION ALL
    SELECT (SELECT min(r.outlet) FROM ready r WHERE r.outlet > busy.outlet) FROM busy WHERE busy.outlet IS NOT NULL
)
SELECT o.id, o.org_id, o.sender, o.template, n.waba_id, coalesce(n.pace, mb.pace), n.tier,
    (SELECT count(*) FROM (SELECT 1 FROM ready r WHERE r.outlet = o.id LIMIT $2) AS counted), {gate},
    (SELECT r.ready_at FROM ready r WHERE r.outlet = o.id ORDER BY r.rank, r.message_id LIMIT 1)
FROM (SELECT outlet FROM busy WHERE outlet IS NOT NULL LIMIT $1) b
JOIN outlet o ON o.id = b.outlet
LEFT JOIN number n ON n.id = o.sender
{part gate_in_front at $3}

-- name: later_depth
-- How many messages are scheduled or wait for a retry, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM later WHERE due_at > 0 ORDER BY due_at LIMIT $1) AS counted

-- name: quotas_fullest
-- The quotas of the current window that are used most, for the metrics.
SELECT name, used, most FROM permit WHERE name LIKE 'quota:%' AND most > 0 AND used > 0 AND since > $1
ORDER BY used * 1.0 / most DESC LIMIT $2

-- name: gates_closed
-- How many gates are closed, by kind and code; a breaker counts until it is opened.
SELECT kind, code, count(*) FROM gate WHERE until IS NULL OR until > $1 OR kind = 'breaker'
GROUP BY kind, code ORDER BY 3 DESC LIMIT $2

-- name: turns_depth
-- Counted up to a limit; there are no more held turns than worker slots.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM lane WHERE owner IS NULL AND due_at <= $1 LIMIT $2) AS counted),
    (SELECT min(due_at) FROM lane WHERE owner IS NULL AND due_at <= $1),
    (SELECT min(claimed_at) FROM lane WHERE owner IS NOT NULL AND lease_until > 0)

-- name: media_depth
-- Counted up to a limit; a running fetch is due again at the end of its lease.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM media WHERE due_at > 0 LIMIT $2) AS counted),
    (SELECT min(due_at) FROM media WHERE due_at > 0 AND due_at <= $1)

-- name: outlets_depth_org
-- One org's dispatch groups with ready messages, as above.
SELECT o.id, o.org_id, o.sender, o.template, n.waba_id, coalesce(n.pace, mb.pace), n.tier,
    (SELECT count(*) FROM (SELECT 1 FROM ready r WHERE r.outlet = o.id LIMIT $3) AS counted), {gate},
    (SELECT r.ready_at FROM ready r WHERE r.outlet = o.id ORDER BY r.rank, r.message_id LIMIT 1)
FROM (
    SELECT x.id FROM outlet x WHERE x.org_id = $1 AND EXISTS (SELECT 1 FROM ready r WHERE r.outlet = x.id) LIMIT $2
) b
JOIN outlet o ON o.id = b.id
LEFT JOIN number n ON n.id = o.sender
{part gate_in_front at $4}

-- name: stations_recent
-- The newest messages with this status.
SELECT m.created_at, m.scheduled_at, d.sent_at, d.delivered_at, d.status, d.updated_at
FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = $2 ORDER BY d.message_id DESC LIMIT $3

-- name: stations_oldest
-- The oldest messages that are queued or being sent, with their times.
SELECT m.created_at, m.scheduled_at, d.sent_at, d.delivered_at, d.status, d.updated_at
FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = $2 ORDER BY d.message_id LIMIT $3

-- name: told_recent
-- The newest items of a team's feed, with the sender of each message.
SELECT recent.at, recent.kind, e.sender
FROM (
    SELECT seq, at, kind, conversation_id, position FROM feed_item WHERE feed = $1 ORDER BY seq DESC LIMIT $2
) AS recent
LEFT JOIN entry e ON e.conversation_id = recent.conversation_id AND e.position = recent.position
ORDER BY recent.seq DESC

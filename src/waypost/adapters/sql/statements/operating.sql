-- name: sign_put
INSERT INTO sign (name, at) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE sign.at < excluded.at

-- name: sign_end
DELETE FROM sign WHERE name = $1

-- name: sign_get
SELECT at FROM sign WHERE name = $1

-- name: identity_put
-- The first identity stays.
INSERT INTO identity (part, name) VALUES ('ledger', $1) ON CONFLICT (part) DO NOTHING

-- name: identity_get
SELECT name FROM identity WHERE part = 'ledger'

-- name: place_of
-- Since when the message has been ready, or the head of its queue.
SELECT (SELECT ready_at FROM ready WHERE message_id = $1),
    (SELECT q.head FROM queue_line l JOIN queue q ON q.id = l.queue_id WHERE l.message_id = $1)

-- name: count_by_status
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE org_id = $1 AND status = $2 LIMIT $3) AS recent

-- name: retries_recent
SELECT a.attempt_no, count(*)
FROM (SELECT id FROM message WHERE org_id = $1 ORDER BY id DESC LIMIT $2) AS recent
JOIN attempt a ON a.message_id = recent.id
WHERE a.attempt_no > 1 GROUP BY a.attempt_no

-- name: times_recent
SELECT m.created_at, m.scheduled_at, d.sent_at, d.delivered_at
FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id DESC LIMIT $2

-- name: dead_letters
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = 'FAILED' AND d.message_id < $2 ORDER BY d.message_id DESC LIMIT $3

-- name: dead_letters_by_code
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = 'FAILED' AND d.error_code = $4 AND d.message_id < $2
ORDER BY d.message_id DESC LIMIT $3

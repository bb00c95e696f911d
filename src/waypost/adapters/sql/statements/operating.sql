-- name: sign_put
-- When something was last seen to work; an older time changes nothing.
INSERT INTO sign (name, at) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE sign.at < excluded.at

-- name: sign_end
-- It must be seen to work again.
DELETE FROM sign WHERE name = $1

-- name: sign_get
-- When it was last seen to work.
SELECT at FROM sign WHERE name = $1

-- name: identity_put
-- The first identity stays.
INSERT INTO identity (part, name) VALUES ('ledger', $1) ON CONFLICT (part) DO NOTHING

-- name: identity_get
-- The name of this database: a history store belongs to one database.
SELECT name FROM identity WHERE part = 'ledger'

-- name: place_of
-- Since when the message has been ready, or the head of its queue.
SELECT (SELECT ready_at FROM ready WHERE message_id = $1),
    (SELECT q.head FROM queue_line l JOIN queue q ON q.id = l.queue_id WHERE l.message_id = $1)

-- name: count_by_status
-- Counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE org_id = $1 AND status = $2 LIMIT $3) AS recent

-- name: retries_recent
-- How many of the newest messages needed which attempt.
SELECT a.attempt_no, count(*)
FROM (SELECT id FROM message WHERE org_id = $1 ORDER BY id DESC LIMIT $2) AS recent
JOIN attempt a ON a.message_id = recent.id
WHERE a.attempt_no > 1 GROUP BY a.attempt_no

-- name: times_recent
-- The times of the newest messages, for queue and delivery latency.
SELECT m.created_at, m.scheduled_at, d.sent_at, d.delivered_at
FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id DESC LIMIT $2

-- name: dead_letters
-- A page of failed messages, newest first.
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = 'FAILED' AND d.message_id < $2 ORDER BY d.message_id DESC LIMIT $3

-- name: dead_letters_by_code
-- The same, with one error code.
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = 'FAILED' AND d.error_code = $4 AND d.message_id < $2
ORDER BY d.message_id DESC LIMIT $3

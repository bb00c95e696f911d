-- name: message_get
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.id = $1 AND m.org_id = $2

-- name: messages_newest
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.org_id = $1 AND m.id < $3
ORDER BY m.id DESC LIMIT $2

-- name: messages_by_status
SELECT {message}, {delivery} FROM delivery d JOIN message m ON m.id = d.message_id
WHERE d.org_id = $1 AND d.status = $3 AND d.message_id < $4 ORDER BY d.message_id DESC LIMIT $2

-- name: messages_by_recipient
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.recipient = $3 AND d.status = coalesce(CAST($4 AS text), d.status) AND m.id < $5
ORDER BY m.id DESC LIMIT $2

-- name: messages_by_dossier
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $3 AND d.status = coalesce(CAST($4 AS text), d.status)
    AND m.recipient = coalesce(CAST($5 AS text), m.recipient) AND m.id < $6
ORDER BY m.id DESC LIMIT $2

-- name: messages_count
SELECT count(*) FROM message WHERE org_id = $1

-- name: messages_count_dossier
SELECT count(*) FROM message WHERE org_id = $1 AND dossier_id = $2

-- name: page_descending
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id DESC LIMIT $2 OFFSET $3

-- name: page_ascending
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 ORDER BY m.id LIMIT $2 OFFSET $3

-- name: page_dossier_descending
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 ORDER BY m.id DESC LIMIT $2 OFFSET $3

-- name: page_dossier_ascending
SELECT {message}, {delivery} FROM message m JOIN delivery d ON d.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 ORDER BY m.id LIMIT $2 OFFSET $3

-- name: attempts_of
SELECT message_id, fence, generation, attempt_no, status, error_code, error_message, response, next_retry_at,
    created_at, finished_at
FROM attempt WHERE message_id = $1 ORDER BY fence

-- name: reports_of
SELECT at, received_at, kind, body, wamid, fence, error_code FROM report WHERE message_id = $1 ORDER BY received_at, at

-- name: events_of
SELECT at, kind, detail FROM event WHERE message_id = $1 ORDER BY id

-- name: delivery_get
SELECT {delivery} FROM delivery d WHERE message_id = $1

-- name: key_used
SELECT id FROM message WHERE org_id = $1 AND idempotency_key = $2

-- name: lives_attempts_org
-- For an org's messages between two ids; the messages themselves were read before.
SELECT a.message_id, a.fence, a.generation, a.attempt_no, a.status, a.error_code, a.error_message, a.response,
    a.next_retry_at, a.created_at, a.finished_at
FROM message m JOIN attempt a ON a.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_reports_org
SELECT r.message_id, r.at, r.received_at, r.kind, r.body, r.wamid, r.fence, r.error_code
FROM message m JOIN report r ON r.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_events_org
SELECT e.message_id, e.id, e.at, e.kind, e.detail
FROM message m JOIN event e ON e.message_id = m.id WHERE m.org_id = $1 AND m.id BETWEEN $2 AND $3

-- name: lives_attempts_dossier
SELECT a.message_id, a.fence, a.generation, a.attempt_no, a.status, a.error_code, a.error_message, a.response,
    a.next_retry_at, a.created_at, a.finished_at
FROM message m JOIN attempt a ON a.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3

-- name: lives_reports_dossier
SELECT r.message_id, r.at, r.received_at, r.kind, r.body, r.wamid, r.fence, r.error_code
FROM message m JOIN report r ON r.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3

-- name: lives_events_dossier
SELECT e.message_id, e.id, e.at, e.kind, e.detail
FROM message m JOIN event e ON e.message_id = m.id
WHERE m.org_id = $1 AND m.dossier_id = $4 AND m.id BETWEEN $2 AND $3
